"""All candidates of one search, judged one after the other in compiled code (numba).

What is computed, and why it suffices, stands in :mod:`rewards.matcher.search`.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from rewards.arrangement import FloatArray
from rewards.matcher.compiled import compiled
from rewards.matcher.pairing import IndexArray, mark_free, pair_up
from rewards.matcher.pairs import TIE, Candidates, Workspace, find_pairs, squared_distance, torn, vector_of, workspace
from rewards.matcher.ties import MOST_OPTIONS, Options, may_be_accepted

# Columns of the result.
SURE, DRIFT, RMS, FAR, LONGEST, LEAST_RMS, LEAST_FAR = range(7)

STOL = 0.5
MARGIN = 1e-6  # of lengths, within which nothing is decided here


@compiled
def judge(all_: Candidates, close: bool, only: IndexArray, result: FloatArray) -> None:
    """Find the cheapest pairing of candidates.

    Args:
        close: drop a candidate whose nearest partners are not all different.
        only: numbers of the candidates to look at: mapping × sites of the rarest species + site.
        result: filled for those that have a pairing, shape (candidates, 7).
    """
    work = workspace(all_.target.shape[2], all_.ends)
    for candidate in only:
        mapping, seed = candidate // all_.ends[0], candidate % all_.ends[0]
        possible, settled = find_pairs(all_, mapping, seed, close, work)
        if not possible:
            continue
        if not settled:
            if not pair_up(work.pairs, work.lowest, work.pairing, work.path):
                continue
            mark_free(work.pairs, work.pairing, TIE, work.free)
        _measure(all_, mapping, seed, settled, work, result[candidate])


@compiled
def _measure(all_: Candidates, mapping: int, seed: int, settled: bool, work: Workspace, out: FloatArray) -> None:
    """What the pairing comes to, and bounds over all pairings that cost the same."""
    size = len(work.vectors)
    total, longest = 0.0, 0.0
    for row in range(size):
        x, y, z, squared = vector_of(all_, mapping, seed, row, work.pairing.column_of[row])
        work.vectors[row, 0], work.vectors[row, 1], work.vectors[row, 2] = x, y, z
        if torn(all_, mapping, x, y, z, squared):
            work.free[row] = True
        total += squared
        longest = max(longest, squared)
    mean = np.zeros(3)
    for row in range(size):
        for axis in range(3):
            mean[axis] += work.vectors[row, axis] / size
    origin = np.zeros(3)
    far, spread, some_free = 0.0, 0.0, False
    for row in range(size):
        squared = squared_distance(work.vectors[row], mean)
        far, spread = max(far, squared), spread + squared
        some_free |= work.free[row]
    out[DRIFT], out[RMS], out[FAR] = sqrt(squared_distance(mean, origin)), sqrt(spread / size), sqrt(far)
    out[SURE], out[LONGEST] = 1.0, sqrt(longest)
    out[LEAST_RMS], out[LEAST_FAR] = out[RMS], out[FAR]
    if some_free:
        out[SURE] = 0.0
        out[LEAST_RMS], out[LEAST_FAR] = _quick_bounds(work, origin, total)
        if out[LEAST_FAR] < STOL + MARGIN:
            options = _options(all_, mapping, seed, settled, work)
            if len(options.columns) and not may_be_accepted(
                options, work.vectors, work.free, mean, all_.basis[mapping], STOL + MARGIN
            ):
                out[LEAST_FAR] = STOL + 2 * MARGIN


@compiled
def _quick_bounds(work: Workspace, origin: FloatArray, total: float) -> tuple[float, float]:
    """Bounds from below on rms and largest |v - τ| over all pairings that cost the same (see 3)."""
    size = len(work.vectors)
    known, loose, loose_squared = np.zeros(3), 0, 0.0
    for row in range(size):
        if work.free[row]:
            loose += 1
            loose_squared += squared_distance(work.vectors[row], origin)
        else:
            for axis in range(3):
                known[axis] += work.vectors[row, axis] / size
    drift, slack = sqrt(squared_distance(known, origin)), sqrt(loose * loose_squared) / size
    far = 0.0
    for row in range(size):
        if work.free[row]:
            far = max(far, sqrt(work.lowest[row]) - drift)
        else:
            far = max(far, sqrt(squared_distance(work.vectors[row], known)))
    return sqrt(max(total / size - (drift + slack) ** 2, 0.0)), far - slack


@compiled
def _options(all_: Candidates, mapping: int, seed: int, settled: bool, work: Workspace) -> Options:
    """Every partner that a free row may have, in every image that is as near.

    Returns:
        No option at all where there are too many.
    """
    most = MOST_OPTIONS
    rows = np.flatnonzero(work.free)
    starts = np.empty(len(rows) + 1, dtype=np.int64)
    columns, vectors = np.empty(most, dtype=np.int64), np.empty((most, 3))
    shell, norms = all_.shell[mapping], all_.norms[mapping]
    pairs, pairing = work.pairs, work.pairing
    count = 0
    for number in range(len(rows)):
        row = int(rows[number])
        starts[number] = count
        for k in range(pairs.first[row], pairs.last[row]):
            column = pairs.column[k]
            if column != pairing.column_of[row] and (
                settled
                or not work.free[pairing.row_of[column]]
                or pairs.cost[k] - pairing.row_price[row] - pairing.column_price[column] > TIE
            ):
                continue
            x, y, z, squared = vector_of(all_, mapping, seed, row, column)
            for each in range(-1, len(norms)):
                along = 0.0
                if each >= 0:
                    if squared < all_.safe[mapping]:
                        break
                    along = x * shell[each, 0] + y * shell[each, 1] + z * shell[each, 2]
                    if norms[each] - 2 * abs(along) > TIE:
                        continue
                if count == most:
                    return Options(rows, starts, columns[:0], vectors[:0])
                sign = 0.0 if each < 0 else (1.0 if along > 0 else -1.0)
                columns[count] = column
                vectors[count, 0] = x - sign * shell[each, 0]
                vectors[count, 1] = y - sign * shell[each, 1]
                vectors[count, 2] = z - sign * shell[each, 2]
                count += 1
    starts[len(rows)] = count
    return Options(rows, starts, columns[:count], vectors[:count])
