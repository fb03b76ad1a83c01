"""Stored runs for the tests of reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomworld_env.competence.stored import KIND, SCORE_KEYS, SCORES
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.suite import Suite, load_suite


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


SKILL_SUITES = {
    "coordinates": ("coordinates", ("point_move", "point_insert_between")),
    "cif_repair": ("cif-repair", ("repair_units", "repair_cut_site")),
    "cif_gen": ("cif-gen", ("generate_fcc", "generate_rutile")),
    "structprop": ("structprop", ("raise_bulk_modulus", "lower_bulk_modulus")),
}
"""The suite of each family beside the edits, and kinds of task of it."""


@pytest.fixture(scope="session")
def skill_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Runs of the oracle and of the unchanged input over three tasks of each kind, by policy and family."""
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    folders = {}
    for family, (name, actions) in SKILL_SUITES.items():
        tasks = load_suite(name).restricted(actions, 3)
        template = load_template("default", default=family)
        for policy in ("oracle", "noop"):
            folder = folders[policy, family] = tmp_path_factory.mktemp("skills") / f"{policy}-{family}"
            evaluate(load_policy(policy), tasks, folder, profile="strict", template=template)
    return folders


@pytest.fixture
def competence_run(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a run of chemical competence whose true texts have lower ranks."""

    def write(policy: str) -> Path:
        folder = tmp_path / f"competence-{policy.replace('/', '-')}"
        folder.mkdir()
        config = {"kind": KIND, "policy": policy, "suite": "competence", "fingerprint": "0123456789abcdef", "pairs": 40}
        (folder / "manifest.json").write_text(json.dumps({"config": config}))
        rng = np.random.default_rng(0)
        with (folder / SCORES).open("w", encoding="utf-8") as file:
            for pair in range(40):
                for true in (True, False):
                    rank = 20.0 + 5.0 * (not true) + float(rng.normal(0.0, 4.0))
                    line = dict.fromkeys(SCORE_KEYS, rank) | {"index": pair, "true": true, "family": f"f{pair % 9}"}
                    file.write(json.dumps(line | {"pair_id": str(pair), "tokens": 50, "changed_tokens": 9}) + "\n")
        return folder

    return write


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
