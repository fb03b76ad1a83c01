"""The search of ``StructureMatcher``, for many candidates at once and both of its questions in one pass.

What is searched. A candidate is a mapping of the target's Niggli lattice on the answer's, with one translation that
puts the first answer site of the rarest species (the seed) on one of the target's. v_ij is the shortest vector
between answer site i and target site j of its species, in the average lattice and in units of (V/N)^(1/3). Of all
pairings, in which every v lies in a box that holds the ball of radius 1, the matcher takes one with the least
Σ|v|², and subtracts the mean τ. ``fit`` asks whether some candidate has max|v - τ| < 0.5; ``get_rms_dist`` takes
the candidate with the least rms, and its max. A candidate without a pairing counts for nothing.

1. Close candidates. Let δ be the least distance between two target sites of one species. If every site has a partner
within R ≤ δ/2, each has its own, this pairing is the only cheapest one, and no assignment need be solved. Let ρ be
the least rms of such candidates, and √N ρ < R/2 (and < 0.5). Then no other candidate does better: one with rms ≤ ρ
has all |v - τ| ≤ √N ρ. Take the candidate that puts the seed on its partner there: with the same pairing, its
vectors are the differences to that of the seed, so shorter than 2√N ρ < R, and it is a close one, with the same
figures. This settles most right answers.

2. All candidates. Only pairs with |v| < 1 are admitted at first. Where the matcher leaves the seed on its own site,
its vector is 0, an accepted candidate has |τ| < 0.5, hence all |v| < 1, and its pairing stays the cheapest among
fewer. If it puts the seed on a rival at a distance d, all sites of an accepted candidate are within 1 of partners
after a shift by d: the candidate with the seed on the rival has a complete pairing too. Moreover |τ| > d - 0.5, so
the cheapest pairing costs Σ|v|² > N (d - 0.5)². Candidates that both allow are judged in the whole box. Sites without
a partner end most candidates. Where the nearest partners are all different, they are the cheapest pairing; else the
assignment of that species is solved.

3. Ties. Rounding decides between pairings of equal cost, so a rejection must hold for all of them. Prices of the
sites, found by shortest paths, turn Σ|v|² into reduced costs ≥ 0, of which a pairing as cheap uses only zeros; it
differs from the one found by cycles of such pairs. Rows on no cycle are fixed, unless two images of the partner are
as near. The n free rows have in any cheapest pairing the same Σ|v|² =: F, so their share of the mean is at most
√(n F)/N (Cauchy-Schwarz), and no |v| is less than that of their nearest partner. That bounds max|v - τ| and the rms
from below for all pairings at once.

4. The least rms. What is not accepted has some |v - τ| ≥ 0.5, so an rms ≥ 0.5/√N. An accepted one below that is
compared with accepted ones only, and judged once more in the whole box; otherwise all candidates are. The 1 to 2 % of
answers whose least rms has a max above 0.5 come out as the matcher has them.

What is left. Candidates that :data:`MARGIN` or a tie leaves open are put to the matcher itself, one by one, when all
others are rejected; where the figures of an accepted answer depend on such a one, the whole answer is handed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rewards.arrangement import FloatArray
from rewards.paper_shortcuts import IntArray, Mappings, PreparedCrystal

STOL = 0.5
MARGIN = 1e-6  # of lengths, within which nothing is decided here
_TIE = 1e-8  # of squared lengths, within which two pairings count as equal
_SAME_FIGURE = 5e-4  # max_dist of candidates with the same rms; which of them the matcher takes is chance

_TURN = 1 << 16  # steps of coarse coordinates: 16 bits wrap round at the cell's edge by themselves
_SLACK = 3  # of these steps, for rounding
_WITNESSES = 4
_PAIRS_AT_ONCE = 1 << 20
_FORBIDDEN = 1e6  # squared length of a pair that is not admitted
_HALF_SHELL = np.array([t for t in product((-1, 0, 1), repeat=3) if t > (0, 0, 0)], dtype=float)

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judged:
    """The cheapest pairing of every candidate, each of shape (mappings × seeds,); infinite where there is none.

    Attributes:
        sure: there is only one.
        drift, rms, far, longest: |τ|, rms and largest |v - τ|, largest |v|.
        least_rms, least_far: bounds from below over all pairings of that cost.
    """

    sure: BoolArray
    drift: FloatArray
    rms: FloatArray
    far: FloatArray
    longest: FloatArray
    least_rms: FloatArray
    least_far: FloatArray

    def replaced(self, which: IntArray, other: Judged) -> Judged:
        """With the candidates at these places as another pass has them."""
        for name in vars(self):
            getattr(self, name)[which] = getattr(other, name)[which]
        return self


@dataclass(frozen=True, eq=False)
class Admitted:
    """Which pairs count: by mapping, the half width of the box, the squared radius of the ball, and the squared
    length up to which a wrapped vector is certainly the shortest (or need not be)."""

    box: FloatArray
    ball: FloatArray
    safe: FloatArray


@dataclass(eq=False)
class Pairs:
    """Admitted pairs of one species, sorted by candidate and row, and what they come to.

    Attributes:
        candidate, row, column, squared: of every pair; candidates as numbered in `last`.
        nearest, lowest: column and length of the nearest partner of every row, shape (candidates, n).
        settled: the nearest partners are all different, and no others are as near.
        last: position of every candidate still alive in the arrays above.
    """

    candidate: IntArray
    row: IntArray
    column: IntArray
    squared: FloatArray
    nearest: IntArray
    lowest: FloatArray
    settled: BoolArray
    last: IntArray

    def keep(self, alive: BoolArray) -> None:
        self.last = self.last[alive]


class Search:
    """All candidates for one answer and one target, sites ordered by species."""

    def __init__(self, target: PreparedCrystal, answer: PreparedCrystal, mappings: Mappings) -> None:
        ours = [target.sites_of[species] for species in answer.sites_of]
        ends = np.cumsum([len(sites) for sites in ours]).tolist()
        self.blocks = [slice(end - len(sites), end) for sites, end in zip(ours, ends, strict=True)]
        self.size, self.seeds, self.maps = len(target), len(ours[0]), len(mappings)
        self.basis = mappings.basis * self.size ** (1 / 3)
        self.reach = np.linalg.norm(np.linalg.inv(self.basis), axis=1)  # fractional width of a slab 1 thick
        self.shell = _HALF_SHELL @ self.basis
        self.shell_norms = np.einsum("mtj,mtj->mt", self.shell, self.shell)
        frac = target.reduced_frac[np.concatenate(ours)] @ mappings.of_target
        other = answer.reduced_frac[np.concatenate(list(answer.sites_of.values()))] @ mappings.of_answer
        self.target, self.answer = frac - np.floor(frac), other - other[:, :1]
        self.coarse_target, self.coarse_answer = (
            np.rint(rows * _TURN).astype(np.int64).astype(np.uint16) for rows in (self.target, self.answer)
        )
        self.separation = target.separation * mappings.shrink * self.size ** (1 / 3)

    def rivalled(self, judged: Judged) -> IntArray:
        """Candidates that may be accepted with the seed on another site than its own (see 2)."""
        spread = np.sqrt(judged.rms**2 + judged.drift**2).reshape(self.maps, self.seeds)
        open_ = spread >= (self.separation - STOL - MARGIN)[:, None]
        feasible = np.isfinite(spread)
        found = [np.empty(0, dtype=np.intp)]
        for number in np.flatnonzero(feasible.any(axis=1) & open_.any(axis=1)):
            sites = self.target[number, self.blocks[0]]
            mine = np.flatnonzero(open_[number])
            theirs = np.flatnonzero(feasible[number])
            apart = sites[mine, None] - sites[None, theirs]
            apart -= np.rint(apart)
            rival = (np.abs(apart) <= self.reach[number] + MARGIN).all(axis=2) & (mine[:, None] != theirs)
            found.append(number * self.seeds + mine[rival.any(axis=1)])
        return np.concatenate(found)

    def judge(self, radius: FloatArray, *, ball: bool, close: bool = False, only: IntArray | None = None) -> Judged:
        """Find the cheapest pairing of every candidate.

        Args:
            radius: half thickness of the box between its faces, by mapping.
            ball: admit only pairs shorter than that.
            close: a candidate whose nearest partners are not all different is dropped.
            only: the candidates to look at, ascending.
        """
        count = self.maps * self.seeds
        endless = [np.full(count, np.inf) for _ in range(6)]
        result = Judged(np.ones(count, dtype=np.bool_), *endless)
        box = radius[:, None] * self.reach + 1e-9
        within = radius**2 if ball else np.full(self.maps, np.inf)
        safe = ((1 - box) / self.reach).min(axis=1) ** 2 * (1 - MARGIN)
        admitted = Admitted(box, within, np.where(safe < within, safe, np.inf))
        candidates = self._worth_a_look(np.arange(count) if only is None else only, box)
        area = sum((block.stop - block.start) ** 2 for block in self.blocks)
        for maps in _chunks(self.maps, area):
            start, stop = np.searchsorted(candidates, [maps.start * self.seeds, maps.stop * self.seeds])
            if start == stop:
                continue
            table = [self._differences(maps, block) for block in self.blocks]
            for part in _chunks(int(stop - start), area):
                live = candidates[start + part.start : start + part.stop]
                self._judge(live, maps.start, table, admitted, close, result)
        return result

    def _worth_a_look(self, live: IntArray, box: FloatArray) -> IntArray:
        """Candidates in which the first few answer sites of every species have partners."""
        for block in self.blocks:
            few = slice(block.start, min(block.start + _WITNESSES, block.stop))
            parts = _chunks(len(live), _WITNESSES * (block.stop - block.start))
            near = [np.asarray(self._near(live[part], few, block, box).any(axis=2)) for part in parts]
            live = live[np.concatenate(near).all(axis=1)] if near else live
        return live

    def _differences(self, maps: slice, block: slice) -> FloatArray:
        """Target minus answer for all pairs of a species, shape (3, maps × n × n)."""
        apart = self.target[maps, None, block] - self.answer[maps, block, None]
        return np.ascontiguousarray(np.moveaxis(apart, 3, 0)).reshape(3, -1)

    def _judge(
        self, live: IntArray, base: int, table: list[FloatArray], admitted: Admitted, close: bool, result: Judged
    ) -> None:
        found: list[Pairs] = []
        for block, differences in zip(self.blocks, table, strict=True):
            pairs, possible = self._pairs(live, base, block, differences, admitted)
            if close:
                possible[possible] = pairs.settled
                pairs.keep(pairs.settled)
            for earlier in found:
                earlier.keep(possible)
            found.append(pairs)
            live = live[possible]
            if not len(live):
                return
        for pairs in found:
            possible = _assign(pairs)
            for each in found:
                each.keep(possible)
            live = live[possible]
        if not len(live):
            return
        vectors = np.empty((len(live), self.size, 3))
        torn = np.zeros((len(live), self.size), dtype=np.bool_)
        for block, differences, pairs in zip(self.blocks, table, found, strict=True):
            size = block.stop - block.start
            place = np.arange(len(live))[:, None] * size**2 + np.arange(size) * size + pairs.nearest[pairs.last]
            _, xyz, equal = self._vectors(place.ravel(), size, live, base, differences, admitted)
            vectors[:, block] = np.stack(xyz, axis=1).reshape(-1, size, 3)
            torn[:, block].flat[equal] = True
        squared = np.einsum("cnj,cnj->cn", vectors, vectors)
        mean = vectors.mean(axis=1, keepdims=True)
        centred = vectors - mean
        off = np.einsum("cnj,cnj->cn", centred, centred)
        result.longest[live], result.drift[live] = np.sqrt(squared.max(axis=1)), np.linalg.norm(mean[:, 0], axis=1)
        result.rms[live], result.far[live] = np.sqrt(off.mean(axis=1)), np.sqrt(off.max(axis=1))
        lowest = np.concatenate([pairs.lowest[pairs.last] for pairs in found], axis=1)
        free = torn.copy()
        for block, pairs in zip(self.blocks, found, strict=True):
            free[:, block] |= ~pairs.settled[pairs.last][:, None]
        least_rms, least_far = _bounds(vectors, squared, lowest, free)
        undecided = (least_far < STOL + MARGIN) | np.isinf(admitted.ball[0])  # with the whole box, figures are wanted
        open_ = np.flatnonzero(undecided & free.any(axis=1))
        for block, pairs in zip(self.blocks, found, strict=True):
            asked = open_[~pairs.settled[pairs.last[open_]]]
            if len(asked):
                free[asked, block] = _free_rows(pairs, pairs.last[asked]) | torn[asked, block]
        least_rms[open_], least_far[open_] = _bounds(vectors[open_], squared[open_], lowest[open_], free[open_])
        result.least_rms[live], result.least_far[live] = least_rms, least_far
        result.sure[live] = ~free.any(axis=1)

    def _pairs(
        self, live: IntArray, base: int, block: slice, differences: FloatArray, admitted: Admitted
    ) -> tuple[Pairs, BoolArray]:
        """The admitted pairs of a species, and which candidates have some for every site of either crystal."""
        size = block.stop - block.start
        place = np.flatnonzero(self._near(live, block, block, admitted.box))
        squared, _, _ = self._vectors(place, size, live, base, differences, admitted)
        row = place // size
        candidate = row // size
        inside = np.flatnonzero(squared < np.minimum(admitted.ball, _FORBIDDEN)[live // self.seeds][candidate])
        row, candidate, column, squared = row[inside], candidate[inside], (place - row * size)[inside], squared[inside]
        hit = np.zeros((2, len(live) * size), dtype=np.bool_)
        hit[0, row] = hit[1, candidate * size + column] = True
        possible = np.asarray(hit.reshape(2, len(live), size).all(axis=(0, 2)))
        inside = np.flatnonzero(possible[candidate])
        number = np.cumsum(possible) - 1
        row = row[inside] - (candidate - number[candidate])[inside] * size
        candidate, column, squared = number[candidate[inside]], column[inside], squared[inside]
        count = int(np.count_nonzero(possible))
        starts = np.searchsorted(row, np.arange(count * size))
        lowest = np.minimum.reduceat(squared, starts) if count else np.empty(0)
        tied = squared <= lowest[row] + _TIE
        nearest = np.empty(count * size, dtype=np.intp)
        nearest[row[tied]] = column[tied]
        nearest = nearest.reshape(-1, size)
        settled = np.bincount(candidate[tied], minlength=count) == size
        settled &= (np.sort(nearest, axis=1) == np.arange(size)).all(axis=1)
        lowest = np.sqrt(lowest).reshape(-1, size)
        return Pairs(candidate, row, column, squared, nearest, lowest, settled, np.arange(count)), possible

    def _near(self, live: IntArray, rows: slice, block: slice, box: FloatArray) -> BoolArray:
        """Pairs that may be in the box, by coarse coordinates, shape (candidates, answer sites, target sites)."""
        maps, seed = live // self.seeds, live % self.seeds
        steps = np.minimum(np.floor(box * _TURN) + _SLACK, _TURN // 2 - 1).astype(np.uint16)
        near: BoolArray | None = None
        for axis in range(3):
            half = steps[maps, axis]
            ours = self.coarse_target[maps, block, axis] + (half - self.coarse_target[maps, seed, axis])[:, None]
            apart = ours[:, None, :] - self.coarse_answer[maps, rows, axis][:, :, None]
            inside = apart <= (2 * half + 1)[:, None, None]
            near = inside if near is None else np.logical_and(near, inside, out=near)
        assert near is not None
        return near

    def _vectors(
        self, place: IntArray, size: int, live: IntArray, base: int, differences: FloatArray, admitted: Admitted
    ) -> tuple[FloatArray, list[FloatArray], IntArray]:
        """Squared length (infinite outside of the box) and components of the shortest image of pairs, and the
        positions of those of which another image is as short.

        Args:
            place: position of every pair in an array of shape (candidates, n, n).
        """
        candidate = place // size**2
        own, seed = live // self.seeds, live % self.seeds
        place = place + ((own - base - np.arange(len(live))) * size**2)[candidate]
        origin, maps = self.target[own, seed], own[candidate]
        outside = np.zeros(len(place), dtype=np.bool_)
        wrapped = []
        for axis in range(3):
            apart = differences[axis].take(place) - origin[:, axis].take(candidate)
            apart -= np.rint(apart)
            if np.isinf(admitted.ball[0]):  # a ball lies in its box anyway
                outside |= np.abs(apart) > admitted.box[:, axis].take(maps)
            wrapped.append(apart)
        xyz = []
        for axis in range(3):
            component = wrapped[axis] * self.basis[:, axis, axis].take(maps)
            for row in range(axis + 1, 3):
                component += wrapped[row] * self.basis[:, row, axis].take(maps)
            xyz.append(component)
        squared = xyz[0] ** 2 + xyz[1] ** 2 + xyz[2] ** 2
        far = np.flatnonzero((squared >= admitted.safe.take(maps)) & ~outside)
        if len(far):
            vectors, shell = np.stack([component[far] for component in xyz], axis=1), self.shell[maps[far]]
            along = np.einsum("kj,ktj->kt", vectors, shell)
            change = self.shell_norms[maps[far]] - 2 * np.abs(along)  # of |v|² by the step that shortens it
            best, each = change.argmin(axis=1), np.arange(len(far))
            sign = np.where(change[each, best] < 0, np.sign(along[each, best]), 0)
            vectors -= sign[:, None] * shell[each, best]
            for component, shorter in zip(xyz, vectors.T, strict=True):
                component[far] = shorter
            squared[far] = np.einsum("kj,kj->k", vectors, vectors)
            other = self.shell_norms[maps[far]] - 2 * np.abs(np.einsum("kj,ktj->kt", vectors, shell))
            far = far[(other <= _TIE).any(axis=1)]
        squared[outside] = np.inf
        return squared, xyz, far


def _assign(pairs: Pairs) -> BoolArray:
    """Solve what the nearest partners do not settle; which of the candidates alive have a pairing at all."""
    size = pairs.nearest.shape[1]
    possible = np.ones(len(pairs.last), dtype=np.bool_)
    each = np.arange(size)
    for number in np.flatnonzero(~pairs.settled[pairs.last]):
        which = pairs.last[number]
        start, stop = np.searchsorted(pairs.candidate, [which, which + 1])
        cost = np.full((size, size), _FORBIDDEN)
        cost[pairs.row[start:stop] - which * size, pairs.column[start:stop]] = pairs.squared[start:stop]
        pairs.nearest[which] = columns = linear_sum_assignment(cost)[1]
        possible[number] = cost[each, columns].max() < _FORBIDDEN
    return possible


def _bounds(
    vectors: FloatArray, squared: FloatArray, lowest: FloatArray, free: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds from below on rms and largest |v - τ|, where the free rows may have other partners at the same cost."""
    size = vectors.shape[1]
    slack = np.sqrt(free.sum(axis=1) * np.where(free, squared, 0).sum(axis=1)) / size
    known = np.where(free[:, :, None], 0, vectors).sum(axis=1) / size
    drift = np.linalg.norm(known, axis=1)
    apart = np.where(free, lowest - drift[:, None], np.linalg.norm(vectors - known[:, None], axis=2))
    return np.sqrt(np.maximum(squared.mean(axis=1) - (drift + slack) ** 2, 0)), apart.max(axis=1) - slack


def _free_rows(pairs: Pairs, asked: IntArray) -> BoolArray:
    """Rows that may have another column in a pairing that costs as much, shape (asked, n)."""
    columns = pairs.nearest[asked]
    size = columns.shape[1]
    position = np.full(len(pairs.nearest), -1)
    position[asked] = np.arange(len(asked))
    kept = np.flatnonzero(position[pairs.candidate] >= 0)
    first = position[pairs.candidate[kept]] * size
    owner = np.empty(columns.size, dtype=np.intp)
    owner[(np.arange(len(asked))[:, None] * size + columns).ravel()] = np.arange(columns.size)
    tail = first + pairs.row[kept] - pairs.candidate[kept] * size
    head, squared = owner[first + pairs.column[kept]], pairs.squared[kept]
    paid = np.empty(columns.size)
    paid[tail[tail == head]] = squared[tail == head]
    other = np.flatnonzero(tail != head)
    tail, head, weight = tail[other], head[other], squared[other] - paid[tail[other]]
    price = np.zeros(columns.size)
    for _ in range(16):  # where that is not enough, more rows count as free
        lower = price.copy()
        np.minimum.at(lower, head, price[tail] + weight)
        if (lower > price - _TIE / 1e3).all():
            break
        price = lower
    tight = np.flatnonzero(weight + price[tail] - price[head] <= _TIE)
    tail, head = tail[tight], head[tight]
    while True:  # a row that no pair leads to, or none leads away from, is on no cycle
        out, into = np.zeros(columns.size, dtype=np.bool_), np.zeros(columns.size, dtype=np.bool_)
        out[tail], into[head] = True, True
        free = out & into
        left = free[tail] & free[head]
        if left.all():
            return free.reshape(-1, size)
        tail, head = tail[left], head[left]


def _chunks(count: int, pairs: int) -> Iterator[slice]:
    step = max(1, _PAIRS_AT_ONCE // pairs)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


@dataclass(frozen=True)
class Found:
    """What the search says: whether the answer fits (None: the matcher must say), its two figures if it has them,
    and the candidates, as (mapping, seed), on which a rejection still hangs."""

    fits: bool | None
    figures: tuple[float, float] | None = None
    open: tuple[tuple[int, int], ...] = ()


_HAND_OVER = Found(None)


def search(target: PreparedCrystal, answer: PreparedCrystal, mappings: Mappings) -> Found:
    """Decide as ``fit`` and ``get_rms_dist`` of the protocol do, or say what is left to them."""
    if not len(mappings):
        return Found(False)
    work = Search(target, answer, mappings)
    radius = np.minimum(work.separation / 2, 1.0) - MARGIN
    judged = work.judge(radius, ball=True, close=True)
    best = int(judged.rms.argmin())
    if sqrt(work.size) * judged.rms[best] < min(float(radius.min()) / 2, STOL) - MARGIN:
        alike = judged.far[judged.rms < judged.rms[best] + MARGIN]
        if np.ptp(alike) > _SAME_FIGURE:
            return _HAND_OVER
        return Found(True, (float(judged.rms[best]), float(judged.far[best])))
    radius = np.ones(work.maps)
    judged = work.judge(radius, ball=True)
    rivalled = work.rivalled(judged)
    if len(rivalled):
        judged.replaced(rivalled, work.judge(radius, ball=False, only=rivalled))
    left = np.flatnonzero(judged.least_far < STOL + MARGIN)
    if not len(left):
        return Found(False)
    accepted = left[judged.sure[left] & (judged.far[left] < STOL - MARGIN)]
    if not len(accepted):
        return Found(None, open=tuple((int(each) // work.seeds, int(each) % work.seeds) for each in left))
    least = float(judged.rms[accepted].min()) + MARGIN
    if least < STOL / sqrt(work.size) - MARGIN:
        rivals = np.flatnonzero(np.where(judged.sure, judged.rms, judged.least_rms) < least)
        found = _least_rms(work.judge(radius, ball=False, only=rivals))
        if found.figures and found.figures[0] < least:
            return found
    return _least_rms(work.judge(radius, ball=False))


def _least_rms(judged: Judged) -> Found:
    """The figures of the least rms, if no tie has a say in them."""
    accepted = judged.sure & (judged.far < STOL - MARGIN) & (judged.longest < 1 - MARGIN)
    sure = judged.sure & (accepted | ((judged.far >= STOL + MARGIN) & np.isfinite(judged.far)))
    if not accepted.any():
        return _HAND_OVER
    best = int(np.where(sure, judged.rms, np.inf).argmin())
    rivals = np.flatnonzero(np.where(sure, judged.rms, judged.least_rms) < judged.rms[best] + MARGIN)
    alike = judged.far[rivals]
    if not sure[rivals].all() or np.ptp(alike) > _SAME_FIGURE or abs(judged.rms[best] - STOL) < MARGIN:
        return _HAND_OVER
    if judged.rms[best] >= STOL:
        return Found(True)
    return Found(True, (float(judged.rms[best]), float(judged.far[best])))
