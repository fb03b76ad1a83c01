"""Pairing the sites of two lists: the smallest possible largest distance, and the smallest possible sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

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
    if len(set(nearest.tolist())) == size:  # everyone has its own nearest partner: no pairing can beat that
        return float(row_minima.max()), float(row_minima.sum())
    rows, columns = linear_sum_assignment(distances)
    paired = distances[rows, columns]
    lower = max(row_minima.max(), distances.min(axis=0).max())
    return bottleneck(distances, columns, float(lower)), float(paired.sum())


def bottleneck(distances: FloatArray, columns: NDArray[np.intp], lower: float) -> float:
    """The smallest t for which a complete pairing with all distances <= t exists.

    Args:
        distances: shape (n, n).
        columns: any complete pairing, the column of each row; the nearer to the best, the less work.
        lower: a bound from below that is itself one of the distances (the largest row or column minimum).

    Method: of the given pairing what lies within the bound is kept; every other row is added along the path of
    exchanges whose largest distance is smallest (Burkard, Dell'Amico, Martello, Assignment Problems, 2009, section
    6.2). No path needs more than the answer: the best pairing itself holds one.
    """
    size = len(distances)
    rows = np.arange(size)
    kept = distances[rows, columns] <= lower
    column_of = np.where(kept, columns, -1)
    row_of = np.full(size, -1)
    row_of[columns[kept]] = rows[kept]
    reached = lower
    for start in np.flatnonzero(~kept).tolist():
        column, reached, came_from = _lowest_path(distances, row_of, start, reached)
        while True:
            row = int(came_from[column])
            row_of[column] = row
            column_of[row], column = column, int(column_of[row])
            if row == start:
                break
    return float(reached)


def _lowest_path(
    distances: FloatArray, row_of: NDArray[np.intp], start: int, reached: float
) -> tuple[int, float, NDArray[np.intp]]:
    """From a row without partner to a column without one, over rows that would change theirs.

    Returns:
        The column, the largest distance so far or on the way, and the row from which each column was reached.
    """
    cost = distances[start].copy()  # the largest distance on the way to each column
    came_from = np.full(len(distances), start)
    waiting = np.ones(len(distances), dtype=np.bool_)
    free = np.flatnonzero(row_of < 0)
    while True:
        nearest_free = int(free[cost[free].argmin()])
        if cost[nearest_free] <= reached:
            return nearest_free, reached, came_from
        column = int(cost.argmin())
        reached = max(reached, float(cost[column]))
        row = row_of[column]
        if row < 0:
            return column, reached, came_from
        through = np.maximum(distances[row], reached)
        cost[column] = np.inf
        waiting[column] = False
        better = (through < cost) & waiting
        np.copyto(cost, through, where=better)
        came_from[better] = row
