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

2. All candidates. Let every |v - τ| of an accepted candidate be below r: r = 0.5, or √N ρ where a close candidate
with the rms ρ is accepted and only better ones are wanted. Pairs with |v| < 2r are admitted at first. Where the
matcher leaves the seed on its own site, its vector is 0, so |τ| < r, hence all |v| < 2r, and its pairing stays the
cheapest among fewer. If it puts the seed on a rival at a distance d, all sites are within 2r of partners after a shift
by d: the candidate with the seed on the rival has a complete pairing too. Moreover |τ| > d - r, so the cheapest pairing
costs Σ|v|² > N (d - r)². Candidates that both allow are judged in the whole box. Sites without a partner end most
candidates. Where the nearest partners are all different, they are the cheapest pairing; else the assignment is solved.

3. Ties. Rounding decides between pairings of equal cost, so a rejection must hold for all of them. Prices of the
sites, found by shortest paths, turn Σ|v|² into reduced costs ≥ 0, of which a pairing as cheap uses only zeros; it
differs from the one found by cycles of such pairs. Rows on no cycle are fixed, unless two images of the partner are
as near. The n free rows have in any cheapest pairing the same Σ|v|² =: F, so their share of the mean is at most
√(n F)/N (Cauchy-Schwarz), and no |v| is less than that of their nearest partner. That bounds max|v - τ| and the rms
from below for all pairings at once. Where it does not reject, the pairings are looked through: their means lie on a
grid (see :mod:`rewards.matcher.ties`).

4. The least rms. What is not accepted has some |v - τ| ≥ 0.5, so an rms ≥ 0.5/√N. An accepted one below that is
compared with accepted ones only, and judged once more in the whole box; otherwise all candidates are. The 1 to 2 % of
answers whose least rms has a max above 0.5 come out as the matcher has them.

What is left. Candidates that :data:`MARGIN` or a tie leaves open are put to the matcher itself, one by one, when all
others are rejected; where the figures of an accepted answer depend on such a one, the whole answer is handed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from rewards.arrangement import FloatArray
from rewards.matcher.candidates import (
    DRIFT,
    FAR,
    LEAST_FAR,
    LEAST_RMS,
    LONGEST,
    MARGIN,
    RMS,
    STOL,
    SURE,
    judge,
)
from rewards.matcher.compiled import compiled
from rewards.matcher.mappings import Mappings
from rewards.matcher.pairing import BoolArray, IndexArray
from rewards.matcher.pairs import Candidates
from rewards.matcher.prepared import IntArray, PreparedCrystal

_SAME_FIGURE = 5e-4  # max_dist of candidates with the same rms; which of them the matcher takes is chance
_COLUMNS = {"drift": DRIFT, "rms": RMS, "far": FAR, "longest": LONGEST, "least_rms": LEAST_RMS, "least_far": LEAST_FAR}
_HALF_SHELL = np.array([t for t in product((-1, 0, 1), repeat=3) if t > (0, 0, 0)], dtype=float)


@dataclass(frozen=True, eq=False)
class Judged:
    """The cheapest pairing of every candidate, each of shape (mappings × seeds,); infinite where there is none.

    Attributes:
        sure: there is only one.
        drift, rms, far, longest: |τ|, rms and largest |v - τ|, largest |v|.
        least_rms, least_far: bounds from below over all pairings of that cost.
    """

    table: FloatArray

    @property
    def sure(self) -> BoolArray:
        return np.asarray(self.table[:, SURE] > 0)

    def __getattr__(self, name: str) -> FloatArray:
        column = _COLUMNS.get(name)
        if column is None:
            raise AttributeError(name)
        return self.table[:, column]


class Search:
    """All candidates for one answer and one target, sites ordered by species."""

    def __init__(self, target: PreparedCrystal, answer: PreparedCrystal, mappings: Mappings) -> None:
        ours = [target.sites_of[species] for species in answer.sites_of]
        ends = np.cumsum([len(sites) for sites in ours], dtype=np.int64)
        self.size, self.seeds, self.maps = len(target), len(ours[0]), len(mappings)
        basis = mappings.basis * self.size ** (1 / 3)
        self.reach = np.linalg.norm(np.linalg.inv(basis), axis=1)  # fractional width of a slab 1 thick
        shell = _HALF_SHELL @ basis
        norms = np.einsum("mtj,mtj->mt", shell, shell)
        # |v - t| < |v| takes v·t > |t|²/2, and v·t is largest in a corner of the cell of wrapped differences.
        helpful = np.abs(basis @ np.moveaxis(shell, 1, 2)).sum(axis=1) > norms * (1 + 1e-12)
        order = np.argsort(~helpful, axis=1, kind="stable")
        frac = target.reduced_frac[np.concatenate(ours)] @ mappings.of_target
        other = answer.reduced_frac[np.concatenate(list(answer.sites_of.values()))] @ mappings.of_answer
        self.target = np.ascontiguousarray(np.moveaxis(frac - np.floor(frac), 1, 2))
        self.shared = (
            self.target,
            other - other[:, :1],
            np.ascontiguousarray(basis),
            np.take_along_axis(shell, order[:, :, None], axis=1),
            np.take_along_axis(norms, order, axis=1),
            helpful.sum(axis=1),
            ends,
        )
        self.separation = target.separation * mappings.shrink * self.size ** (1 / 3)

    def within(self, reach: float) -> Judged:
        """All candidates in which every |v - τ| may be below `reach`, at most 0.5 (see 2)."""
        judged = self.judge(np.full(self.maps, 2 * reach), ball=True)
        spread = np.sqrt(judged.rms**2 + judged.drift**2)
        least = np.repeat(self.separation - reach - MARGIN, self.seeds)
        width = self.reach + MARGIN
        rivalled = _with_a_rival(self.target, spread, spread >= least, width, self.seeds)
        if len(rivalled):
            whole = self.judge(np.ones(self.maps), ball=False, only=rivalled)
            judged.table[rivalled] = whole.table[rivalled]
        return judged

    def judge(self, radius: FloatArray, *, ball: bool, close: bool = False, only: IntArray | None = None) -> Judged:
        """Find the cheapest pairing of every candidate.

        Args:
            radius: half thickness of the box between its faces, by mapping.
            ball: admit only pairs shorter than that.
            close: a candidate whose nearest partners are not all different is dropped.
            only: the candidates to look at.
        """
        count = self.maps * self.seeds
        table = np.full((count, LEAST_FAR + 1), np.inf)
        box = radius[:, None] * self.reach + 1e-9
        within = radius**2 if ball else np.full(self.maps, np.inf)
        # Another image of a wrapped vector within the box is beyond the far side of it, or of the cell.
        safe = ((1 - np.minimum(box, 0.5)) / self.reach).min(axis=1) ** 2 * (1 - MARGIN)
        candidates = Candidates(*self.shared, box, within, np.where(safe < within, safe, np.inf))
        judge(candidates, close, np.arange(count) if only is None else only, table)
        return Judged(table)


@compiled
def _with_a_rival(
    target: FloatArray, spread: FloatArray, open_: BoolArray, width: FloatArray, seeds: int
) -> IndexArray:
    """Open candidates of which another one has a pairing, with the seed on a site in the box around its own."""
    found = []
    for candidate in range(len(spread)):
        if not open_[candidate]:
            continue
        mapping, seed = candidate // seeds, candidate % seeds
        for rival in range(seeds):
            if rival == seed or not np.isfinite(spread[mapping * seeds + rival]):
                continue
            apart = target[mapping, :, seed] - target[mapping, :, rival]
            if (np.abs(apart - np.rint(apart)) <= width[mapping]).all():
                found.append(candidate)
                break
    return np.array(found, dtype=np.int64)


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
    least = float(judged.rms[judged.sure & (judged.far < STOL - MARGIN)].min(initial=np.inf)) + MARGIN
    judged = work.within(min(sqrt(work.size) * least, STOL))
    if sqrt(work.size) * least >= STOL:
        left = np.flatnonzero(judged.least_far < STOL + MARGIN)
        accepted = left[judged.sure[left] & (judged.far[left] < STOL - MARGIN)]
        if not len(accepted):
            whole = work.judge(np.ones(work.maps), ball=False, only=left)
            left = np.flatnonzero(whole.least_far < STOL + MARGIN)
            if not len(left):
                return Found(False)
            return Found(None, open=tuple((int(each) // work.seeds, int(each) % work.seeds) for each in left))
        least = float(judged.rms[accepted].min()) + MARGIN
    if least < STOL / sqrt(work.size) - MARGIN:
        rivals = np.flatnonzero(np.where(judged.sure, judged.rms, judged.least_rms) < least)
        found = _least_rms(work.judge(np.ones(work.maps), ball=False, only=rivals))
        if found.figures and found.figures[0] < least:
            return found
    return _least_rms(work.judge(np.ones(work.maps), ball=False))


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
