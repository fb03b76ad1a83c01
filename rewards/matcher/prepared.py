"""What the fast paper profile prepares once per crystal, and what it settles before any search.

Niggli cells, the sites of every species and the mappings of one lattice on another are what `StructureMatcher`
works out for every call; here a target keeps them. The one verdict given without a search is that of
:func:`in_frame`, whose argument stands there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import FloatArray
from rewards.matcher.mappings import Mappings, find_mappings

if TYPE_CHECKING:
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

IntArray = NDArray[np.intp]

IN_FRAME_BOUND = 1e-3  # the accuracy to which the two figures are promised

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
