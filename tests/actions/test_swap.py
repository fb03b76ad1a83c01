"""`swap`: two atoms of different elements exchange their positions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw

SWAP = ACTIONS["swap"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(SWAP, 400)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(SWAP, 4000, seed=1)
    assert found.worst == 0.0
    assert not found.broken


def test_two_positions_change_places(hexagonal):
    target = SWAP.apply(hexagonal, {"index": 0, "other": 1})
    assert target.species == hexagonal.species
    assert np.array_equal(target.frac, hexagonal.frac[[1, 0, 2]])


def test_swapping_twice_gives_the_input(hexagonal):
    once = SWAP.apply(hexagonal, {"index": 0, "other": 2})
    assert np.array_equal(SWAP.apply(once, {"index": 0, "other": 2}).frac, hexagonal.frac)


def test_the_elements_differ(box):
    crystal = box(("Na", (0, 0, 0)), ("Na", (3, 0, 0)), ("Cl", (6, 0, 0)))
    SWAP.check(crystal, {"index": 0, "other": 2})
    with pytest.raises(RejectedDraw, match="same element"):
        SWAP.check(crystal, {"index": 0, "other": 1})


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        pytest.param("Na", "two elements are needed", id="one element"),
        pytest.param("Cl", None, id="two elements"),
    ],
)
def test_two_elements_are_needed(box, second, reason):
    assert SWAP.unsuitable(box(("Na", (0, 0, 0)), (second, (3, 0, 0)))) == reason


def test_every_pair_of_different_elements_is_equally_likely(box, draws):
    crystal = box(("Na", (0, 0, 0)), ("Na", (3, 0, 0)), ("Cl", (6, 0, 0)))
    pairs = Counter((params["index"], params["other"]) for params in draws(SWAP, crystal, 800))
    assert set(pairs) == {(0, 2), (2, 0), (1, 2), (2, 1)}
    assert min(pairs.values()) > 150


def test_instruction_names_both_sites(numbers_in):
    text = SWAP.instruction({"index": 4, "other": 17})
    assert text == "Swap the positions of the atoms at site 4 and site 17."
    assert numbers_in(text) == ["4", "17"]


@pytest.mark.parametrize("key", ["index", "other"])
def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal, key):
    with pytest.raises(ValueError, match=r"^there is no site -1: the structure has sites 0 to 2$"):
        SWAP.apply(hexagonal, {"index": 0, "other": 1} | {key: -1})


def test_both_atoms_are_judged(hexagonal):
    assert SWAP.touched(hexagonal, {"index": 2, "other": 0}) == [2, 0]
    assert SWAP.lever(hexagonal, {"index": 2, "other": 0}) == 0.0
