"""What the commands of this package share: help with its examples, and mistakes told in one line."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NoReturn

from trl import TrlParser

from atomworld_env.errors import UsageError

REPORTERS = {
    "tensorboard": ("tensorboard", "tensorboardX"),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
"""Packages of which one must be installed to report there."""


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Shows defaults, and leaves the lines of the description as they are."""


def command_parser(dataclasses: Sequence[Any], prog: str, description: str | None) -> TrlParser:
    """A parser of the command line and of a recipe (``--config``), described by a module's docstring."""
    return TrlParser(
        tuple(dataclasses),
        prog=f"python -m {prog}",
        usage="%(prog)s [--config RECIPE] --model_name_or_path MODEL --output_dir FOLDER [options]",
        description=description,
        formatter_class=_Help,
    )


def run_command(main: Callable[..., Any], parser: TrlParser) -> None:
    """Parse the command line and run; a user's mistake ends with one line and status 2."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    try:
        options = parser.parse_args_and_config()
    except (ValueError, OSError) as error:  # of a recipe: what argparse refuses ends by itself
        _refuse(error)
    try:
        main(*options)
    except UsageError as error:
        _refuse(error)


def check_reporters(config: Any) -> None:
    """Refuse to report to what is not installed, before anything is loaded.

    Args:
        config: TrainingArguments.

    Raises:
        UsageError: naming it.
    """
    for name in config.report_to:
        packages = REPORTERS.get(name, ())
        if packages and not any(find_spec(package) for package in packages):
            raise UsageError(
                f"{name} is not installed; `pip install {packages[0]}`, or choose another --report_to, such as none"
            )


def _refuse(error: Exception) -> NoReturn:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if "bf16" in lines[0] and "use_cpu" in lines[0]:  # a sentence of transformers
        lines = ["there is no GPU here that computes in bfloat16; add --use_cpu (slow, for small models)"]
    print(f"error: {lines[0]}", file=sys.stderr)
    sys.exit(2)
