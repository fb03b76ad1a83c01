"""`atomworld score --check-parity`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from atomworld_env.cli import score as score_module
from atomworld_env.cli.app import app
from atomworld_env.cli.engine_parity import ComparedAnswer, Parity
from atomworld_env.tasks.suite import Suite
from rewards import Stage, Verdict

RIGHT = Verdict(
    Stage.CORRECT,
    "",
    verdict_strict=Stage.CORRECT,
    success_strict=True,
    max_displacement=0.01,
    verdict_paper=Stage.CORRECT,
    success_paper=True,
    rmsd=0.002,
    max_dist=0.003,
    seconds=0.5,
)
WRONG = replace(RIGHT, verdict_paper=Stage.STRUCTURE_MISMATCH, success_paper=False, rmsd=None, max_dist=None)


@pytest.mark.parametrize(
    ("fast", "differs", "undecided"),
    [
        pytest.param(RIGHT, False, False, id="equal"),
        pytest.param(replace(RIGHT, rmsd=0.0021, seconds=0.1), False, False, id="figures-apart"),
        pytest.param(WRONG, True, False, id="verdict"),
        pytest.param(replace(RIGHT, rmsd=None, max_dist=None), True, False, id="no-figures"),
        pytest.param(replace(RIGHT, verdict_paper=Stage.TIMEOUT, rmsd=None), False, True, id="timeout"),
    ],
)
def test_when_an_answer_differs(fast: Verdict, differs: bool, undecided: bool) -> None:
    answer = ComparedAnswer("a", RIGHT, fast)
    assert answer.differs("paper") is differs
    assert answer.is_undecided("paper") is undecided
    assert answer.differs("strict") is False
    assert bool(Parity([answer], ["strict", "paper"]).differing) is differs
    assert Parity([answer], ["strict"]).differing == []


def test_the_summary() -> None:
    fast = [replace(RIGHT, seconds=0.1), replace(RIGHT, rmsd=0.0025, max_dist=0.0031, seconds=0.1), WRONG]
    parity = Parity(
        [ComparedAnswer(number, RIGHT, verdict) for number, verdict in enumerate(fast)], ["strict", "paper"]
    )
    assert parity.largest("rmsd") == pytest.approx(5e-4)
    assert parity.largest("max_displacement") == 0.0
    assert (parity.seconds("reference"), parity.seconds("fast")) == (1.5, pytest.approx(0.7))
    assert parity.lines()[1:] == [
        "verification took 1.50 s with the engine reference, 0.70 s with fast, 2.1 times less",
        "2: paper correct (reference) / structure_mismatch (fast); rmsd 0.002 / None, max_dist 0.003 / None",
    ]
    console = Console(width=80)
    with console.capture() as printed:
        console.print(parity.table())
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.get().splitlines() if "│" in line]
    assert rows == [["strict", "3", "0", "0", "0.0e+00", "", ""], ["paper", "3", "1", "0", "", "5.0e-04", "1.0e-04"]]


@pytest.fixture
def answers(small_suite: Suite, tmp_path: Path) -> Path:
    lines = []
    for task in small_suite.restricted(["add", "move"], 1).tasks:
        lines += [
            {"id": f"right/{task.action}", "target": task.target, "answer": task.target},
            {"id": f"copy/{task.action}", "target": task.target, "answer": task.structure},
            {"id": f"none/{task.action}", "target": task.target, "answer": "Sorry."},
        ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_engines_that_agree(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "scored.jsonl"
    arguments = ["score", str(answers), "--check-parity", "--workers", "1", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "verification took" in result.stdout
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()][:2] == ["right/add", "copy/add"]


def test_engines_that_differ(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def verdicts(stored: list[Any], processes: int, *, engine: str, **options: Any) -> Iterator[Verdict]:
        asked.append((engine, options["profile"]))
        for each in stored:
            yield WRONG if engine == "fast" and each.id == "copy/move" else RIGHT

    monkeypatch.setattr(score_module, "_verdicts", verdicts)
    result = CliRunner().invoke(app, ["score", str(answers), "--check-parity", "--profile", "paper"])
    assert result.exit_code == 1
    assert asked == [("reference", "paper"), ("fast", "paper")]
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["success_paper"] for line in lines] == [True] * 6
    assert "copy/move: paper correct (reference) / structure_mismatch (fast)" in result.stderr
    assert "right/move" not in result.stderr


def test_an_engine_of_ones_own_is_refused(answers: Path) -> None:
    result = CliRunner().invoke(app, ["score", str(answers), "--check-parity", "--engine", "fast"])
    assert "drop --engine" in str(result.exception)
