"""`atomworld score` gives the verdicts of the published protocol, here written out plainly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.io.cif import CifParser

from atomworld_env.policies.baselines import BASELINES
from atomworld_env.tasks.suite import Suite


def published_protocol(answer: str, target: str) -> tuple[str, float | None]:
    """Stage and max_dist."""
    found = re.findall(r"<cif>(.*?)</cif>", answer, re.S)
    if not found:
        return "no_cif", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = CifParser.from_str(target).parse_structures(primitive=False, check_occu=False)[0]
        try:
            structure = CifParser.from_str(found[-1]).parse_structures(primitive=False, check_occu=False)[0]
        except Exception:
            return "cif_invalid", None
        if structure.composition.as_dict() != truth.composition.as_dict():
            return "composition_mismatch", None
        matcher = StructureMatcher(primitive_cell=False, stol=0.5)
        if not matcher.fit(truth, structure):
            return "structure_mismatch", None
        return "correct", matcher.get_rms_dist(truth, structure)[1]


@pytest.mark.parametrize("per_action", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_stage_and_max_dist_are_those_of_the_protocol(small_suite: Suite, tmp_path: Path, per_action: int) -> None:
    answers = [
        (f"{name}/{task.task_id}", baseline.answer(task), task.target)
        for task in small_suite.restricted(None, per_action).tasks
        for name, baseline in BASELINES.items()
        if baseline.family in (None, "edits")
    ]
    for task in small_suite.restricted(None, 1).tasks:
        # Ways of answering that the tag rule of the protocol takes differently from ours.
        answers += [
            (f"bare/{task.task_id}", task.target, task.target),
            (f"fence-in-tags/{task.task_id}", f"<cif>\n```cif\n{task.target}```\n</cif>", task.target),
            (f"in-thought/{task.task_id}", f"<think><cif>\n{task.target}</cif></think> Sorry.", task.target),
            (f"capitals/{task.task_id}", f"<CIF>\n{task.target}</CIF>", task.target),
        ]
    path = tmp_path / "answers.jsonl"
    keys = ("id", "answer", "target")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in answers))
    command = [sys.executable, "-m", "atomworld_env.cli.app", "score", str(path), "--profile", "paper", "--strict-tags"]
    printed = subprocess.run([*command, "--workers", "2"], capture_output=True, text=True, check=True).stdout
    scored = {line["id"]: line for line in map(json.loads, printed.splitlines())}
    stages = set()
    for name, answer, target in answers:
        stage, max_dist = published_protocol(answer, target)
        stages.add(stage)
        assert scored[name]["verdict_paper"] == stage, name
        assert scored[name]["success_paper"] is (stage == "correct")
        if max_dist is None:
            assert scored[name]["max_dist"] is None, name
        else:
            assert scored[name]["max_dist"] == pytest.approx(max_dist, abs=1e-6), name
    assert stages == {"no_cif", "cif_invalid", "composition_mismatch", "structure_mismatch", "correct"}
