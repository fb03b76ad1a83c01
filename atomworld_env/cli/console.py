"""What all subcommands share: where they print, how they show progress, how they end on a mistake."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from typer.exceptions import TyperException

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES
from atomworld_env.structures.pool import StructurePool

NARROWEST = 110
"""Columns that a table of ten edits needs; where there is no terminal there is no width either."""

_terminal = Console()
stdout = _terminal if _terminal.is_terminal else Console(width=max(NARROWEST, _terminal.width))
stderr = Console(stderr=True)

USAGE_STATUS = 2
INTERRUPTED_STATUS = 130


def default_workers() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def print_json(value: Any) -> None:
    """One JSON document on standard output, for machines."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def progress_bar(description: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int, str], None]]:
    """A progress bar on standard error; call it with the number done and what is being done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, disable=quiet) as bar:
        task = bar.add_task(description, total=total)

        def advance(done: int, doing: str = "") -> None:
            bar.update(task, completed=done, description=doing or description)

        yield advance


def action_names(text: str | None, family: str = "edits") -> tuple[str, ...]:
    """Comma-separated names of a family's kinds of task; all of them when nothing is given."""
    known = FAMILIES[family].actions
    if text is None:
        return known
    names = comma_separated(text)
    for name in names:
        if name not in known:
            raise UsageError(f"unknown action {name!r}; choose from {', '.join(known)}")
    return names


def comma_separated(text: str) -> tuple[str, ...]:
    """Names with commas between them.

    Raises:
        UsageError: if there is none.
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("no action is given; name some, with commas between them")
    return names


def writable_file(path: Path) -> Path:
    """The path of a file that can be written, its folder made if it is missing; asked before long work.

    Raises:
        UsageError: if it cannot be written, or is a folder.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file as --out")
    writable_folder(path.parent)
    return path


def writable_folder(path: Path) -> Path:
    """The folder, made if it is missing.

    Raises:
        UsageError: if nothing can be written there.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".atomworld-write-test"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror}; choose another --out") from None
    return path


def write_tables(path: Path, tables: Sequence[Table]) -> None:
    """Write tables to a text file, 120 characters wide.

    Raises:
        UsageError: if the file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8") as file:
            console = Console(file=file, width=120)
            for table in tables:
                console.print(table)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def report_skipped(pool: StructurePool) -> None:
    """Say on standard error which of the user's files are not in the pool, and why."""
    if pool.skipped_files:
        from atomworld_env.structures.cif_folder import skipped_report

        for line in skipped_report(pool):
            stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def run(app: typer.Typer) -> None:
    """Run the application: a mistake of the user's ends in one line on standard error and status 2."""
    try:
        status = app(standalone_mode=False) or 0
        if status == INTERRUPTED_STATUS:  # how Typer hands on a Ctrl-C
            stderr.print("stopped; what was finished is on disk, continue with --resume where the command has it")
        sys.exit(status)
    except UsageError as error:
        _fail(str(error))
    except BrokenPipeError:
        # Whoever read the output (head, less) has gone; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except TyperException as error:  # a missing or unknown option, a number out of range
        command = getattr(getattr(error, "ctx", None), "command_path", "atomworld")
        words = error.format_message() if hasattr(error, "format_message") else str(error)
        # Called without a command, the program has shown its help already.
        if type(error).__name__ != "NoArgsIsHelpError":
            _fail(f"{words.rstrip('.')}; see `{command} --help`")
        sys.exit(USAGE_STATUS)


def _fail(words: str) -> None:
    one_line = " ".join(words.split("\n"))
    stderr.print(f"error: {one_line}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(USAGE_STATUS)
