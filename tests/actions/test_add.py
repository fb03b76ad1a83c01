"""`add`: put an atom at a Cartesian position."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS

ADD = ACTIONS["add"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(ADD, 400)
    assert found.worst < 1e-6
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(ADD, 4000, seed=1)
    assert found.worst < 1e-6
    assert not found.broken


# a = (4, 0, 0), b = (-2, 2√3, 0), c = (0, 0, 6): y = 2√3 v gives v, then x = 4u - 2v gives u.
@pytest.mark.parametrize(
    ("position", "expected"),
    [
        pytest.param([1.0, 0.0, 0.0], [0.25, 0.0, 0.0], id="along a"),
        pytest.param([0.0, 1.0, 0.0], [1 / (4 * sqrt(3)), 1 / (2 * sqrt(3)), 0.0], id="along y, not along b"),
        pytest.param([0.0, 0.0, 1.5], [0.0, 0.0, 0.25], id="along c"),
        pytest.param([-1.0, 0.0, 0.0], [0.75, 0.0, 0.0], id="negative, wrapped"),
        pytest.param([5.0, 0.0, 7.5], [0.25, 0.0, 0.25], id="beyond the cell, wrapped"),
    ],
)
def test_position_worked_out_by_hand_in_a_hexagonal_cell(hexagonal, position, expected):
    target = ADD.apply(hexagonal, {"element": "H", "position": position})
    assert target.species == ("Na", "Cl", "K", "H")
    assert target.frac[-1] == pytest.approx(expected, abs=1e-8)
    assert np.array_equal(target.frac[:-1], hexagonal.frac)


def test_position_on_a_monoclinic_cell_follows_the_stated_frame(box):
    # β = 120°: c = (-3, 0, 3√3) for c = 6. pymatgen's own default, c along z, would give another answer.
    crystal = box(("Na", (0, 0, 0)), edges=(4, 4, 6))
    crystal = type(crystal)((4.0, 4.0, 6.0, 90.0, 120.0, 90.0), crystal.species, crystal.frac)
    target = ADD.apply(crystal, {"element": "H", "position": [0.0, 0.0, 1.0]})
    third = 1 / (3 * sqrt(3))
    assert target.frac[-1] == pytest.approx([3 * third / 4, 0.0, third], abs=1e-8)


def test_instruction_contains_every_number_as_used(numbers_in):
    text = ADD.instruction({"element": "Fe", "position": [1.2, -0.35, 10.0]})
    assert numbers_in(text) == ["1.20", "-0.35", "10.00"]
    assert " Fe " in text
    assert "Cartesian" in text


def test_positions_fill_the_cell_and_are_printed_to_two_decimals(hexagonal, draws, numbers_in):
    drawn = [params["position"] for seed in range(10) for params in draws(ADD, hexagonal, 60, seed)]
    inside = np.array(drawn) @ hexagonal.inverse
    assert inside.min() > -0.01
    assert inside.max() < 1.01
    assert np.histogramdd(inside, bins=2, range=[(0, 1)] * 3)[0].min() > 40  # 75 expected in each octant
    for position in drawn[:50]:
        text = ADD.instruction({"element": "H", "position": position})
        assert [float(number) for number in numbers_in(text)] == position
        assert "-0.00" not in text


def test_any_position_has_one_reading(hexagonal):
    ADD.check(hexagonal, {"element": "H", "position": [0.0, 0.0, 0.0]})  # too close: the contact rule's business


def test_a_position_of_two_numbers_is_refused(hexagonal):
    with pytest.raises(ValueError):
        ADD.apply(hexagonal, {"element": "H", "position": [1.0, 2.0]})


def test_lever_is_the_distance_from_the_origin(hexagonal):
    assert ADD.lever(hexagonal, {"element": "H", "position": [3.0, 4.0, 0.0]}) == pytest.approx(5.0)
    assert ADD.touched(hexagonal, {"element": "H", "position": [3.0, 4.0, 0.0]}) == [3]
