"""`super_cell`: repeat the cell along its three vectors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw
from atomworld_env.structures.crystal import Crystal

SUPER = ACTIONS["super_cell"]


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(SUPER, 250)
    assert found.worst < 2e-6  # eight decimals of a longer cell
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(SUPER, 2500, seed=1)
    assert found.worst < 2e-6
    assert not found.broken


def test_cell_and_sites_worked_out_by_hand(hexagonal):
    target = SUPER.apply(hexagonal, {"factors": [1, 2, 3]})
    assert target.cell == (4.0, 8.0, 18.0, 90.0, 90.0, 120.0)
    assert target.composition == {"Na": 6, "Cl": 6, "K": 6}
    places = {tuple(np.round(place, 8)) for place in target.frac[[symbol == "Cl" for symbol in target.species]]}
    assert places == {(0.3333, round((0.6667 + j) / 2, 8), round((0.5 + k) / 3, 8)) for j in range(2) for k in range(3)}


def test_a_coordinate_that_rounds_up_to_one_is_wrapped():
    crystal = Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na",), np.array([[0.999999999, 0.0, 0.0]]))
    target = SUPER.apply(crystal, {"factors": [2, 1, 1]})
    assert sorted(target.frac[:, 0]) == [0.0, 0.5]


@pytest.mark.parametrize(
    ("factors", "allowed"), [pytest.param([1, 1, 1], False, id="1"), pytest.param([2, 1, 1], True, id="2")]
)
def test_a_supercell_is_larger_than_the_cell(hexagonal, factors, allowed):
    if allowed:
        SUPER.check(hexagonal, {"factors": factors})
    else:
        with pytest.raises(RejectedDraw, match="one repeat changes nothing"):
            SUPER.check(hexagonal, {"factors": factors})


def test_every_allowed_triple_is_equally_likely(hexagonal, draws):
    drawn = Counter(tuple(params["factors"]) for params in draws(SUPER, hexagonal, 4000))
    allowed = {(a, b, c) for a in range(1, 5) for b in range(1, 5) for c in range(1, 5) if 2 <= a * b * c <= 8}
    assert set(drawn) == allowed
    assert min(drawn.values()) > 0.6 * 4000 / len(allowed)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        pytest.param({"max_sites": 12}, 4, id="at most 12 sites of 3"),
        pytest.param({"max_sites": 11}, 3, id="at most 11"),
        pytest.param({"product": (2, 5)}, 4, id="product to 5, of which 5 needs a factor 5"),
        pytest.param({"factors": (1, 2)}, 8, id="factors to 2"),
        pytest.param({"factors": (1, 8), "product": (8, 8)}, 8, id="exactly 8"),
    ],
)
def test_ranges_can_be_set(hexagonal, draws, changes, most):
    edit = replace(SUPER, **changes)
    products = [int(np.prod(params["factors"])) for params in draws(edit, hexagonal, 300)]
    assert max(products) == most
    assert min(products) >= edit.product[0]
    for params in draws(edit, hexagonal, 100):
        assert all(edit.factors[0] <= n <= edit.factors[1] for n in params["factors"])


@pytest.mark.parametrize(("sites", "suitable"), [pytest.param(200, True, id="200"), pytest.param(201, False, id="201")])
def test_targets_have_at_most_400_sites(sites, suitable):
    crystal = Crystal((9.0, 9.0, 9.0, 90.0, 90.0, 90.0), ("Na",) * sites, np.random.default_rng(0).random((sites, 3)))
    assert (SUPER.unsuitable(crystal) is None) is suitable


def test_instruction_contains_every_factor(numbers_in):
    text = SUPER.instruction({"factors": [2, 1, 3]})
    assert numbers_in(text) == ["2", "1", "3", "2", "3"]
    for phrase in ("2 times as long along a", "unchanged along b", "3 times as long along c"):
        assert phrase in text


@pytest.mark.parametrize(
    "factors",
    [
        pytest.param([0, 1, 2], id="zero"),
        pytest.param([-1, -1, 2], id="negative"),
        pytest.param([2, 2], id="two of them"),
        pytest.param([1.5, 2, 1], id="not whole"),
    ],
)
def test_factors_that_make_no_cell_are_refused_in_one_line(hexagonal, factors):
    with pytest.raises(ValueError, match=r"^a supercell needs three whole factors of at least 1, got .*$"):
        SUPER.apply(hexagonal, {"factors": factors})


def test_contacts_stay_those_of_the_prototype(hexagonal):
    assert SUPER.touched(hexagonal, {"factors": [2, 1, 1]}) == []
    assert not SUPER.cartesian
