"""The pairs of sites that a candidate admits, with their shortest vectors, in compiled code (numba).

Sites are those of the answer, columns the target sites of the same species. Lengths are in units of (V/N)^(1/3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rewards.arrangement import FloatArray
from rewards.matcher.compiled import compiled
from rewards.matcher.pairing import BoolArray, IndexArray, Pairing, Pairs, PathSearch

TIE = 1e-8  # of squared lengths, within which two count as equal
_FARTHEST = 1e6  # squared length of a pair that is not admitted at all


class Candidates(NamedTuple):
    """What the candidates of one answer and one target have in common, and which pairs count.

    Attributes:
        target: fractional coordinates by mapping, shape (m, 3, n).
        answer: the same, relative to the seed, shape (m, n, 3).
        basis, shell, norms: average lattices, 13 of their shortest translations, one of each pair, and their squared
            lengths, shapes (m, 3, 3), (m, 13, 3), (m, 13).
        helpful: how many of these, the first ones, can make a wrapped vector shorter, shape (m,).
        ends: where the species end in the list of sites, the rarest first.
        box: half widths of the box in fractional coordinates, shape (m, 3).
        ball: squared radius, shape (m,).
        safe: squared length up to which a wrapped vector is certainly the shortest (or need not be), shape (m,).
    """

    target: FloatArray
    answer: FloatArray
    basis: FloatArray
    shell: FloatArray
    norms: FloatArray
    helpful: IndexArray
    ends: IndexArray
    box: FloatArray
    ball: FloatArray
    safe: FloatArray


class Workspace(NamedTuple):
    """Arrays that every candidate writes anew.

    Attributes:
        pairs, pairing, path: see :mod:`rewards.matcher.pairing`.
        lowest: squared length to the nearest partner of every row.
        xyz: of the vectors from one site: components, squared lengths, what other images take off these, shape (5, n).
        vectors: of the pairing, shape (n, 3).
        free: rows that have another partner, or image of it, in a pairing of the same cost.
        hit: columns that are some row's nearest.
        fatal: of every species, the row that ended a candidate last; it ends most others too.
    """

    pairs: Pairs
    pairing: Pairing
    path: PathSearch
    lowest: FloatArray
    xyz: FloatArray
    vectors: FloatArray
    free: BoolArray
    hit: BoolArray
    fatal: IndexArray


@compiled
def workspace(size: int, ends: IndexArray) -> Workspace:
    area = begin = 0
    for end in ends:
        area += (end - begin) ** 2
        begin = end
    index, number = np.empty((6, size), dtype=np.int64), np.empty((4, size))
    return Workspace(
        Pairs(index[0], index[1], np.empty(area, dtype=np.int64), np.empty(area)),
        Pairing(index[2], index[3], number[0], number[1]),
        PathSearch(number[2], index[4], np.empty(size, dtype=np.bool_), index[5]),
        number[3],
        np.empty((5, size)),
        np.empty((size, 3)),
        np.empty(size, dtype=np.bool_),
        np.empty(size, dtype=np.bool_),
        np.zeros(len(ends), dtype=np.int64),
    )


@compiled
def find_pairs(all_: Candidates, mapping: int, seed: int, close: bool, work: Workspace) -> tuple[bool, bool]:
    """List the admitted pairs and note the nearest partner of every site.

    Returns:
        Whether every site has one; whether these are the only cheapest pairing, being all different and alone.
    """
    begin = count = 0
    settled = True
    for row in range(len(work.hit)):
        work.hit[row] = work.free[row] = False
    for species in range(len(all_.ends)):
        end = all_.ends[species]
        last = work.fatal[species]
        for turn in range(end - begin):
            place = last if turn == 0 else (turn - 1 if turn <= last else turn)
            row = begin + place
            work.pairs.first[row] = count
            nearest, least, tied, count = _row_of_pairs(all_, mapping, seed, begin, end, row, work, count)
            again = nearest >= 0 and (tied or work.hit[nearest])
            if nearest < 0 or (close and again):
                work.fatal[species] = place
                return False, False
            if again:
                settled = False
            work.hit[nearest] = True
            work.pairs.last[row], work.pairing.column_of[row], work.lowest[row] = count, nearest, least
        begin = end
    return True, settled


@compiled
def _row_of_pairs(
    all_: Candidates, mapping: int, seed: int, begin: int, end: int, row: int, work: Workspace, count: int
) -> tuple[int, float, bool, int]:
    """Add the pairs of one answer site with the target sites of its species, which are `begin` to `end`.

    Loops without branches, one after the other, which the compiler turns into vector instructions.

    Returns:
        The nearest column (-1: none), its squared length, whether another is as near, and the number of pairs so far.
    """
    target, site, box, basis = (
        all_.target[mapping],
        all_.answer[mapping, row],
        all_.box[mapping],
        all_.basis[mapping],
    )
    ta, tb, tc = target[0, begin:end], target[1, begin:end], target[2, begin:end]
    xs, ys, zs, length = work.xyz[0], work.xyz[1], work.xyz[2], work.xyz[3]
    a0, b0, c0 = target[0, seed] + site[0], target[1, seed] + site[1], target[2, seed] + site[2]
    a1, b1, c1 = box[0], box[1], box[2]
    xa, xb, xc, yb, yc, zc = basis[0, 0], basis[1, 0], basis[2, 0], basis[1, 1], basis[2, 1], basis[2, 2]
    for column in range(end - begin):
        a, b, c = ta[column] - a0, tb[column] - b0, tc[column] - c0
        a, b, c = a - np.rint(a), b - np.rint(b), c - np.rint(c)
        x, y, z = a * xa + b * xb + c * xc, b * yb + c * yc, c * zc
        xs[column], ys[column], zs[column] = x, y, z
        outside = (abs(a) > a1) | (abs(b) > b1) | (abs(c) > c1)
        length[column] = np.inf if outside else x * x + y * y + z * z
    shorter = work.xyz[4]
    shorter[: end - begin] = 0.0
    others = 0 if all_.safe[mapping] == np.inf else all_.helpful[mapping]
    for each in range(others):
        tx, ty, tz = all_.shell[mapping, each, 0], all_.shell[mapping, each, 1], all_.shell[mapping, each, 2]
        norm = all_.norms[mapping, each]
        for column in range(end - begin):
            change = norm - 2 * abs(xs[column] * tx + ys[column] * ty + zs[column] * tz)
            shorter[column] = change if change < shorter[column] else shorter[column]
    ball = min(all_.ball[mapping], _FARTHEST)
    nearest, least, second = -1, np.inf, np.inf
    for column in range(end - begin):
        squared = length[column] + shorter[column]
        if squared < ball:
            work.pairs.column[count], work.pairs.cost[count] = begin + column, squared
            count += 1
            if squared < least:
                nearest, least, second = begin + column, squared, least
            elif squared < second:
                second = squared
    return nearest, least, second <= least + TIE, count


@compiled
def _shortest(all_: Candidates, mapping: int, da: float, db: float, dc: float) -> tuple[float, float, float, float]:
    """The shortest image of a wrapped fractional vector: its components and squared length."""
    basis = all_.basis[mapping]
    x = da * basis[0, 0] + db * basis[1, 0] + dc * basis[2, 0]
    y = db * basis[1, 1] + dc * basis[2, 1]
    z = dc * basis[2, 2]
    squared = x * x + y * y + z * z
    if squared < all_.safe[mapping]:
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


@compiled
def vector_of(all_: Candidates, mapping: int, seed: int, row: int, column: int) -> tuple[float, float, float, float]:
    """The shortest vector from an answer site to a target site, and its squared length."""
    target, site = all_.target[mapping], all_.answer[mapping, row]
    a = target[0, column] - (target[0, seed] + site[0])
    b = target[1, column] - (target[1, seed] + site[1])
    c = target[2, column] - (target[2, seed] + site[2])
    return _shortest(all_, mapping, a - np.rint(a), b - np.rint(b), c - np.rint(c))


@compiled
def torn(all_: Candidates, mapping: int, x: float, y: float, z: float, squared: float) -> bool:
    """Whether another image is as near."""
    if squared < all_.safe[mapping]:
        return False
    shell, norms = all_.shell[mapping], all_.norms[mapping]
    for each in range(len(norms)):
        along = x * shell[each, 0] + y * shell[each, 1] + z * shell[each, 2]
        if norms[each] - 2 * abs(along) <= TIE:
            return True
    return False


@compiled
def squared_distance(vector: FloatArray, point: FloatArray) -> float:
    """Of two points, shape (3,) each."""
    x, y, z = vector[0] - point[0], vector[1] - point[1], vector[2] - point[2]
    return float(x * x + y * y + z * z)
