"""The paper profile: the scoring protocol of the published benchmark.

Equal composition (names and amounts of the species), then ``StructureMatcher(primitive_cell=False, stol=0.5)`` with
all else default. ``fit`` decides, ``get_rms_dist`` gives rmsd and max_dist, both in units of (V/N)^(1/3). It rescales
volumes, removes a rigid shift and accepts mirror images: for comparison with published numbers, not for training.

Two engines give the same verdicts. ``reference`` calls the matcher, bit for bit. ``fast`` searches as it does, in
compiled code (:mod:`rewards.matcher.search`), hands over to it what rounding decides, and gives max_dist within 1e-3.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING

import numpy as np

from rewards.limits import BoundExceededError
from rewards.matcher.mappings import find_mappings
from rewards.matcher.open_candidates import any_fits
from rewards.matcher.prepared import NotPlainError, in_frame, prepare_crystal, prepare_once
from rewards.minimum_image import shortest_basis
from rewards.silence import silent
from rewards.stages import Stage

if TYPE_CHECKING:
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure
    from pymatgen.core.structure_matcher import StructureMatcher

STOL = 0.5

MAX_LENGTH = 10_000.0  # Å; the reduction's tolerance grows with the cell until it admits every vector

# Lattice points that the matcher looks at, and pairs of them: arrays of this many numbers.
MAX_LATTICE_POINTS = 50_000
MAX_VECTOR_PAIRS = 20_000_000

# Estimated seconds of search above which none is begun. A right answer of 512 sites takes some 20 s.
MAX_SEARCH_SECONDS = 600.0

# Cost of one candidate (a lattice mapping with one translation): a fixed part, and one per pair of sites for
# its 27 images. Measured on right answers: 0.05 ms at 10 sites, 0.35 ms at 144, 0.9 to 1.3 ms at 232.
_SECONDS_PER_CANDIDATE = 5e-5
_SECONDS_PER_PAIR = 2.5e-8
_USUAL_MAPPINGS = 48  # of a cubic lattice onto itself; up to 72 are seen


@dataclass(frozen=True)
class PaperComparison:
    """How the published protocol judges an answer.

    Attributes:
        stage: ``composition_mismatch``, ``structure_mismatch``, ``correct``, or ``timeout`` above a bound.
        rmsd, max_dist: dimensionless, in units of (V/N)^(1/3); only of a correct answer. The search for the
            smallest rms may end at a mapping whose maximum is above 0.5.
        message: one sentence saying why.
    """

    stage: Stage
    rmsd: float | None
    max_dist: float | None
    message: str


def compare_paper(answer: Structure, target: Structure, *, engine: str = "fast") -> PaperComparison:
    """Compare a parsed answer with the target as the published code does; never raises, prints nothing.

    Where ``fit`` accepts, the answer is correct even if ``get_rms_dist`` finds no mapping; the two figures are
    then None. An error inside the matcher is a ``structure_mismatch``; to run out of memory there is the
    verifier's end and not the answer's, hence ``timeout``.

    Args:
        engine: ``fast`` or ``reference``. The fast one keeps what it works out for a target while that lives.
    """
    try:
        with silent():
            return _compare(answer, target, fast=engine != "reference")
    except MemoryError:
        return PaperComparison(Stage.TIMEOUT, None, None, "the structure matcher ran out of memory")
    except BoundExceededError as error:
        return PaperComparison(Stage.TIMEOUT, None, None, str(error))
    except Exception as error:
        message = f"the structure matcher failed: {type(error).__name__}"
        return PaperComparison(Stage.STRUCTURE_MISMATCH, None, None, message)


def _compare(answer: Structure, target: Structure, *, fast: bool) -> PaperComparison:
    from pymatgen.core.structure_matcher import StructureMatcher

    # As the published code has it. `==` of two compositions has a tolerance, and is not symmetric: H equals H0+ there.
    if target.composition.as_dict() != answer.composition.as_dict():
        message = f"the composition is {answer.formula} instead of {target.formula}"
        return PaperComparison(Stage.COMPOSITION_MISMATCH, None, None, message)
    matcher = StructureMatcher(primitive_cell=False, stol=STOL)
    if fast and (found := _search(answer, target, matcher)) is not None:
        return found
    _check_search(answer, target, matcher)
    if not matcher.fit(target, answer):
        return _REJECTED
    return _accepted(_figures(matcher, target, answer))


def _figures(matcher: StructureMatcher, target: Structure, answer: Structure) -> tuple[float, float] | None:
    distances = matcher.get_rms_dist(target, answer)  # type: ignore[no-untyped-call]
    return None if distances is None else (float(distances[0]), float(distances[1]))


_REJECTED = PaperComparison(Stage.STRUCTURE_MISMATCH, None, None, f"no mapping has all sites within {STOL} (V/N)^(1/3)")


def _accepted(figures: tuple[float, float] | None) -> PaperComparison:
    if figures is None:
        return PaperComparison(Stage.CORRECT, None, None, "the structures match; no least-rms mapping was found")
    rmsd, max_dist = figures
    return PaperComparison(Stage.CORRECT, rmsd, max_dist, f"the structures match, rms {rmsd:.4g} (V/N)^(1/3)")


def _search(answer: Structure, target: Structure, matcher: StructureMatcher) -> PaperComparison | None:
    """The verdict of the fast engine; None where it is left to the matcher.

    Raises:
        BoundExceededError: as :func:`_check_search`. The estimate of time is that of the reference, so both engines
            refuse the same searches; what needs none is not refused.
    """
    from rewards.matcher.search import search  # with numba, which the strict profile does not need

    _check_lattices(answer, target, matcher)
    try:
        truth, given = prepare_once(target), prepare_crystal(answer)
    except NotPlainError:
        return None
    if truth.sites_of.keys() != given.sites_of.keys():  # equal names, other keys: not known to happen
        return None
    truth.niggli  # noqa: B018 (raises where the matcher does)
    if (figures := in_frame(truth, given)) is not None:
        return _accepted(figures)
    same_cell = np.array_equal(target.lattice.matrix, answer.lattice.matrix)
    if same_cell:
        given = given.sharing(truth.niggli)
    try:
        mappings = truth.onto_itself if same_cell else find_mappings(truth.niggli, given.niggli)
        _check_seconds(len(mappings), min(len(sites) for sites in truth.sites_of.values()), len(target))
        found = search(truth, given, mappings)
    except (BoundExceededError, MemoryError):
        raise
    except Exception:  # an average of two lattices that is none, or an error here: the matcher says what it makes of it
        return None
    if found.fits is not None:
        return _accepted(found.figures) if found.fits else _REJECTED
    fits = any_fits(matcher, target, answer, len(mappings), found.open) if found.open else None
    if fits is None:
        return None
    return _accepted(_figures(matcher, target, answer)) if fits else _REJECTED


def _check_search(answer: Structure, target: Structure, matcher: StructureMatcher) -> None:
    """Count what the search would look at before it begins.

    Raises:
        BoundExceededError: naming the bound.
    """
    scale = _check_lattices(answer, target, matcher)
    sites = len(target)
    rarest = min(Counter(site.species_string for site in target).values())
    # Counting the mappings takes about a millisecond, which a small structure need not pay.
    if _search_seconds(_USUAL_MAPPINGS * rarest, sites) <= MAX_SEARCH_SECONDS / 20:
        return
    _check_seconds(_count_mappings(target.lattice, answer.lattice, scale, matcher), rarest, sites)


def _check_lattices(answer: Structure, target: Structure, matcher: StructureMatcher) -> float:
    """Bound the reduction of the answer's cell and the search for mappings of the target's lattice on it.

    Returns:
        The factor on lengths that gives the answer's cell the volume of the target's.

    Raises:
        BoundExceededError: naming the bound.
    """
    mine, theirs = answer.lattice, target.lattice
    longest = max(*mine.lengths, *theirs.lengths)
    if not longest <= MAX_LENGTH:  # also where it is not a number
        raise BoundExceededError(f"a cell length of {longest:g} Å is more than the {MAX_LENGTH:g} Å that are searched")
    scale = float((theirs.volume / mine.volume) ** (1 / 3))

    def check(lengths: list[float]) -> None:
        # The reduction to the Niggli cell looks for a mapping of the lattice onto itself within this tolerance.
        _check_lattice_points(lengths, mine.volume, reach=1 + 1e-5 * mine.volume ** (1 / 3))
        # The matcher scales both cells to the same volume; only the ratio of the two matters here.
        _check_lattice_points([length * scale for length in lengths], theirs.volume, reach=1 + matcher.ltol)

    try:
        check(list(mine.lengths))  # within the bounds as it is, so in its shortest basis too
    except BoundExceededError:
        check([float(length) for length in np.linalg.norm(shortest_basis(mine.matrix)[0], axis=1)])
    return scale


def _check_seconds(mappings: int, rarest: int, sites: int) -> None:
    seconds = _search_seconds(mappings * rarest, sites)
    if seconds > MAX_SEARCH_SECONDS:
        raise BoundExceededError(
            f"{mappings * rarest:,} candidate mappings of {sites} sites are an estimated {seconds:,.0f} s of "
            f"search, more than the {MAX_SEARCH_SECONDS:,.0f} s that are begun"
        )


def _check_lattice_points(lengths: list[float], volume: float, *, reach: float) -> None:
    """Bound the lattice vectors among which images of the answer's cell edges are looked for.

    Args:
        lengths: of the edges in Å.
        volume: of the cell whose lattice vectors are searched, in Å³.
        reach: vectors up to this times, and down to one over this times, the length of an edge are
            candidates.
    """
    sphere = 4 * pi / 3 * (max(lengths) * reach) ** 3 / volume
    if sphere > MAX_LATTICE_POINTS:
        raise BoundExceededError(f"{sphere:,.0f} lattice vectors are more than the {MAX_LATTICE_POINTS:,} searched")
    shells = sorted(4 * pi / 3 * length**3 * (reach**3 - reach**-3) / volume + 8 for length in lengths)
    if shells[-1] * shells[-2] > MAX_VECTOR_PAIRS:
        raise BoundExceededError(
            f"{shells[-1] * shells[-2]:,.0f} pairs of lattice vectors are more than the {MAX_VECTOR_PAIRS:,} searched"
        )


def _count_mappings(theirs: Lattice, mine: Lattice, scale: float, matcher: StructureMatcher) -> int:
    from pymatgen.core.lattice import Lattice

    scaled = Lattice(mine.get_niggli_reduced_lattice().matrix * scale)
    mappings = theirs.get_niggli_reduced_lattice().find_all_mappings(
        scaled, ltol=matcher.ltol, atol=matcher.angle_tol, skip_rotation_matrix=True
    )
    return sum(1 for _ in mappings)


def _search_seconds(candidates: int, sites: int) -> float:
    """Estimated time of a search that follows every candidate to the end."""
    return candidates * (_SECONDS_PER_CANDIDATE + _SECONDS_PER_PAIR * sites**2)
