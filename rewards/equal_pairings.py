"""Whether one of the pairings that cost the same would be accepted.

Compiled with numba, for :mod:`rewards.candidate_search`.

All pairings of one candidate have the same Σv up to a vector of the lattice, since v_ij is target minus answer plus such
a vector. So the mean τ of any of them is the mean of one plus a lattice vector divided by the number of sites: a grid,
of which few points are as near to the fixed vectors as acceptance asks. At each of these, every free site must have an
option within reach of τ, and the sites together a pairing of such options whose vectors add up to τ.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_OPTIONS = 2048
_MOST_STEPS = 4096
_SUM_TOLERANCE = 1e-6  # of Σv


@njit(cache=True, nogil=True)
def may_be_accepted(rows, starts, columns, options, vectors, free, mean, basis, reach):  # type: ignore[no-untyped-def]
    """Look for a pairing in which all vectors, the mean taken out, are shorter than `reach`.

    Args:
        rows: the free rows.
        starts: where the options of each begin, shape (rows + 1,).
        columns, options: column and vector of every option.
        vectors, free: of all rows, in one pairing.
        mean: of these vectors.
        basis: of the lattice, lower triangular.

    Returns:
        Whether there may be one: also where the search for it takes too long.
    """
    size = len(vectors)
    low, high = _range_of_mean(rows, starts, options, vectors, free, reach)
    step = basis / size
    steps = 0
    fatal = 0
    chosen, taken = np.empty(len(rows), dtype=np.int64), np.zeros(size, dtype=np.bool_)
    tau = np.empty(3)
    for r in range(int(np.ceil((low[2] - mean[2]) / step[2, 2])), int(np.floor((high[2] - mean[2]) / step[2, 2])) + 1):
        tau[2] = mean[2] + r * step[2, 2]
        y = mean[1] + r * step[2, 1]
        for q in range(int(np.ceil((low[1] - y) / step[1, 1])), int(np.floor((high[1] - y) / step[1, 1])) + 1):
            tau[1] = y + q * step[1, 1]
            x = mean[0] + r * step[2, 0] + q * step[1, 0]
            for p in range(int(np.ceil((low[0] - x) / step[0, 0])), int(np.floor((high[0] - x) / step[0, 0])) + 1):
                tau[0] = x + p * step[0, 0]
                fatal = _out_of_reach(rows, starts, options, vectors, free, tau, reach, fatal)
                if fatal >= 0:
                    continue
                fatal = 0
                found, steps = _find(rows, starts, columns, options, tau, reach, size, chosen, taken, steps, vectors, free)
                if found:
                    return True
    return False


@njit(cache=True, nogil=True)
def _range_of_mean(rows, starts, options, vectors, free, reach):  # type: ignore[no-untyped-def]
    """Least and greatest components of a mean that the options can have and that the fixed vectors admit."""
    size = len(vectors)
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    least, most = np.zeros(3), np.zeros(3)
    for row in range(size):
        if free[row]:
            continue
        for axis in range(3):
            low[axis] = max(low[axis], vectors[row, axis] - reach)
            high[axis] = min(high[axis], vectors[row, axis] + reach)
            least[axis] += vectors[row, axis]
            most[axis] += vectors[row, axis]
    for number in range(len(rows)):
        mine = options[starts[number] : starts[number + 1]]
        for axis in range(3):
            smallest, largest = mine[:, axis].min(), mine[:, axis].max()
            low[axis] = max(low[axis], smallest - reach)
            high[axis] = min(high[axis], largest + reach)
            least[axis] += smallest
            most[axis] += largest
    for axis in range(3):
        low[axis] = max(low[axis], least[axis] / size - 1e-9)
        high[axis] = min(high[axis], most[axis] / size + 1e-9)
    return low, high


@njit(cache=True, nogil=True)
def _out_of_reach(rows, starts, options, vectors, free, tau, reach, last):  # type: ignore[no-untyped-def]
    """A row none of whose options is within reach of the mean, -1 if there is none; `last` is asked first."""
    size, count = len(vectors), len(rows)
    for turn in range(-1, count + size):
        each = last if turn < 0 else turn
        if each < count:
            near = False
            for option in range(starts[each], starts[each + 1]):
                if _within(options[option], tau, reach):
                    near = True
                    break
            if not near:
                return each
        elif not free[each - count] and not _within(vectors[each - count], tau, reach):
            return each
    return -1


@njit(cache=True, nogil=True)
def _within(vector, tau, reach):  # type: ignore[no-untyped-def]
    x, y, z = vector[0] - tau[0], vector[1] - tau[1], vector[2] - tau[2]
    return x * x + y * y + z * z < reach * reach


@njit(cache=True, nogil=True)
def _find(rows, starts, columns, options, tau, reach, size, choice, taken, steps, vectors, free):  # type: ignore[no-untyped-def]
    """Whether some pairing of options within reach has this mean, and the steps taken so far."""
    depth = len(rows)
    sums = np.empty((depth + 1, 3))
    sums[0] = -tau * size
    for row in range(size):
        if not free[row]:
            sums[0] += vectors[row]
    taken[:] = False
    level = 0
    choice[0] = starts[0] - 1
    while level >= 0:
        steps += 1
        if steps > _MOST_STEPS:
            return True, steps
        if level == depth:
            if np.abs(sums[depth]).max() < _SUM_TOLERANCE:
                return True, steps
            level -= 1
            continue
        if choice[level] >= starts[level]:
            taken[columns[choice[level]]] = False
        choice[level] += 1
        while choice[level] < starts[level + 1] and (
            taken[columns[choice[level]]] or not _within(options[choice[level]], tau, reach)
        ):
            choice[level] += 1
        if choice[level] == starts[level + 1]:
            level -= 1
            continue
        taken[columns[choice[level]]] = True
        sums[level + 1] = sums[level] + options[choice[level]]
        level += 1
        if level < depth:
            choice[level] = starts[level] - 1
    return False, steps
