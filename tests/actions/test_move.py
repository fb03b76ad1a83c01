"""`move`: displace one site by a Cartesian vector."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS

MOVE = ACTIONS["move"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(MOVE, 400)
    assert found.worst < 1e-6
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(MOVE, 4000, seed=1)
    assert found.worst < 1e-6
    assert not found.broken


# a = (4, 0, 0), b = (-2, 2√3, 0), c = (0, 0, 6): a step of dy needs v = dy / 2√3, and u = v / 2 keeps x.
@pytest.mark.parametrize(
    ("displacement", "expected"),
    [
        pytest.param([1.0, 0.0, 0.0], [0.3333 + 0.25, 0.6667, 0.5], id="along x"),
        pytest.param([0.0, 1.0, 0.0], [0.3333 + 1 / (4 * sqrt(3)), 0.6667 + 1 / (2 * sqrt(3)), 0.5], id="along y"),
        pytest.param([0.0, 0.0, 1.5], [0.3333, 0.6667, 0.75], id="along z"),
        pytest.param([-2.0, 0.0, -6.0], [0.8333, 0.6667, 0.5], id="out of the cell, wrapped"),
        pytest.param([0.0, 0.0, 3.0], [0.3333, 0.6667, 0.0], id="onto the cell's face"),
    ],
)
def test_displacement_worked_out_by_hand_in_a_hexagonal_cell(hexagonal, displacement, expected):
    target = MOVE.apply(hexagonal, {"index": 1, "displacement": displacement})
    assert target.frac[1] == pytest.approx(expected, abs=1e-8)
    assert np.array_equal(target.frac[[0, 2]], hexagonal.frac[[0, 2]])
    assert target.species == hexagonal.species


def test_targets_are_wrapped_with_eight_decimals(hexagonal):
    frac = MOVE.apply(hexagonal, {"index": 0, "displacement": [-0.01, 0.37, -0.01]}).frac
    assert ((frac >= 0) & (frac < 1)).all()
    assert np.array_equal(frac, np.round(frac, 8))
    assert not np.signbit(frac).any()


def test_instruction_contains_every_number_as_used(numbers_in):
    text = MOVE.instruction({"index": 12, "displacement": [1.2, -0.35, 0.0]})
    assert numbers_in(text) == ["12", "1.20", "-0.35", "0.00"]
    assert "Cartesian" in text


@pytest.mark.parametrize("sigma", [pytest.param(2.0, id="as published"), pytest.param(0.25, id="gentler")])
def test_components_are_normal_with_a_width_that_can_be_set(hexagonal, draws, numbers_in, sigma):
    edit = replace(MOVE, sigma=sigma)
    drawn = draws(edit, hexagonal, 1000)
    components = np.array([params["displacement"] for params in drawn])
    assert components.std(axis=0) == pytest.approx([sigma] * 3, rel=0.1)
    assert components.mean(axis=0) == pytest.approx([0] * 3, abs=0.15 * sigma)
    assert np.bincount([params["index"] for params in drawn], minlength=3).min() > 270
    for params in drawn[:200]:
        text = edit.instruction(params)
        assert [float(number) for number in numbers_in(text)] == [params["index"], *params["displacement"]]
        assert "-0.00" not in text


def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal):
    with pytest.raises(ValueError, match=r"^there is no site 3: the structure has sites 0 to 2$"):
        MOVE.apply(hexagonal, {"index": 3, "displacement": [1.0, 0.0, 0.0]})


def test_lever_is_the_length_of_the_vector(hexagonal):
    assert MOVE.lever(hexagonal, {"index": 1, "displacement": [3.0, 0.0, -4.0]}) == pytest.approx(5.0)
    assert MOVE.touched(hexagonal, {"index": 1, "displacement": [3.0, 0.0, -4.0]}) == [1]
