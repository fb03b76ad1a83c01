"""The audit of the families beside the edits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from atomworld_env.audit.answers import Case, Group
from atomworld_env.audit.bounds import BOUNDED_SCHEMES, breaches
from atomworld_env.audit.family_answers import KINDS
from atomworld_env.audit.measure import Audit, audit_suite, audit_tasks
from atomworld_env.cli.audit import audit
from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES
from rewards import SCHEMES, Baseline, Verdict

OTHERS = [name for name in FAMILIES if name != "edits"]
FIRST = {"coordinates": 4, "cif_repair": 5, "cif_gen": 6, "structprop": 4}
"""Kinds of task that are audited here, the first so many."""
BOTH = {name: SCHEMES[name] for name in BOUNDED_SCHEMES}


def run(*arguments: str) -> tuple[int, str, BaseException | None]:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(audit)
    result = CliRunner().invoke(app, [*arguments, "--workers", "1"])
    return result.exit_code, result.stdout, result.exception


@pytest.fixture(scope="module", params=OTHERS)
def audited(request: pytest.FixtureRequest) -> Audit:
    family: str = request.param
    suite = audit_tasks(3, FAMILIES[family].actions[: FIRST[family]], seed=1, family=family)
    return audit_suite(suite, schemes=BOTH, workers=0)


def test_every_family_is_audited_with_copies_and_echoes() -> None:
    assert set(KINDS) == set(FAMILIES)
    for name, kinds in KINDS.items():
        assert len({kind.name for kind in kinds}) == len(kinds), name
        assert {"copy", "prompt_echo", "tagged_prompt", "garbage", "no_text"} <= {kind.name for kind in kinds}, name
        for kind in kinds:
            assert (kind.group is Group.EXPLOIT) == bool(kind.needs), (name, kind.name)


def test_the_bounds_hold(audited: Audit) -> None:
    assert [str(breach) for breach in breaches(audited)] == []


def test_every_answer_is_decided_and_counted(audited: Audit) -> None:
    for kind in audited.kinds:
        for action in audited.actions:
            tally = audited.tally(kind.name, action, "strict")
            asked = kind.actions is None or action in kind.actions
            assert tally.answers + tally.left_out == (3 if asked else 0), (kind.name, action)
            # Of a long text between tags the list of points is taken, if it is not too long itself.
            beyond_what_is_read = kind.name == ("many_points" if audited.suite.family == "coordinates" else "huge_text")
            assert tally.undecided == (3 if beyond_what_is_read else 0), (kind.name, action)


def test_ignorant_answers_never_succeed(audited: Audit) -> None:
    for kind in audited.kinds:
        if kind.group is Group.IGNORANT:
            for action in audited.actions:
                tally = audited.tally(kind.name, action, "shaped")
                assert tally.successes == 0, (kind.name, action)
                assert tally.highest <= 0.05 + 1e-9, (kind.name, action)


def test_a_scheme_that_pays_for_any_text_is_caught() -> None:
    def pays_for_any_text(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
        return {"parse": 0.1}

    suite = audit_tasks(2, FAMILIES["coordinates"].actions[:1], seed=0, family="coordinates")
    found = breaches(audit_suite(suite, schemes={"shaped": pays_for_any_text}, workers=0))
    assert {breach.kind for breach in found} == {
        kind.name for kind in KINDS["coordinates"] if kind.group is Group.IGNORANT
    }


def test_workers_measure_what_one_process_does() -> None:
    suite = audit_tasks(2, ("point_move", "point_rotate_around"), seed=3, family="coordinates")
    assert audit_suite(suite, workers=0, schemes=BOTH).tallies == audit_suite(suite, workers=2, schemes=BOTH).tallies


def test_tasks_of_a_kind_do_not_depend_on_the_others() -> None:
    actions = FAMILIES["cif_gen"].actions
    alone = audit_tasks(2, actions[3:4], seed=5, family="cif_gen").tasks
    assert alone == tuple(
        task for task in audit_tasks(2, actions, seed=5, family="cif_gen").tasks if task.action == actions[3]
    )


def test_the_middle_of_two_points_is_one_more() -> None:
    first, second = audit_tasks(2, ("point_insert_between",), seed=0, family="coordinates").tasks
    kind = next(kind for kind in KINDS["coordinates"] if kind.name == "one_more_point")
    text = kind.write(Case(first, second, np.random.default_rng(0)))
    assert isinstance(text, str)
    shown = json.loads(first.structure)
    given = json.loads(text.removeprefix("<answer>").removesuffix("</answer>"))
    assert given[:-1] == shown
    middles = [np.mean([a, b], axis=0) for a in shown for b in shown if a != b]
    assert any(np.allclose(given[-1], middle) for middle in middles)


def test_a_formula_unit_anywhere_earns_nothing_unless_it_is_right() -> None:
    suite = audit_tasks(2, FAMILIES["cif_gen"].actions, seed=4, family="cif_gen")
    audited = audit_suite(suite, schemes=BOTH, workers=0)
    right = set()
    for action in audited.actions:
        tally = audited.tally("formula_unit_diagonal", action, "shaped")
        assert tally.successes in (0, tally.answers)
        if tally.successes:
            right.add(action)
        else:
            assert tally.highest <= 0.1, action
            assert tally.mean <= 0.06, action
    assert right == {"generate_sc", "generate_cesium_chloride", "generate_cuau"}


def test_the_command_audits_a_family(tmp_path: Path) -> None:
    report = tmp_path / "audit.md"
    status, output, _ = run(
        "--family", "cif_gen", "--per-action", "2", "--actions", "generate_fcc,generate_rutile", "--json",
        "--out", str(report),
    )  # fmt: skip
    measured = json.loads(output)
    assert status == 0
    assert measured["tasks"] == 4
    assert measured["command"].startswith("atomworld audit --family cif_gen --per-action 2")
    assert "--paper-per-action" not in measured["command"]
    text = report.read_text(encoding="utf-8")
    assert text.startswith("# What wrong answers earn: AtomWorld-CIFGen-v0\n")
    assert "scheme `paper`" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--family", "poetry"], "unknown family 'poetry'", id="family"),
        pytest.param(["--family", "cif_gen", "--schemes", "paper"], "unknown reward scheme 'paper'", id="scheme"),
        pytest.param(["--family", "cif_gen", "--actions", "move"], "unknown action 'move'", id="action"),
    ],
)
def test_a_mistake_about_a_family_is_one_line(arguments: list[str], message: str) -> None:
    _, _, error = run(*arguments)
    assert isinstance(error, UsageError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("family", OTHERS)
def test_the_bounds_hold_over_whole_suites(family: str) -> None:
    entry = FAMILIES[family]
    suite = audit_tasks(min(entry.per_action, 100), entry.actions, seed=2, family=family)
    audited = audit_suite(suite, schemes=BOTH, workers=2)
    assert [str(breach) for breach in breaches(audited)] == []
