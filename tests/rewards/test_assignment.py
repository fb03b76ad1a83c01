"""Bottleneck and least sum, against all permutations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from rewards.assignment import pair_sites


def by_permutations(distances: NDArray[np.float64]) -> tuple[float, float]:
    pairings = [[distances[i, j] for i, j in enumerate(order)] for order in permutations(range(len(distances)))]
    return min(max(pairing) for pairing in pairings), min(sum(pairing) for pairing in pairings)


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("kind", ["random", "ties", "zeros", "near-permutation"])
def test_smallest_maximum_and_smallest_sum(size: int, kind: str) -> None:
    rng = np.random.default_rng([size, len(kind)])
    for _ in range(25):
        distances = rng.random((size, size))
        if kind == "ties":
            distances = np.round(distances * 3) / 3
        if kind == "zeros":
            distances[rng.random((size, size)) < 0.4] = 0.0
        if kind == "near-permutation":
            distances[np.arange(size), rng.permutation(size)] *= 0.1
        bottleneck, least_sum = pair_sites(distances)
        expected = by_permutations(distances)
        assert bottleneck == expected[0]
        assert least_sum == pytest.approx(expected[1])


def test_the_two_may_need_different_pairings() -> None:
    # One atom moves far along a row, or each of four moves one place: equal sums, very different maxima.
    places = np.arange(5.0)
    distances = np.abs(places[1:, None] - places[None, :-1])
    assert pair_sites(distances) == (1.0, 4.0)
    assert by_permutations(distances) == (1.0, 4.0)


def test_no_sites() -> None:
    assert pair_sites(np.zeros((0, 0))) == (0.0, 0.0)
