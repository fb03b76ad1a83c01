"""The compiled assignment against scipy's, and rows free in a pairing of the same cost against all pairings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from rewards.matcher.pairing import Pairing, Pairs, PathSearch, mark_free, pair_up

FORBIDDEN = 1e6


def solve(cost: np.ndarray) -> tuple[bool, Pairs, Pairing]:
    """Pair up the rows of a full matrix, in which infinite pairs are not admitted."""
    size = len(cost)
    rows, columns = np.nonzero(np.isfinite(cost))
    pairs = Pairs(
        np.searchsorted(rows, range(size)), np.searchsorted(rows, range(1, size + 1)), columns, cost[rows, columns]
    )
    pairing = Pairing(cost.argmin(axis=1), np.empty(size, dtype=np.int64), np.empty(size), np.empty(size))
    path = PathSearch(
        np.empty(size), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_), np.empty(size, dtype=np.int64)
    )
    return pair_up(pairs, cost.min(axis=1), pairing, path), pairs, pairing


def sparse(size: int, share: float, rng: np.random.Generator) -> np.ndarray:
    cost = rng.random((size, size))
    cost[rng.random((size, size)) > share] = np.inf
    each = np.arange(size)
    cost[each, rng.integers(size, size=size)] = rng.random(size)  # every row has a pair
    return cost


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("size", "share"), [(1, 1.0), (2, 0.7), (5, 0.5), (12, 0.4), (40, 0.1), (40, 1.0)])
def test_the_pairing_is_the_cheapest_or_there_is_none(size: int, share: float, seed: int) -> None:
    cost = sparse(size, share, np.random.default_rng([seed, size]))
    found, _, pairing = solve(cost)
    full = np.where(np.isfinite(cost), cost, FORBIDDEN)
    rows, columns = linear_sum_assignment(full)
    assert found == (full[rows, columns].max() < FORBIDDEN)
    if found:
        each = np.arange(size)
        assert sorted(pairing.column_of) == list(range(size))
        assert (pairing.row_of[pairing.column_of] == each).all()
        assert cost[each, pairing.column_of].sum() == pytest.approx(full[rows, columns].sum(), abs=1e-12)
        reduced = cost - pairing.row_price[:, None] - pairing.column_price
        assert reduced.min() >= -1e-12
        assert np.abs(reduced[each, pairing.column_of]).max() <= 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_differ_among_the_cheapest_pairings_are_free(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    cost = rng.integers(0, 3, size=(size, size)).astype(float)  # small whole numbers: many ties
    cost[rng.random((size, size)) > 0.8] = np.inf
    cost[np.arange(size), np.arange(size)] = 1.0
    found, pairs, pairing = solve(cost)
    assert found
    each = np.arange(size)
    least = cost[each, pairing.column_of].sum()
    cheapest = [order for order in permutations(range(size)) if cost[each, list(order)].sum() == least]
    differing = [any(order[row] != pairing.column_of[row] for order in cheapest) for row in range(size)]
    free = np.empty(size, dtype=np.bool_)
    mark_free(pairs, pairing, 1e-8, free)
    assert (free | ~np.array(differing)).all()
    if len(cheapest) == 1 and not free.any():
        return
    assert len(cheapest) > 1 or not any(differing)
