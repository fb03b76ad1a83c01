"""`move_towards`: move one site a given distance towards the nearest image of another."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw

TOWARDS = ACTIONS["move_towards"]


def params(distance, index=0, towards=1):
    return {"index": index, "towards": towards, "distance": distance}


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(TOWARDS, 400)
    assert found.worst < 1e-6
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(TOWARDS, 4000, seed=1)
    assert found.worst < 1e-6
    assert not found.broken


def test_step_worked_out_by_hand_in_a_hexagonal_cell(hexagonal):
    # Around site 1 at (1/3, 2/3, 1/2) three images of site 2, (0, 0, 1/2), lie 4/√3 = 2.31 Å away: refused.
    with pytest.raises(RejectedDraw, match="equally near"):
        TOWARDS.check(hexagonal, params(0.5, index=1, towards=2))
    # From (0, 0, 0) to site 2 it is 3 Å up as well as down: refused.
    with pytest.raises(RejectedDraw, match="equally near"):
        TOWARDS.check(hexagonal, params(0.5, index=0, towards=2))
    frac = hexagonal.frac.copy()
    frac[2] = [0.9, 0.0, 0.4]  # 0.4 Å along -x (as its image) and 2.4 Å up
    moved = TOWARDS.apply(type(hexagonal)(hexagonal.cell, hexagonal.species, frac), params(0.5, 0, 2))
    length = sqrt(0.4**2 + 2.4**2)
    assert moved.frac[0] == pytest.approx([1 - 0.1 * 0.5 / length, 0, 0.4 * 0.5 / length], abs=1e-8)


def test_the_nearest_image_is_used_not_the_copy_in_the_cell(box):
    crystal = box(("Na", (1, 0, 0)), ("Cl", (9, 0, 0)))
    assert TOWARDS.apply(crystal, params(0.5)).frac[0] == pytest.approx([0.05, 0, 0], abs=1e-8)


def test_the_other_site_stays(box):
    crystal = box(("Na", (1, 0, 0)), ("Cl", (4, 0, 0)), ("K", (1, 5, 5)))
    target = TOWARDS.apply(crystal, params(0.5))
    assert np.array_equal(target.frac[1:], crystal.frac[1:])
    assert target.species == crystal.species


@pytest.mark.parametrize(
    ("x", "allowed"),
    [
        pytest.param(4.974, True, id="0.052 Å nearer than the next image"),
        pytest.param(4.976, False, id="0.048 Å nearer"),
        pytest.param(5.0, False, id="equally near"),
    ],
)
def test_one_image_must_be_clearly_nearest(box, x, allowed):
    crystal = box(("Na", (0, 0, 0)), ("Cl", (x, 0, 0)))
    if allowed:
        TOWARDS.check(crystal, params(1.0))
    else:
        with pytest.raises(RejectedDraw, match="two images of the other site are equally near"):
            TOWARDS.check(crystal, params(1.0))


@pytest.mark.parametrize(
    ("distance", "allowed"),
    [
        pytest.param(3.69, True, id="stops 0.31 Å before site j"),
        pytest.param(3.71, False, id="stops 0.29 Å before it"),
        pytest.param(4.00, False, id="reaches it"),
        pytest.param(5.00, False, id="passes it"),
    ],
)
def test_the_move_stops_before_the_other_site(box, distance, allowed):
    crystal = box(("Na", (0, 0, 0)), ("Cl", (4, 0, 0)))
    if allowed:
        TOWARDS.check(crystal, params(distance))
    else:
        with pytest.raises(RejectedDraw, match="reach the other site"):
            TOWARDS.check(crystal, params(distance))


def test_two_sites_are_needed(box):
    assert TOWARDS.unsuitable(box(("Na", (0, 0, 0)))) == "two sites are needed"


def test_instruction_contains_every_number_as_used(numbers_in):
    text = TOWARDS.instruction(params(0.5, index=12, towards=7))
    assert numbers_in(text) == ["12", "0.50", "7"]
    assert "nearest periodic image of site 7" in text


@pytest.mark.parametrize(
    "distance", [pytest.param((0.1, 3.0), id="as published"), pytest.param((0.5, 0.6), id="narrower")]
)
def test_distance_is_a_range_that_can_be_set(hexagonal, draws, distance):
    drawn = draws(replace(TOWARDS, distance=distance), hexagonal, 500)
    distances = np.array([each["distance"] for each in drawn])
    assert distances.min() >= distance[0]
    assert distances.max() <= distance[1]
    assert np.ptp(distances) > 0.9 * (distance[1] - distance[0])
    assert all(each["distance"] == round(each["distance"], 2) for each in drawn)
    assert len({(each["index"], each["towards"]) for each in drawn}) == 6


@pytest.mark.parametrize("key", ["index", "towards"])
def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal, key):
    with pytest.raises(ValueError, match=r"^there is no site 3: the structure has sites 0 to 2$"):
        TOWARDS.apply(hexagonal, params(0.5) | {key: 3})


def test_lever_is_the_distance_moved(hexagonal):
    assert TOWARDS.lever(hexagonal, params(0.5)) == 0.5
    assert TOWARDS.touched(hexagonal, params(0.5)) == [0]
