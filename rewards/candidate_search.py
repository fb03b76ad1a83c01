"""All candidates of one search, judged one after the other in compiled code (numba).

What is computed, and why it suffices, stands in :mod:`rewards.matcher_search`. Sites are those of the answer, columns
the target sites of the same species.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rewards.arrangement import FloatArray
from rewards.cheapest_pairing import mark_free, pair_up
from rewards.equal_pairings import MOST_OPTIONS, may_be_accepted

# Columns of the result.
SURE, DRIFT, RMS, FAR, LONGEST, LEAST_RMS, LEAST_FAR = range(7)

STOL = 0.5
MARGIN = 1e-6  # of lengths, within which nothing is decided here
TIE = 1e-8  # of squared lengths, within which two pairings count as equal


class Candidates(NamedTuple):
    """What the candidates of one answer and one target have in common.

    Attributes:
        target: fractional coordinates by mapping, shape (m, 3, n).
        answer: the same, relative to the seed, shape (m, n, 3).
        basis, shell, norms: average lattices, 13 of their shortest translations, one of each pair, and their squared
            lengths, shapes (m, 3, 3), (m, 13, 3), (m, 13).
        helpful: how many of these, the first ones, can make a wrapped vector shorter, shape (m,).
        ends: where the species end in the list of sites, the rarest first.
    """

    target: FloatArray
    answer: FloatArray
    basis: FloatArray
    shell: FloatArray
    norms: FloatArray
    helpful: NDArray[np.int64]
    ends: NDArray[np.int64]


class Admitted(NamedTuple):
    """Which pairs count: by mapping, half widths of the box, squared radius of the ball, and the squared length up to
    which a wrapped vector is certainly the shortest (or need not be), shapes (m, 3), (m,), (m,)."""

    box: FloatArray
    ball: FloatArray
    safe: FloatArray


class Workspace(NamedTuple):
    """Arrays that every candidate writes anew."""

    costs: FloatArray
    column_of: NDArray[np.int64]
    row_of: NDArray[np.int64]
    prices: FloatArray
    lowest: FloatArray
    xyz: FloatArray
    vectors: FloatArray
    free: NDArray[np.bool_]
    hit: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    fatal: NDArray[np.int64]


@njit(cache=True, nogil=True)
def judge(all_, admitted, close, only, result):  # type: ignore[no-untyped-def]
    """Find the cheapest pairing of candidates.

    Args:
        all_, admitted: :class:`Candidates` and :class:`Admitted`.
        close: drop a candidate whose nearest partners are not all different.
        only: numbers of the candidates to look at: mapping × sites of the rarest species + site.
        result: filled for those that have a pairing, shape (candidates, 7).
    """
    size, ends = all_.target.shape[2], all_.ends
    area = begin = 0
    for end in ends:
        area += (end - begin) ** 2
        begin = end
    work = Workspace(
        np.empty(area),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty((2, size)),
        np.empty(size),
        np.empty((4, size)),
        np.empty((size, 3)),
        np.empty(size, dtype=np.bool_),
        np.empty(size, dtype=np.bool_),
        np.empty(len(ends), dtype=np.bool_),
        np.zeros(len(ends), dtype=np.int64),
    )
    for candidate in only:
        mapping, seed = candidate // ends[0], candidate % ends[0]
        if _find_pairs(all_, admitted, mapping, seed, close, work) and _solve(ends, work):
            _measure(all_, admitted, mapping, seed, work, result[candidate])


@njit(cache=True, nogil=True)
def _find_pairs(all_, admitted, mapping, seed, close, work):  # type: ignore[no-untyped-def]
    """Fill the squared lengths of the admitted pairs and the nearest partner of every site.

    Returns:
        Whether every site has one.
    """
    begin = place = 0
    for block in range(len(all_.ends)):
        end = all_.ends[block]
        count = end - begin
        cost = work.costs[place : place + count * count].reshape(count, count)
        work.hit[:count] = False
        work.settled[block] = True
        last = work.fatal[block]  # the row that ended a candidate last ends most others too
        for turn in range(count):
            row = last if turn == 0 else (turn - 1 if turn <= last else turn)
            nearest, least, tied = _fill_row(all_, admitted, mapping, seed, begin, end, row, cost[row], work.xyz)
            again = nearest >= 0 and (tied or work.hit[nearest])
            if nearest < 0 or (close and again):
                work.fatal[block] = row
                return False
            if again:
                work.settled[block] = False
            work.hit[nearest] = True
            work.column_of[begin + row], work.lowest[begin + row] = nearest, least
        begin, place = end, place + count * count
    return True


@njit(cache=True, nogil=True)
def _fill_row(all_, admitted, mapping, seed, begin, end, row, cost, xyz):  # type: ignore[no-untyped-def]
    """The squared lengths from one site to the target sites of its species, infinite where a pair is not admitted.

    Loops without branches, one after the other, which the compiler turns into vector instructions.

    Returns:
        The nearest column (-1: none), its squared length, and whether another is as near.
    """
    target, site, box, basis = all_.target[mapping], all_.answer[mapping, begin + row], admitted.box[mapping], all_.basis[mapping]
    ta, tb, tc = target[0, begin:end], target[1, begin:end], target[2, begin:end]
    a0, b0, c0 = target[0, seed] + site[0], target[1, seed] + site[1], target[2, seed] + site[2]
    a1, b1, c1 = box[0], box[1], box[2]
    xa, xb, xc, yb, yc, zc = basis[0, 0], basis[1, 0], basis[2, 0], basis[1, 1], basis[2, 1], basis[2, 2]
    xs, ys, zs, shorter = xyz[0], xyz[1], xyz[2], xyz[3]
    for column in range(end - begin):
        a, b, c = ta[column] - a0, tb[column] - b0, tc[column] - c0
        a, b, c = a - np.rint(a), b - np.rint(b), c - np.rint(c)
        x, y, z = a * xa + b * xb + c * xc, b * yb + c * yc, c * zc
        xs[column], ys[column], zs[column], shorter[column] = x, y, z, 0.0
        outside = (abs(a) > a1) | (abs(b) > b1) | (abs(c) > c1)
        cost[column] = np.inf if outside else x * x + y * y + z * z
    for each in range(all_.helpful[mapping]):
        tx, ty, tz = all_.shell[mapping, each, 0], all_.shell[mapping, each, 1], all_.shell[mapping, each, 2]
        norm = all_.norms[mapping, each]
        for column in range(end - begin):
            change = norm - 2 * abs(xs[column] * tx + ys[column] * ty + zs[column] * tz)
            shorter[column] = change if change < shorter[column] else shorter[column]
    ball = admitted.ball[mapping]
    nearest, least, second = -1, np.inf, np.inf
    for column in range(end - begin):
        squared = cost[column] + shorter[column]
        squared = squared if squared < ball else np.inf
        cost[column] = squared
        if squared < second:
            if squared < least:
                nearest, least, second = column, squared, least
            else:
                second = squared
    return nearest, least, second <= least + TIE


@njit(cache=True, nogil=True)
def _shortest(all_, mapping, dx, dy, dz, safe):  # type: ignore[no-untyped-def]
    """The shortest image of a wrapped fractional vector: its components and squared length."""
    basis = all_.basis[mapping]
    x = dx * basis[0, 0] + dy * basis[1, 0] + dz * basis[2, 0]
    y = dy * basis[1, 1] + dz * basis[2, 1]
    z = dz * basis[2, 2]
    squared = x * x + y * y + z * z
    if squared < safe:
        return x, y, z, squared
    shell, norms = all_.shell[mapping], all_.norms[mapping]
    best, which, sign = 0.0, -1, 1.0
    for each in range(all_.helpful[mapping]):
        along = x * shell[each, 0] + y * shell[each, 1] + z * shell[each, 2]
        change = norms[each] - 2 * abs(along)
        if change < best:
            best, which = change, each
            sign = 1.0 if along > 0 else -1.0
    if which >= 0:
        x -= sign * shell[which, 0]
        y -= sign * shell[which, 1]
        z -= sign * shell[which, 2]
        squared = x * x + y * y + z * z
    return x, y, z, squared


@njit(cache=True, nogil=True)
def _solve(ends, work):  # type: ignore[no-untyped-def]
    """Pair the species whose nearest partners are not all different, or not alone; whether that can be done."""
    begin = place = 0
    work.free[:] = False
    for block in range(len(ends)):
        end = ends[block]
        count = end - begin
        if not work.settled[block]:
            cost = work.costs[place : place + count * count].reshape(count, count)
            columns, rows = work.column_of[begin:end], work.row_of[begin:end]
            row_price, column_price = work.prices[0, begin:end], work.prices[1, begin:end]
            row_price[:] = work.lowest[begin:end]
            if not pair_up(cost, columns, rows, row_price, column_price):
                return False
            mark_free(cost, columns, rows, row_price, column_price, TIE, work.free[begin:end])
        begin, place = end, place + count * count
    return True


@njit(cache=True, nogil=True)
def _measure(all_, admitted, mapping, seed, work, out):  # type: ignore[no-untyped-def]
    """What the pairing comes to, and bounds over all pairings that cost the same."""
    size = len(work.vectors)
    total, longest = 0.0, 0.0
    begin = 0
    for end in all_.ends:
        for row in range(begin, end):
            x, y, z, squared = _pair(all_, admitted, mapping, seed, row, begin + work.column_of[row])
            work.vectors[row, 0], work.vectors[row, 1], work.vectors[row, 2] = x, y, z
            if _torn(all_, admitted, mapping, x, y, z, squared):
                work.free[row] = True
            total += squared
            longest = max(longest, squared)
        begin = end
    mean = np.array([work.vectors[:, axis].mean() for axis in range(3)])
    far, spread = 0.0, 0.0
    for vector in work.vectors:
        squared = ((vector - mean) ** 2).sum()
        far, spread = max(far, squared), spread + squared
    out[DRIFT], out[RMS], out[FAR] = np.sqrt((mean**2).sum()), np.sqrt(spread / size), np.sqrt(far)
    out[SURE], out[LONGEST] = 1.0, np.sqrt(longest)
    out[LEAST_RMS], out[LEAST_FAR] = out[RMS], out[FAR]
    if work.free.any():
        _bound(all_, admitted, mapping, seed, work, mean, total, out)


@njit(cache=True, nogil=True)
def _bound(all_, admitted, mapping, seed, work, mean, total, out):  # type: ignore[no-untyped-def]
    """Bounds over all pairings that cost the same: quick ones, and if they decide nothing, from a list of them."""
    size = len(work.vectors)
    known, loose, loose_squared = np.zeros(3), 0, 0.0
    for row in range(size):
        if work.free[row]:
            loose += 1
            loose_squared += (work.vectors[row] ** 2).sum()
        else:
            known += work.vectors[row]
    known /= size
    drift, slack = np.sqrt((known**2).sum()), np.sqrt(loose * loose_squared) / size
    far = 0.0
    for row in range(size):
        apart = np.sqrt(work.lowest[row]) - drift if work.free[row] else np.sqrt(((work.vectors[row] - known) ** 2).sum())
        far = max(far, apart)
    out[SURE] = 0.0
    out[LEAST_RMS], out[LEAST_FAR] = np.sqrt(max(total / size - (drift + slack) ** 2, 0.0)), far - slack
    if out[LEAST_FAR] >= STOL + MARGIN:
        return
    rows = np.flatnonzero(work.free)
    starts, columns, options = _options(all_, admitted, mapping, seed, work, rows)
    if len(columns) and not may_be_accepted(
        rows, starts, columns, options, work.vectors, work.free, mean, all_.basis[mapping], STOL + MARGIN
    ):
        out[LEAST_FAR] = STOL + 2 * MARGIN


@njit(cache=True, nogil=True)
def _options(all_, admitted, mapping, seed, work, rows):  # type: ignore[no-untyped-def]
    """Every partner that a free row may have, in every image that is as near.

    Returns:
        Where the options of each row start, their columns, counted through all species, and vectors; none at all where
        there are too many.
    """
    most = MOST_OPTIONS
    starts = np.empty(len(rows) + 1, dtype=np.int64)
    columns, vectors = np.empty(most, dtype=np.int64), np.empty((most, 3))
    shell, norms = all_.shell[mapping], all_.norms[mapping]
    count = 0
    for number, row in enumerate(rows):
        starts[number] = count
        block = begin = place = 0
        while all_.ends[block] <= row:
            place += (all_.ends[block] - begin) ** 2
            begin = all_.ends[block]
            block += 1
        size = all_.ends[block] - begin
        for column in range(size):
            chosen = column == work.column_of[row]
            if not chosen:
                if work.settled[block] or not work.free[begin + work.row_of[begin + column]]:
                    continue
                cost = work.costs[place + (row - begin) * size + column]
                if cost - work.prices[0, row] - work.prices[1, begin + column] > TIE:
                    continue
            x, y, z, squared = _pair(all_, admitted, mapping, seed, row, begin + column)
            for each in range(-1, len(norms)):
                along = 0.0
                if each >= 0:
                    if squared < admitted.safe[mapping]:
                        break
                    along = x * shell[each, 0] + y * shell[each, 1] + z * shell[each, 2]
                    if norms[each] - 2 * abs(along) > TIE:
                        continue
                if count == most:
                    return starts, columns[:0], vectors[:0]
                columns[count] = begin + column
                vectors[count, 0], vectors[count, 1], vectors[count, 2] = x, y, z
                if each >= 0:
                    sign = 1.0 if along > 0 else -1.0
                    vectors[count] -= sign * shell[each]
                count += 1
    starts[len(rows)] = count
    return starts, columns[:count], vectors[:count]


@njit(cache=True, nogil=True)
def _pair(all_, admitted, mapping, seed, row, column):  # type: ignore[no-untyped-def]
    """The shortest vector from an answer site to a target site, and its squared length."""
    target, site = all_.target[mapping], all_.answer[mapping, row]
    a = target[0, column] - (target[0, seed] + site[0])
    b = target[1, column] - (target[1, seed] + site[1])
    c = target[2, column] - (target[2, seed] + site[2])
    return _shortest(all_, mapping, a - np.rint(a), b - np.rint(b), c - np.rint(c), admitted.safe[mapping])


@njit(cache=True, nogil=True)
def _torn(all_, admitted, mapping, x, y, z, squared):  # type: ignore[no-untyped-def]
    """Whether another image is as near."""
    if squared < admitted.safe[mapping]:
        return False
    shell, norms = all_.shell[mapping], all_.norms[mapping]
    for each in range(len(norms)):
        along = x * shell[each, 0] + y * shell[each, 1] + z * shell[each, 2]
        if norms[each] - 2 * abs(along) <= TIE:
            return True
    return False
