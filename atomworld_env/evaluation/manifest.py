"""What a run was made with, so that a resumed run is the same run."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.prompts.prompt import PromptTemplate

MANIFEST = "manifest.json"

VERDICT_PACKAGES = ("atomworld-env", "pymatgen", "numpy", "scipy", "gymnasium")
"""Packages whose version can change a verdict or a task."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run's lines say.

    Attributes:
        policy: name of the policy.
        settings: of the policy, plain JSON values (sampling, server, limits).
        suite: name of the suite.
        fingerprint: of the tasks that are run.
        tasks: how many.
        samples: answers to each task.
        profile: strict, paper or both.
        paper_per_action: tasks of each edit that get the paper profile too; None for all of them.
        tolerance: Å, strict profile; None for a family without one.
        reward_scheme: name of the scheme.
        strict_tags: published tag rule.
        engine: of the verification.
        prompt: digest of the prompt template.
        time_limit: seconds after which the verification of one answer is given up.
        seed: of the policy.
    """

    policy: str
    settings: dict[str, Any]
    suite: str
    fingerprint: str
    tasks: int
    samples: int
    profile: str
    paper_per_action: int | None
    tolerance: float | None
    reward_scheme: str
    strict_tags: bool
    engine: str
    prompt: str
    time_limit: float
    seed: int


def manifest_of(config: RunConfig, template: PromptTemplate) -> dict[str, Any]:
    """The configuration with the versions it runs on and the prompt's template in full."""
    # Through JSON, so that a stored one compares equal: tuples are lists there.
    stored: dict[str, Any] = json.loads(
        json.dumps({"config": asdict(config), "versions": versions_of(VERDICT_PACKAGES), "prompt": asdict(template)})
    )
    return stored


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """The versions of Python and of these packages."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout that is not installed
            found[package] = "not installed"
    return found


def refuse_started(folder: Path, *, resume: bool) -> None:
    """Refuse a folder with a run in it, unless it is to be resumed; asked before a model is loaded, too.

    Raises:
        UsageError: if there is one.
    """
    if not resume and (folder / MANIFEST).exists():
        raise UsageError(f"{folder} already holds a run; continue it with --resume or choose another --out")


def start_folder(folder: Path, config: RunConfig, template: PromptTemplate, *, resume: bool) -> None:
    """Write the manifest of a new run, or check that a resumed one is the same.

    Raises:
        UsageError: if the folder holds another run, or cannot be written.
    """
    begin(folder, manifest_of(config, template), resume=resume, read=read_manifest)


def begin(folder: Path, wanted: dict[str, Any], *, resume: bool, read: Callable[[Path], dict[str, Any]]) -> None:
    """Write a manifest into a folder, or check that the one in it says the same.

    Args:
        wanted: `config`, `versions` and whatever else is kept, plain JSON values.
        read: gives the manifest of a folder, and refuses that of a run of another kind.

    Raises:
        UsageError: if the folder holds another run, or cannot be written.
    """
    path = folder / MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            refuse_started(folder, resume=resume)
            _refuse_differences(folder, read(folder), wanted)
        else:
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
            partial.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --out") from None


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a stored run.

    Raises:
        UsageError: if there is none or it cannot be read.
    """
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise UsageError(f"{folder} holds no run (no {MANIFEST}); make one with `atomworld evaluate`") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not readable: {error}; delete the folder and evaluate anew") from None
    config = manifest.get("config") if isinstance(manifest, dict) else None
    if isinstance(config, dict) and config.get("kind") == "competence":
        raise UsageError(f"{folder} is a run of chemical competence, without answers; show it with `atomworld table`")
    if not isinstance(config, dict) or any(field.name not in config for field in fields(RunConfig)):
        raise UsageError(f"{path} is not the manifest of a run of this version; delete the folder and evaluate anew")
    return manifest


def _refuse_differences(folder: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    differences = [
        f"{key} was {stored.get(part, {}).get(key)!r}, is {value!r}"
        for part in ("config", "versions")
        for key, value in wanted[part].items()
        if stored.get(part, {}).get(key) != value
    ]
    if differences:
        raise UsageError(
            f"{folder} was started differently: {'; '.join(differences)}; use the same settings or another --out"
        )
