"""Stored runs for the tests of reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.suite import Suite


@pytest.fixture(scope="session")
def run_folders(small_suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of four policies over two tasks of each edit, both profiles."""
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    folders = {}
    for policy in ("oracle", "noop", "random_edit", "cartesian_by_lengths"):
        folders[policy] = tmp_path_factory.mktemp("runs") / policy
        tasks = small_suite.restricted(None, 2)
        evaluate(load_policy(policy), tasks, folders[policy], profile="both", template=load_template("short"))
    return folders


@pytest.fixture
def changed_run(run_folders: dict[str, Path], tmp_path: Path) -> Callable[..., Path]:
    """Copies a run of `noop` with other lines or another manifest."""

    def change(
        lines: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda lines: lines,
        name: str = "changed",
        **config: Any,
    ) -> Path:
        folder = tmp_path / name
        shutil.copytree(run_folders["noop"], folder)
        kept = lines([json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()])
        (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["config"] |= config
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder

    return change
