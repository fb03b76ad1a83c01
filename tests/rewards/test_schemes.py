"""What each scheme pays for what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards import SCHEMES, Baseline, Stage, Verdict, components, reward

KEPT = Baseline(Stage.STRUCTURE_MISMATCH, 1.5, 3.0, 0)  # the edit keeps the composition
CHANGED = Baseline(Stage.COMPOSITION_MISMATCH, None, None, 4)  # the edit changes four atoms


def verdict(stage: Stage, **fields: object) -> Verdict:
    known: dict[str, object] = {"verdict_strict": stage, "success_strict": stage is Stage.CORRECT, "cell_matches": True}
    return replace(Verdict(stage, "a test"), **{**known, **fields})  # type: ignore[arg-type]


def wrong_composition(difference: int, cell: bool = True) -> Verdict:
    return verdict(Stage.COMPOSITION_MISMATCH, composition_difference=difference, cell_matches=cell)


def wrong_structure(total: float | None, largest: float | None = None, cell: bool = True) -> Verdict:
    return verdict(
        Stage.STRUCTURE_MISMATCH,
        composition_difference=0,
        sum_displacement=total,
        max_displacement=largest,
        cell_matches=cell,
    )


RIGHT = verdict(Stage.CORRECT, composition_difference=0, sum_displacement=0.05, max_displacement=0.05)


@pytest.mark.parametrize(
    ("answer", "baseline", "expected"),
    [
        pytest.param(verdict(Stage.NO_CIF, cell_matches=None), KEPT, 0.0, id="no-cif"),
        pytest.param(verdict(Stage.CIF_INVALID, cell_matches=None), KEPT, 0.0, id="cif-invalid"),
        pytest.param(verdict(Stage.TIMEOUT, cell_matches=None), KEPT, 0.0, id="timeout"),
        pytest.param(verdict(Stage.WORKER_LOST, cell_matches=None), KEPT, 0.0, id="worker-lost"),
        pytest.param(RIGHT, KEPT, 1.0, id="right-kept"),
        pytest.param(RIGHT, CHANGED, 1.0, id="right-changed"),
        pytest.param(wrong_structure(3.0), KEPT, 0.05, id="copy-kept"),
        pytest.param(wrong_composition(4), CHANGED, 0.05, id="copy-changed"),
        pytest.param(wrong_structure(1.5), KEPT, 0.05 + 0.45 * 0.5, id="half-way-kept"),
        pytest.param(wrong_structure(9.0), KEPT, 0.05, id="farther-than-the-input"),
        pytest.param(wrong_composition(1), KEPT, 0.05, id="wrong-composition-kept"),
        pytest.param(wrong_composition(1), CHANGED, 0.05 + 0.20 * 0.75, id="three-of-four-atoms"),
        pytest.param(wrong_composition(9), CHANGED, 0.05, id="more-wrong-than-the-input"),
        pytest.param(wrong_structure(1.0), CHANGED, 0.05 + 0.20 + 0.25 * 0.5, id="one-of-two-angstrom"),
        pytest.param(wrong_structure(5.0), CHANGED, 0.05 + 0.20, id="right-atoms-elsewhere"),
        pytest.param(wrong_structure(None, cell=False), KEPT, 0.05, id="other-cell-kept"),
        pytest.param(wrong_composition(1, cell=False), CHANGED, 0.05, id="other-cell-changed"),
    ],
)
def test_shaped(answer: Verdict, baseline: Baseline, expected: float) -> None:
    assert reward(answer, baseline=baseline) == pytest.approx(expected)
    assert reward(replace(answer, baseline=baseline)) == pytest.approx(expected)


def test_success_is_worth_exactly_one() -> None:
    assert reward(RIGHT, baseline=KEPT) == 1.0
    assert reward(RIGHT, baseline=CHANGED) == 1.0


def test_an_input_already_at_the_target_gives_no_way_to_go() -> None:
    baseline = Baseline(Stage.CORRECT, 0.0, 0.0, 0)
    assert reward(wrong_structure(1.0), baseline=baseline) == pytest.approx(0.05)


def test_an_input_in_another_cell_is_measured_by_two_angstrom() -> None:
    baseline = Baseline(Stage.STRUCTURE_MISMATCH, None, None, 0)
    assert reward(wrong_structure(1.0), baseline=baseline) == pytest.approx(0.05 + 0.45 * 0.5)


@pytest.mark.parametrize("stage", list(Stage))
def test_strict_and_paper_pay_success_only(stage: Stage) -> None:
    paid = float(stage is Stage.CORRECT)
    assert reward(verdict(stage), "strict") == paid
    assert reward(verdict(Stage.NO_CIF, verdict_paper=stage), "paper") == paid


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(wrong_structure(1.0, 0.5), 0.5, id="half-an-angstrom"),
        pytest.param(wrong_structure(9.0, 4.5), 0.1, id="far"),
        pytest.param(replace(RIGHT, max_displacement=0.0), 1.0, id="exact"),
        pytest.param(wrong_composition(1), 0.0, id="wrong-composition"),
        pytest.param(wrong_structure(None, cell=False), 0.0, id="other-cell"),
        pytest.param(verdict(Stage.CIF_INVALID), 0.0, id="cif-invalid"),
    ],
)
def test_distance(answer: Verdict, expected: float) -> None:
    assert reward(answer, "distance") == pytest.approx(expected)


numbers = st.none() | st.floats(0, 1e6)
verdicts = st.builds(
    lambda stage, paper, fields: verdict(stage, verdict_paper=paper, **fields),
    st.sampled_from(Stage),
    st.sampled_from(Stage),
    st.fixed_dictionaries(
        {
            "max_displacement": numbers,
            "sum_displacement": numbers,
            "composition_difference": st.none() | st.integers(0, 10**6),
            "cell_matches": st.none() | st.booleans(),
        }
    ),
)
baselines = st.builds(Baseline, st.sampled_from(Stage), numbers, numbers, st.integers(0, 10**6))


@given(verdicts, baselines, st.sampled_from(sorted(SCHEMES)))
def test_bounds_and_keys(answer: Verdict, baseline: Baseline, scheme: str) -> None:
    value, parts = reward(answer, scheme, baseline=baseline), components(answer, scheme, baseline)
    assert 0.0 <= value <= 1.0
    assert list(parts) == ["parse", "composition", "geometry", "success"]
    assert all(0.0 <= part <= 1.0 for part in parts.values())
    assert sum(parts.values()) == pytest.approx(value)
    if scheme == "shaped" and answer.stage is not Stage.CORRECT:
        assert value <= 0.5 + 1e-12


@pytest.mark.parametrize(
    ("answer", "scheme", "reason"),
    [
        pytest.param(RIGHT, "best", "choose one of shaped, strict, paper, distance", id="unknown-scheme"),
        pytest.param(RIGHT, "shaped", "baseline=", id="no-baseline"),
        pytest.param(RIGHT, "paper", "profile='both'", id="no-paper-profile"),
        pytest.param(Verdict(Stage.CORRECT, ""), "strict", "profile='strict'", id="no-strict-profile"),
        pytest.param(Verdict(Stage.CORRECT, ""), "distance", "profile='strict'", id="no-strict-profile-distance"),
    ],
)
def test_what_is_missing_is_said(answer: Verdict, scheme: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        reward(answer, scheme)


def test_a_verdict_of_the_pool_needs_no_baseline() -> None:
    assert reward(verdict(Stage.TIMEOUT)) == reward(verdict(Stage.WORKER_LOST)) == 0.0


def test_schemes_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SCHEMES["mine"] = SCHEMES["strict"]  # type: ignore[index]
