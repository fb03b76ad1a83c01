"""`atomworld audit`: status, JSON, Markdown, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import rewards
from atomworld_env.audit.measure import audit_suite, audit_tasks, number_of_answers
from atomworld_env.audit.report import as_markdown
from atomworld_env.audit.summary import Setting
from atomworld_env.cli.audit import audit
from atomworld_env.errors import UsageError
from rewards import SCHEMES, Baseline, Verdict

SMALL = ["--per-action", "2", "--actions", "swap,add", "--workers", "1", "--seed", "4"]


def run(*arguments: str) -> tuple[int, str, BaseException | None]:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(audit)
    result = CliRunner().invoke(app, [*SMALL, *arguments])
    return result.exit_code, result.stdout, result.exception


def test_json_and_markdown_of_one_run(tmp_path: Path) -> None:
    report = tmp_path / "audit.md"
    status, output, _ = run("--schemes", "shaped,distance", "--json", "--out", str(report))
    measured = json.loads(output)
    assert status == 0
    assert measured["breaches"] == []
    assert measured["tasks"] == 4
    copy = [pay for pay in measured["pays"] if (pay["kind"], pay["action"]) == ("copy", "swap")]
    bounds = {pay["scheme"]: pay["bound"] for pay in copy}
    assert bounds == {"shaped": pytest.approx(0.06), "distance": None}
    assert copy[0]["mean"] == pytest.approx(0.05)
    text = report.read_text(encoding="utf-8")
    assert f"\n    {measured['command']}\n" in text
    assert "Both bounds hold on every kind of task." in text
    for heading in ("Bounds under `shaped`", "Where symmetry makes them right", "Near misses", "Exploits"):
        assert f"## {heading}" in text
    assert "## What `distance` pays for copying" in text


def test_a_broken_bound_gives_status_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def pays_for_copying(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
        return {"parse": 0.3 if verdict.parsable else 0.0}

    monkeypatch.setattr(rewards, "SCHEMES", {**SCHEMES, "shaped": pays_for_copying})
    report = tmp_path / "audit.md"
    status, output, _ = run("--schemes", "shaped", "--out", str(report))
    assert status == 1
    assert "bound broken: copy on swap earns 0.3000" in output
    assert "**Bounds that do not hold:**" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--schemes", "shaped,lavish"], "unknown reward scheme 'lavish'", id="scheme"),
        pytest.param(["--schemes", ","], "no reward scheme is given", id="no scheme"),
        pytest.param(["--actions", "explode"], "unknown action 'explode'", id="action"),
        pytest.param(["--out", "/proc/nowhere/all.md"], "cannot write to /proc/nowhere", id="out"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    _, _, error = run(*arguments)
    assert isinstance(error, UsageError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)


def test_the_paper_scheme_is_paid_for_the_first_tasks_only() -> None:
    suite = audit_tasks(3, ("swap",), seed=2)
    schemes = {"strict": SCHEMES["strict"], "paper": SCHEMES["paper"]}
    audited = audit_suite(suite, schemes=schemes, workers=0, paper_per_action=1)
    assert audited.tally("copy", "swap", "strict").answers == 3
    assert audited.tally("copy", "swap", "paper").answers == 1
    left_out = sum(tally.left_out for (_, _, scheme), tally in audited.tallies.items() if scheme == "strict")
    left_out += sum(tally.left_out for (_, _, scheme), tally in audited.tallies.items() if scheme == "paper")
    wanted = number_of_answers(suite, schemes=schemes, paper_per_action=1)
    assert audited.strict_answers + audited.paper_answers + left_out == wanted
    setting = Setting(3, ("swap",), 2, tuple(schemes), 1, 1)
    assert "## The scheme `paper`" in as_markdown(audited, [], setting)
    assert setting.command.startswith("atomworld audit --per-action 3 --seed 2 --actions swap")


def test_two_workers_measure_what_one_process_does() -> None:
    suite = audit_tasks(2, ("remove",), seed=2)
    schemes = {"shaped": SCHEMES["shaped"]}
    alone = audit_suite(suite, schemes=schemes, workers=0)
    together = audit_suite(suite, schemes=schemes, workers=2)
    assert alone.tallies == together.tallies
