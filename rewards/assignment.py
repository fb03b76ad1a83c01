"""Pairing the sites of two lists: the smallest possible largest distance, and the smallest possible sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from rewards.arrangement import FloatArray


def pair_sites(distances: FloatArray) -> tuple[float, float]:
    """Bottleneck and least sum over all one-to-one pairings of n sites with n sites.

    Args:
        distances: shape (n, n), any unit, finite.

    Returns:
        The smallest t such that all sites can be paired with every distance <= t, and the smallest sum of
        paired distances. The two may belong to different pairings: the least sum may explain one far move as
        a chain of short hops. Both are 0 for n = 0.
    """
    size = len(distances)
    if size == 0:
        return 0.0, 0.0
    nearest = distances.argmin(axis=1)
    row_minima = distances[np.arange(size), nearest]
    if len(np.unique(nearest)) == size:  # everyone has its own nearest partner: no pairing can beat that
        return float(row_minima.max()), float(row_minima.sum())
    rows, columns = linear_sum_assignment(distances)
    paired = distances[rows, columns]
    lower = max(row_minima.max(), distances.min(axis=0).max())
    return bottleneck(distances, float(lower), float(paired.max())), float(paired.sum())


def bottleneck(distances: FloatArray, lower: float, upper: float) -> float:
    """The smallest t for which a complete pairing with all distances <= t exists.

    Args:
        distances: shape (n, n).
        lower: a bound from below that is itself one of the distances (the largest row or column minimum).
        upper: one of the distances at which a complete pairing is known to exist.

    Method: binary search over the distinct distances with a maximum-cardinality matching at each step
    (Burkard, Dell'Amico, Martello, Assignment Problems, 2009, section 6.2).
    """
    if lower >= upper or _complete(distances <= lower):
        return lower
    candidates = np.unique(distances[(distances > lower) & (distances <= upper)])
    low, high = 0, len(candidates) - 1  # candidates[high] is known to do
    while low < high:
        middle = (low + high) // 2
        if _complete(distances <= candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return float(candidates[high])


def _complete(allowed: NDArray[np.bool_]) -> bool:
    """Whether all rows can be paired with columns through allowed entries."""
    # The matrix holds True, never a distance: a distance of zero would be an edge or none, as scipy pleases.
    matching = maximum_bipartite_matching(csr_matrix(allowed), perm_type="column")
    return bool((matching >= 0).all())
