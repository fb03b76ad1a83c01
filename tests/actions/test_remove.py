"""`remove`: delete one site."""

from __future__ import annotations

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS

REMOVE = ACTIONS["remove"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(REMOVE, 400)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(REMOVE, 4000, seed=1)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.parametrize(
    ("index", "left"),
    [
        pytest.param(0, ("Cl", "K"), id="first"),
        pytest.param(1, ("Na", "K"), id="middle"),
        pytest.param(2, ("Na", "Cl"), id="last"),
    ],
)
def test_the_named_site_goes_and_the_others_keep_their_order(hexagonal, index, left):
    target = REMOVE.apply(hexagonal, {"index": index})
    assert target.species == left
    assert np.array_equal(target.frac, np.delete(hexagonal.frac, index, axis=0))
    assert target.cell == hexagonal.cell


def test_one_site_must_remain(box):
    assert REMOVE.unsuitable(box(("Na", (0, 0, 0)))) == "nothing would remain"
    assert REMOVE.unsuitable(box(("Na", (0, 0, 0)), ("Na", (5, 0, 0)))) is None


def test_instruction_names_the_site():
    assert REMOVE.instruction({"index": 12}) == "Remove the atom at site 12."


def test_sites_are_drawn_evenly(hexagonal, draws):
    assert np.bincount([params["index"] for params in draws(REMOVE, hexagonal, 900)], minlength=3).min() > 250


@pytest.mark.parametrize(
    "index",
    [pytest.param(3, id="too large"), pytest.param(-1, id="negative"), pytest.param(0.5, id="not whole")],
)
def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal, index):
    with pytest.raises(ValueError, match=r"^there is no site .* the structure has sites 0 to 2$"):
        REMOVE.apply(hexagonal, {"index": index})


def test_touches_no_remaining_atom(hexagonal):
    assert REMOVE.touched(hexagonal, {"index": 1}) == []
    assert REMOVE.lever(hexagonal, {"index": 1}) == 0.0
