"""What the fast paper profile prepares once per crystal, and what it settles before any search.

Niggli cells, the sites of every species and the mappings of one lattice on another are what `StructureMatcher`
works out for every call; here a target keeps them. The one verdict given without a search is that of
:func:`in_frame`, whose argument stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import FloatArray

if TYPE_CHECKING:
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure
    from pymatgen.core.structure_matcher import StructureMatcher

IntArray = NDArray[np.intp]

IN_FRAME_BOUND = 1e-3  # the accuracy to which the two figures are promised
LENGTH_TOLERANCE, ANGLE_TOLERANCE = 0.2, 5.0  # ltol and angle_tol of the protocol

_MOST_PREPARED = 64
_FARTHEST = 1000.0  # fractional: with many digits before the point, few are left behind it


class NotPlainError(Exception):
    """A site that is not filled by exactly one atom, or far outside of the cell: left to StructureMatcher."""


@dataclass(frozen=True, eq=False)
class PreparedCrystal:
    """A crystal with what the search needs of it, worked out when it is first asked for.

    Attributes:
        lattice: as it was read.
        frac: fractional coordinates in it, shape (n_sites, 3).
        species: of every site.
        sites_of: indices of the sites of every species, rarest first, equally rare ones in order of appearance.
    """

    lattice: Lattice
    frac: FloatArray
    species: list[Any]
    sites_of: dict[Any, IntArray]

    def __len__(self) -> int:
        return len(self.species)

    @cached_property
    def niggli(self) -> Lattice:
        """The reduced lattice; the lattice itself where the two are equal by pymatgen's tolerance."""
        reduced = self.lattice.get_niggli_reduced_lattice()
        return self.lattice if reduced == self.lattice else reduced

    def sharing(self, niggli: Lattice) -> PreparedCrystal:
        """The same with the reduced lattice of a crystal in the very same cell."""
        self.__dict__["niggli"] = niggli
        return self

    @cached_property
    def reduced_frac(self) -> FloatArray:
        """In the reduced cell, shape (n_sites, 3)."""
        if self.niggli == self.lattice:
            return self.frac
        return np.asarray(self.niggli.get_fractional_coords(self.lattice.get_cartesian_coords(self.frac)))

    @cached_property
    def onto_itself(self) -> Mappings:
        """The mappings for answers in the very cell of the target, which most answers are."""
        return find_mappings(self.niggli, self.niggli)

    @cached_property
    def separation(self) -> float:
        """Least distance in Å between two sites of one species, images of one site included."""
        basis = self.niggli.matrix
        steps = np.array([step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]) @ basis
        norms = np.einsum("ij,ij->i", steps, steps)
        least = float(norms.min())
        for sites in self.sites_of.values():
            first, second = np.triu_indices(len(sites), 1)
            apart = self.reduced_frac[sites[first]] - self.reduced_frac[sites[second]]
            vectors = (apart - np.rint(apart)) @ basis
            change = np.minimum((norms - 2 * np.abs(vectors @ steps.T)).min(axis=1), 0)
            least = min(least, float((np.einsum("ij,ij->i", vectors, vectors) + change).min(initial=least)))
        return sqrt(max(least, 0.0))


def prepare_crystal(structure: Structure) -> PreparedCrystal:
    """Group the sites by species.

    Raises:
        NotPlainError: if a site is not filled by exactly one atom, or is many cells away.
    """
    species = []
    sites_of: dict[Any, list[int]] = {}
    for index, site in enumerate(structure):
        filled = site.species
        if len(filled) != 1 or filled.num_atoms != 1:
            raise NotPlainError
        species.append(next(iter(filled)))
        sites_of.setdefault(species[-1], []).append(index)
    frac = np.asarray(structure.frac_coords, dtype=np.float64)
    if not np.abs(frac).max(initial=0.0) < _FARTHEST:  # also where it is not a number
        raise NotPlainError
    by_count = sorted(sites_of.items(), key=lambda item: len(item[1]))
    return PreparedCrystal(
        structure.lattice,
        frac,
        species,
        {symbol: np.array(sites) for symbol, sites in by_count},
    )


_prepared: dict[int, tuple[ref[Structure], PreparedCrystal]] = {}


def prepare_once(target: Structure) -> PreparedCrystal:
    """The same for a target, kept while the target lives. It must not be changed in the meantime.

    Raises:
        NotPlainError: as :func:`prepare_crystal`.
    """
    key = id(target)
    kept = _prepared.get(key)
    if kept is not None and kept[0]() is target:
        return kept[1]
    prepared = prepare_crystal(target)  # holds no reference to the target, which may die
    while len(_prepared) >= _MOST_PREPARED:
        del _prepared[next(iter(_prepared))]
    _prepared[key] = ref(target, lambda _: _prepared.pop(key, None)), prepared
    return prepared


def in_frame(target: PreparedCrystal, answer: PreparedCrystal) -> tuple[float, float] | None:
    """The two figures of an answer so close to the target, in its very cell, that no search is needed.

    Let u be the displacements of some pairing of the sites in the given cell, in units of (V/N)^(1/3), and m the
    largest |u|. One candidate of the matcher lays the cell on itself and the seed of the answer on its partner;
    there the same pairing has displacements of at most 2m. The pairing that the matcher takes there costs no more,
    so its rms is at most 2m, and the least rms of all candidates, r, is no more than that either. A largest
    displacement is at most √N times the rms. If 2m√N ≤ 1e-3, the candidate fits, and both figures of the matcher
    lie in [0, 1e-3], as do those of the pairing itself with its mean taken out, which are given here.
    """
    matrix = target.lattice.matrix
    if not np.array_equal(matrix, answer.lattice.matrix):
        return None
    size = len(target)
    unit = (target.lattice.volume / size) ** (1 / 3)
    vectors = np.empty((size, 3))
    for species, sites in target.sites_of.items():
        theirs, mine = target.frac[sites], answer.frac[answer.sites_of[species]]
        apart = mine - theirs
        apart -= np.rint(apart)
        if np.abs(apart).max() > IN_FRAME_BOUND:  # in another order, or elsewhere
            every = mine[:, None] - theirs[None]
            every -= np.rint(every)
            nearest = np.abs(every).max(axis=2).argmin(axis=1)
            if len(np.unique(nearest)) < len(sites):
                return None
            apart = every[np.arange(len(sites)), nearest]
        vectors[sites] = apart @ matrix / unit
    if 2 * sqrt(size) * np.linalg.norm(vectors, axis=1).max() > IN_FRAME_BOUND:
        return None
    distances = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    return float(sqrt((distances**2).mean())), float(distances.max())


@dataclass(frozen=True, eq=False)
class Mappings:
    """Every way in which the matcher lays the target's lattice on the answer's, and the average lattice of each.

    Attributes:
        of_target, of_answer: fractional rows in the Niggli cell of each times this are rows in a reduced basis of
            the average lattice, shape (m, 3, 3).
        basis: the reduced basis as rows in units of V^(1/3), lower triangular, shape (m, 3, 3).
        shrink: the shortest that a vector of 1 Å in the target becomes, in the same unit, shape (m,).
    """

    of_target: FloatArray
    of_answer: FloatArray
    basis: FloatArray
    shrink: FloatArray

    def __len__(self) -> int:
        return len(self.basis)


def find_mappings(target: Lattice, answer: Lattice) -> Mappings:
    """The mappings of ``StructureMatcher._get_supercells``, by its own formulas and in its order."""
    from pymatgen.core.lattice import Lattice

    ratio = (answer.volume / target.volume) ** (1 / 6)
    mine, theirs = Lattice(target.matrix * ratio), Lattice(answer.matrix / ratio)
    scale = _scale_matrices(mine, theirs)
    aligned = scale @ mine.matrix
    average = _average(aligned, theirs.matrix)
    # One reduction for lattices that are equal but for rounding. Where rounding decides between two bases, a pair
    # may be in the reach of one and not of the other: such pairs are longer than 1, see matcher_search.
    operation = np.empty_like(average)
    known: dict[bytes, FloatArray] = {}
    for index, matrix in enumerate(average):
        key = np.round(matrix @ matrix.T, 8).tobytes()
        if key not in known:
            known[key] = np.rint(Lattice(matrix).lll_mapping)
        operation[index] = known[key]
    basis = operation @ average
    inverse = np.rint(np.linalg.inv(operation))
    length = np.cbrt(np.abs(np.linalg.det(basis)))
    deformation = np.linalg.inv(aligned) @ average
    return Mappings(
        of_target=np.rint(np.linalg.inv(scale)) @ inverse,
        of_answer=inverse,
        basis=np.linalg.cholesky(basis @ np.moveaxis(basis, 1, 2)) / length[:, None, None],
        shrink=np.linalg.svd(deformation, compute_uv=False)[:, -1] * ratio / length,
    )


def _scale_matrices(mine: Lattice, theirs: Lattice) -> FloatArray:
    """As ``Lattice.find_all_mappings`` yields them, those of one cell only, shape (m, 3, 3)."""
    reach = 1 + LENGTH_TOLERANCE
    points: Any = mine.get_points_in_sphere(
        np.zeros((1, 3)), np.zeros(3), max(theirs.lengths) * reach, zip_results=False
    )
    frac, dist = points[:2]
    cart = mine.get_cartesian_coords(frac)
    shells = [np.flatnonzero((dist / length < reach) & (dist / length > 1 / reach)) for length in theirs.lengths]
    norms = np.sum(cart**2, axis=-1) ** 0.5

    def close(first: int, second: int, angle: float) -> NDArray[np.bool_]:
        one, other = shells[first], shells[second]
        cosine = np.inner(cart[one], cart[other]) / norms[one][:, None] / norms[other]
        return np.asarray(np.abs(np.rad2deg(np.arccos(np.clip(cosine, -1, 1))) - angle) <= ANGLE_TOLERANCE)

    alpha, beta, gamma = close(1, 2, theirs.alpha), close(0, 2, theirs.beta), close(0, 1, theirs.gamma)
    rows = []
    for a, vector in enumerate(shells[0]):
        b, c = np.nonzero(gamma[a][:, None] & alpha & beta[a][None, :])
        rows.append(np.stack([np.full(len(b), vector), shells[1][b], shells[2][c]], axis=1))
    found = np.rint(frac)[np.concatenate(rows)] if rows else np.empty((0, 3, 3))
    return np.asarray(found[np.rint(np.abs(np.linalg.det(found))) == 1])


def _average(aligned: FloatArray, other: FloatArray) -> FloatArray:
    """Lattices with the mean lengths and mean angles, shape (m, 3, 3)."""
    both = np.concatenate([aligned, other[None]])
    lengths = np.linalg.norm(both, axis=2)
    units = both / lengths[:, :, None]
    cosines = np.einsum("mij,mij->mi", np.roll(units, -1, axis=1), np.roll(units, -2, axis=1))
    angles = np.arccos(np.clip(cosines, -1, 1))
    mean = (lengths[:-1] + lengths[-1]) / 2
    cos = np.cos((angles[:-1] + angles[-1]) / 2)
    metric = mean[:, :, None] * mean[:, None, :]
    for first, second, angle in ((1, 2, 0), (0, 2, 1), (0, 1, 2)):
        metric[:, first, second] *= cos[:, angle]
        metric[:, second, first] *= cos[:, angle]
    return np.asarray(np.linalg.cholesky(metric))


def any_fits(
    matcher: StructureMatcher,
    target: Structure,
    answer: Structure,
    mappings: int,
    candidates: Sequence[tuple[int, int]],
) -> bool | None:
    """What StructureMatcher makes of single candidates: whether ``fit`` would accept one of them.

    Args:
        mappings: how many there are.
        candidates: number of the mapping and of the target site among those of the rarest species.

    Returns:
        None if it sees other mappings than those that they are numbered by.
    """
    ask: Any = matcher  # its methods are not typed
    # By its own way from the structures that were read: the last bit of a coordinate may decide.
    one, two, *_ = ask._preprocess(*ask._process_species([target, answer]))
    mask, sites, seed = ask._get_mask(one, two, 1, True)
    wanted: dict[int, list[int]] = {}
    for mapping, site in candidates:
        wanted.setdefault(mapping, []).append(site)
    last = -1
    for last, (theirs, mine, lattice, _) in enumerate(ask._get_supercells(one, two, 1, True)):
        if last not in wanted:
            continue
        unit = (len(theirs) / lattice.volume) ** (1 / 3)
        reach = ask.stol / (np.pi * unit)
        boxes = [np.array(each.reciprocal_lattice.abc) * reach for each in (lattice, lattice.get_lll_reduced_lattice())]
        for site in wanted[last]:
            moved = mine + (theirs[sites[site]] - mine[seed])
            if not ask._cmp_fstruct(theirs, moved, boxes[0], mask):
                continue
            if max(ask._cart_dists(theirs, moved, lattice, mask, unit, boxes[1])[0]) < ask.stol:
                return True
    return False if last + 1 == mappings else None
