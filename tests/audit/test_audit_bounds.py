"""Both bounds of the audit hold under `shaped` and `strict`, and schemes that break them are caught."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.audit.answers import BOUNDED, IGNORANT, SPOILED, AnswerKind, Group, tagged
from atomworld_env.audit.bounds import BOUNDED_SCHEMES, bound, breaches
from atomworld_env.audit.measure import Audit, Tally, audit_suite, audit_tasks
from atomworld_env.errors import UsageError
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, SuiteRecipe, make_suite
from rewards import SCHEMES, Baseline, Verdict
from rewards.schemes import Scheme

BOTH: Mapping[str, Scheme] = {name: SCHEMES[name] for name in BOUNDED_SCHEMES}
COSTLY = ("huge_text", "huge_rows", "many_rows")


@pytest.fixture(scope="module")
def suite() -> Suite:
    config = SamplerConfig(split="test", max_sites=30)
    return make_suite(SuiteRecipe("small", config, per_action=40, seed=0))


@pytest.fixture(scope="module")
def audited(suite: Suite) -> Audit:
    quick = [kind for kind in IGNORANT if kind.name not in COSTLY]
    return audit_suite(suite.restricted(per_action=8), kinds=quick, schemes=BOTH, workers=0)


@pytest.fixture(scope="module")
def audited_truths(suite: Suite) -> Audit:
    # More tasks than above: a mirrored truth earns nothing on most tasks and up to half on a few.
    return audit_suite(suite, kinds=SPOILED, schemes=BOTH, workers=0)


def test_ignorant_answers_keep_their_bound_on_every_edit(audited: Audit) -> None:
    assert [str(breach) for breach in breaches(audited)] == []


def test_spoiled_truths_keep_their_bound_on_every_edit(audited_truths: Audit) -> None:
    assert [str(breach) for breach in breaches(audited_truths)] == []


def test_every_kind_is_asked_of_every_task(audited: Audit, audited_truths: Audit) -> None:
    for measured, tasks in ((audited, 8), (audited_truths, 40)):
        for kind in measured.kinds:
            for action in ACTIONS:
                tally = measured.tally(kind.name, action, "shaped")
                assert tally.answers + tally.left_out == tasks, (kind.name, action)


def test_a_readable_ignorant_answer_earns_the_parse_credit(audited: Audit) -> None:
    for name in ("copy", "other_target", "input_doubled", "blocks_in_many_pairs", "copy_at_length"):
        for action in ACTIONS:
            tally = audited.tally(name, action, "shaped")
            # The reader takes 0.3333 for 1/3, by which a copy may come 0.001 Å nearer to the target.
            assert tally.mean == pytest.approx(0.05, abs=1e-3), (name, action)
            assert tally.highest == pytest.approx(0.05, abs=1e-3), (name, action)


@pytest.mark.parametrize("name", ["prompt_echo", "tagged_prompt", "empty_cell", "blocks_in_one_pair", "garbage"])
def test_an_unreadable_answer_earns_nothing(audited: Audit, name: str) -> None:
    assert all(audited.tally(name, action, "shaped").highest == 0.0 for action in ACTIONS)


def test_only_what_symmetry_can_make_right_is_left_out(audited: Audit, audited_truths: Audit) -> None:
    for measured in (audited, audited_truths):
        for kind in measured.kinds:
            left_out = sum(measured.tally(kind.name, action, "strict").left_out for action in ACTIONS)
            assert left_out == 0 or kind.name.endswith(("mirrored", "inverted")), kind.name
    assert audited_truths.tally("truth_inverted", "super_cell", "strict").left_out > 0


@pytest.mark.parametrize("name", COSTLY)
def test_huge_answers_earn_no_more_than_a_readable_one(suite: Suite, name: str) -> None:
    kinds = [kind for kind in BOUNDED if kind.name == name]
    audited = audit_suite(suite.restricted(["move"], 2), kinds=kinds, schemes=BOTH, workers=0)
    assert audited.tally(name, "move", "shaped").answers == 2
    assert breaches(audited) == []


def pays_for_copying(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    return {"parse": 0.05, "geometry": 0.2 if verdict.composition_matches else 0.0}


def pays_for_any_text(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    return {"parse": 0.1}


def ignores_the_cell(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    return {"parse": 0.05, "composition": 0.45 if verdict.composition_matches else 0.0}


@pytest.mark.parametrize(
    ("scheme", "caught"),
    [
        pytest.param(pays_for_copying, ("copy", "move"), id="pays for copying"),
        pytest.param(pays_for_any_text, ("no_text", "add"), id="pays for any text"),
        pytest.param(ignores_the_cell, ("truth_scaled", "add"), id="ignores the cell"),
        pytest.param(SCHEMES["distance"], ("copy", "move"), id="pays for being near"),
    ],
)
def test_a_scheme_that_pays_too_much_is_caught(suite: Suite, scheme: Scheme, caught: tuple[str, str]) -> None:
    kinds = [kind for kind in BOUNDED if kind.name == caught[0]]
    tasks = suite.restricted(["move", "add"], 4)
    audited = audit_suite(tasks, kinds=kinds, schemes={"shaped": scheme}, workers=0)
    found = breaches(audited)
    assert caught in {(breach.kind, breach.action) for breach in found}
    assert all(breach.scheme == "shaped" and breach.mean > breach.bound for breach in found)
    assert f"{caught[0]} on {caught[1]} earns" in " ".join(map(str, found))


def test_a_success_is_a_breach_however_small_the_mean(suite: Suite) -> None:
    truth = AnswerKind("truth", Group.IGNORANT, "the truth", lambda case: tagged(case, case.task.target))
    tasks = suite.restricted(["swap"], 2)
    audited = audit_suite(tasks, kinds=[truth], schemes={"strict": SCHEMES["strict"]}, workers=0)
    (breach,) = breaches(audited)
    assert breach.successes == breach.answers == 2

    def stingy(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
        return {"success": 0.01}

    audited = audit_suite(tasks, kinds=[truth], schemes={"strict": stingy}, workers=0)
    (breach,) = breaches(audited)
    assert breach.mean < breach.bound
    assert "2 succeeded" in str(breach)


@pytest.mark.parametrize(
    ("group", "changing", "expected"),
    [
        pytest.param(Group.IGNORANT, 10, 0.06, id="ignorant"),
        pytest.param(Group.SPOILED, 0, 0.10, id="spoiled, composition kept"),
        pytest.param(Group.SPOILED, 10, 0.30, id="spoiled, composition changed"),
        pytest.param(Group.NEAR_MISS, 10, None, id="near miss"),
        pytest.param(Group.EXPLOIT, 10, None, id="exploit"),
    ],
)
def test_bounds_are_those_of_the_documentation(group: Group, changing: int, expected: float | None) -> None:
    assert bound(group, Tally(answers=10, changing=changing)) == pytest.approx(expected)


def test_one_task_of_an_edit_is_too_few(suite: Suite) -> None:
    with pytest.raises(UsageError, match="--per-action must be 2 or more"):
        audit_tasks(1, ("move",), seed=0)
    with pytest.raises(UsageError, match="move needs tasks on two structures"):
        audit_suite(suite.restricted(["move"], 1), workers=0)


@pytest.mark.slow
def test_both_bounds_hold_over_a_hundred_tasks_of_each_edit() -> None:
    tasks = audit_tasks(100, tuple(ACTIONS), seed=1)
    audited = audit_suite(tasks, kinds=BOUNDED, schemes=BOTH, workers=2)
    assert [str(breach) for breach in breaches(audited)] == []
