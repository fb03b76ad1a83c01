"""`change`: turn one site into another element."""

from __future__ import annotations

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw

CHANGE = ACTIONS["change"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(CHANGE, 400)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(CHANGE, 4000, seed=1)
    assert found.worst == 0.0
    assert not found.broken


def test_only_the_named_site_changes(hexagonal):
    target = CHANGE.apply(hexagonal, {"index": 1, "element": "Br"})
    assert target.species == ("Na", "Br", "K")
    assert target.cell == hexagonal.cell
    assert np.array_equal(target.frac, hexagonal.frac)


def test_the_input_is_left_alone(hexagonal):
    CHANGE.apply(hexagonal, {"index": 1, "element": "Br"})
    assert hexagonal.species == ("Na", "Cl", "K")


def test_the_new_element_differs(hexagonal):
    CHANGE.check(hexagonal, {"index": 1, "element": "Na"})
    with pytest.raises(RejectedDraw, match="already is that element"):
        CHANGE.check(hexagonal, {"index": 1, "element": "Cl"})


def test_instruction_names_site_and_element():
    assert CHANGE.instruction({"index": 12, "element": "Br"}) == "Change the atom at site 12 into Br."


def test_sites_and_elements_are_drawn_evenly(hexagonal, draws):
    # One proposal per stream: within a stream the element is kept, see test_element_choice.py.
    drawn = [draws(CHANGE, hexagonal, 1, seed)[0] for seed in range(900)]
    sites = np.bincount([params["index"] for params in drawn], minlength=3)
    assert sites.min() > 250
    assert {params["element"] for params in drawn} >= {"H", "Cs", "Pb", "O"}


@pytest.mark.parametrize("index", [pytest.param(3, id="too large"), pytest.param(-1, id="negative")])
def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal, index):
    with pytest.raises(ValueError, match=rf"^there is no site {index}: the structure has sites 0 to 2$"):
        CHANGE.apply(hexagonal, {"index": index, "element": "Br"})


def test_needs_no_cartesian_coordinates(hexagonal):
    assert not CHANGE.cartesian
    assert CHANGE.lever(hexagonal, {"index": 1, "element": "Br"}) == 0.0
    assert CHANGE.touched(hexagonal, {"index": 1, "element": "Br"}) == [1]
