"""Completions and rows of a data set, as a trainer hands them over."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from crystal_texts import FRAC, cif

from rewards import Baseline, Stage, verify
from rewards.completions import Sample, answer_text
from rewards.verification import baseline_of

MOVED = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])


def says(content: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        pytest.param("plain", "plain", id="text"),
        pytest.param("", "", id="empty-text"),
        pytest.param([says("one")], "one", id="message"),
        pytest.param(says("one"), "one", id="message-alone"),
        pytest.param([{"content": "one"}], "one", id="no-role"),
        pytest.param([says("first"), says("second")], "first\nsecond", id="two-messages"),
        pytest.param([says("a call"), says("4.2 Å", "tool"), says("answer")], "answer", id="after-a-tool"),
        pytest.param([says(None), says("4.2 Å", "tool"), says("answer")], "answer", id="tool-call-without-content"),
        pytest.param([says("<cif>"), says("4.2 Å", "tool")], None, id="ends-in-a-tool"),
        pytest.param([says("answer"), says("and now?", "user")], None, id="ends-in-a-user"),
        pytest.param([says([{"type": "text", "text": "in "}, {"type": "image"}, "parts"])], "in parts", id="parts"),
        pytest.param([says(None)], None, id="none"),
        pytest.param([{"role": "assistant"}], None, id="no-content"),
        pytest.param([], None, id="no-messages"),
        pytest.param(None, None, id="nothing"),
        pytest.param(["text in a list"], None, id="no-message"),
        pytest.param([says(4)], None, id="number"),
    ],
)
def test_the_text_of_a_completion(completion: Any, text: str | None) -> None:
    assert answer_text(completion) == text


BASELINE = baseline_of(MOVED, cif())


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(BASELINE.to_json(), id="dict"),
        pytest.param(json.dumps(BASELINE.to_json()), id="json"),
        pytest.param(BASELINE, id="baseline"),
        pytest.param(None, id="derived"),
    ],
)
def test_the_baseline_of_a_row(given: Any) -> None:
    assert Sample.of("", cif(), MOVED, given, "t").baseline == BASELINE
    assert Sample.of("", cif(), None, given, "t").baseline == (None if given is None else BASELINE)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param("{", "task t: the baseline is no JSON", id="json"),
        pytest.param({"stage": "correct"}, "task t: a baseline has stage", id="fields"),
        pytest.param([1], "task t: a baseline has stage", id="list"),
    ],
)
def test_a_baseline_that_is_none_is_the_users_mistake(given: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Sample.of("", cif(), None, given, "t")


def test_a_broken_ground_truth_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        sample = Sample.of("", "no crystal", None, None, "task-17")
        assert sample.fault
        assert sample.outcome == "broken_target"
    assert Sample.of("", cif(), "no crystal", None, "task-18").fault
    assert Sample.of("", None, None, None, "task-19").fault
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [message.split(" earns")[0] for message in warned] == ["task task-17", "task task-18", "task task-19"]


@pytest.mark.parametrize(
    ("answer", "suspected"),
    [
        pytest.param(MOVED, True, id="copy"),
        pytest.param(cif(frac=[*FRAC[:3], (0.72, 0.23, 0.901)]), True, id="nearly"),
        pytest.param(cif(frac=[*FRAC[:3], (0.72, 0.23, 0.2)]), False, id="moved-elsewhere"),
        pytest.param(cif(), False, id="right"),
        pytest.param(cif(species=("Na", "Na", "Cl", "S")), False, id="another-composition"),
        pytest.param("nothing", False, id="no-cif"),
    ],
)
def test_which_answers_may_be_copies(answer: str, suspected: bool) -> None:
    sample = Sample.of(answer, cif(), MOVED, None, "t")
    sample.verdict = verify(answer, cif())
    assert sample.may_be_copy(0.1) is suspected
    assert suspected or not verify(answer, MOVED).success_strict
    assert sample.outcome == sample.verdict.stage


def test_nothing_is_known_to_be_a_copy_without_the_structure() -> None:
    baseline = Baseline(Stage.STRUCTURE_MISMATCH, 0.8, 0.8, 0)
    sample = Sample.of(MOVED, cif(), None, baseline, "t")
    sample.verdict = verify(MOVED, cif())
    assert sample.may_be_copy(0.1) is False
