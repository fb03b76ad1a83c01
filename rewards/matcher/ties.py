"""Whether one of the pairings that cost the same would be accepted.

Compiled with numba, for :mod:`rewards.matcher.candidates`.

All pairings of one candidate have the same Σv up to a vector of the lattice, since v_ij is target minus answer plus
such a vector. So the mean τ of any of them is the mean of one plus a lattice vector divided by the number of sites: a
grid, of which few points are as near to the fixed vectors as acceptance asks. At each of these, every free site must
have an option within reach of τ, and the sites together a pairing of such options whose vectors add up to N τ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rewards.arrangement import FloatArray
from rewards.matcher.compiled import compiled
from rewards.matcher.pairing import BoolArray, IndexArray
from rewards.matcher.pairs import squared_distance

MOST_OPTIONS = 2048
_MOST_STEPS = 4096
_SUM_TOLERANCE = 1e-6  # of Σv


class Options(NamedTuple):
    """What the free rows may be paired with: the rows, where the options of each begin, shape (rows + 1,), and column
    and vector of every option."""

    rows: IndexArray
    starts: IndexArray
    columns: IndexArray
    vectors: FloatArray


@compiled
def may_be_accepted(
    options: Options, vectors: FloatArray, free: BoolArray, mean: FloatArray, basis: FloatArray, reach: float
) -> bool:
    """Look for a pairing in which all vectors, the mean taken out, are shorter than `reach`.

    Args:
        vectors, free: of all rows, in one pairing, shapes (n, 3) and (n,).
        mean: of these vectors.
        basis: of the lattice, lower triangular.

    Returns:
        Whether there may be one: also where the search for it takes too long.
    """
    size = len(vectors)
    low, high = _range_of_mean(options, vectors, free, reach)
    step = np.empty((3, 3))
    for row in range(3):
        for axis in range(3):
            step[row, axis] = basis[row, axis] / size
    steps = 0
    fatal = 0
    chosen, taken = np.empty(len(options.rows), dtype=np.int64), np.zeros(size, dtype=np.bool_)
    tau = np.empty(3)
    for r in range(int(np.ceil((low[2] - mean[2]) / step[2, 2])), int(np.floor((high[2] - mean[2]) / step[2, 2])) + 1):
        tau[2] = mean[2] + r * step[2, 2]
        y = mean[1] + r * step[2, 1]
        for q in range(int(np.ceil((low[1] - y) / step[1, 1])), int(np.floor((high[1] - y) / step[1, 1])) + 1):
            tau[1] = y + q * step[1, 1]
            x = mean[0] + r * step[2, 0] + q * step[1, 0]
            for p in range(int(np.ceil((low[0] - x) / step[0, 0])), int(np.floor((high[0] - x) / step[0, 0])) + 1):
                tau[0] = x + p * step[0, 0]
                fatal = _out_of_reach(options, vectors, free, tau, reach, fatal)
                if fatal >= 0:
                    continue
                fatal = 0
                found, steps = _find(options, vectors, free, tau, reach, chosen, taken, steps)
                if found:
                    return True
    return False


@compiled
def _range_of_mean(
    options: Options, vectors: FloatArray, free: BoolArray, reach: float
) -> tuple[FloatArray, FloatArray]:
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
    for number in range(len(options.rows)):
        for axis in range(3):
            smallest, largest = np.inf, -np.inf
            for option in range(options.starts[number], options.starts[number + 1]):
                smallest = min(smallest, options.vectors[option, axis])
                largest = max(largest, options.vectors[option, axis])
            low[axis] = max(low[axis], smallest - reach)
            high[axis] = min(high[axis], largest + reach)
            least[axis] += smallest
            most[axis] += largest
    for axis in range(3):
        low[axis] = max(low[axis], least[axis] / size - 1e-9)
        high[axis] = min(high[axis], most[axis] / size + 1e-9)
    return low, high


@compiled
def _out_of_reach(
    options: Options, vectors: FloatArray, free: BoolArray, tau: FloatArray, reach: float, last: int
) -> int:
    """A row none of whose options is within reach of the mean, -1 if there is none; `last` is asked first."""
    size, count = len(vectors), len(options.rows)
    for turn in range(-1, count + size):
        each = last if turn < 0 else turn
        if each < count:
            near = False
            for option in range(options.starts[each], options.starts[each + 1]):
                if squared_distance(options.vectors[option], tau) < reach**2:
                    near = True
                    break
            if not near:
                return each
        elif not free[each - count] and squared_distance(vectors[each - count], tau) >= reach**2:
            return each
    return -1


@compiled
def _find(
    options: Options,
    vectors: FloatArray,
    free: BoolArray,
    tau: FloatArray,
    reach: float,
    choice: IndexArray,
    taken: BoolArray,
    steps: int,
) -> tuple[bool, int]:
    """Whether some pairing of options within reach has this mean, and the steps taken so far."""
    starts, columns, size = options.starts, options.columns, len(vectors)
    depth = len(options.rows)
    sums = np.empty((depth + 1, 3))
    for axis in range(3):
        sums[0, axis] = -size * tau[axis]
    for row in range(size):
        taken[row] = False
        if not free[row]:
            for axis in range(3):
                sums[0, axis] += vectors[row, axis]
    level = 0
    choice[0] = starts[0] - 1
    while level >= 0:
        steps += 1
        if steps > _MOST_STEPS:
            return True, steps
        if level == depth:
            if max(abs(sums[depth, 0]), abs(sums[depth, 1]), abs(sums[depth, 2])) < _SUM_TOLERANCE:
                return True, steps
            level -= 1
            continue
        if choice[level] >= starts[level]:
            taken[columns[choice[level]]] = False
        choice[level] += 1
        while choice[level] < starts[level + 1] and (
            taken[columns[choice[level]]] or squared_distance(options.vectors[choice[level]], tau) >= reach**2
        ):
            choice[level] += 1
        if choice[level] == starts[level + 1]:
            level -= 1
            continue
        taken[columns[choice[level]]] = True
        for axis in range(3):
            sums[level + 1, axis] = sums[level, axis] + options.vectors[choice[level], axis]
        level += 1
        if level < depth:
            choice[level] = starts[level] - 1
    return False, steps
