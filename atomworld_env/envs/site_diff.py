"""What differs between two crystals, site by site: what was added, removed, moved, changed or swapped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from atomworld_env.structures.crystal import Crystal, FloatArray
from atomworld_env.structures.images import shifts_within
from rewards.arrangement import Arrangement
from rewards.minimum_image import image_distances, reduced_lattice
from rewards.strict import DEFAULT_TOLERANCE, cells_match

PAIRED_SITES = 1000
"""Above this many sites a crystal is counted, not paired: pairing grows with the third power."""

_UNUSABLE = 1e6
"""Å. Stands for a pair that must not be made; larger than any distance within a cell."""

Position = tuple[float, float, float]


class ChangeKind(StrEnum):
    """What happened to a site between the first crystal and the second."""

    UNCHANGED = "unchanged"
    MOVED = "moved"
    CHANGED = "changed"
    """The place is the same, the element is another."""
    SWAPPED = "swapped"
    """Two such sites that exchanged their elements; each names the other as its partner."""
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True)
class SiteChange:
    """One site of the first crystal, of the second, or of both.

    Attributes:
        kind: what happened to it.
        first, second: its index in each crystal; None where it does not exist.
        species, new_species: its element in each crystal; "" where it does not exist.
        position, new_position: fractional coordinates in each crystal; None where it does not exist.
        vector: Cartesian displacement in Å to the nearest image of the new place; zero where it did not move.
        distance: length of `vector` in Å.
        partner: for a swap, the index in the first crystal of the other site.
    """

    kind: ChangeKind
    first: int | None
    second: int | None
    species: str
    new_species: str
    position: Position | None
    new_position: Position | None
    vector: Position = (0.0, 0.0, 0.0)
    distance: float = 0.0
    partner: int | None = None


@dataclass(frozen=True)
class SiteDiff:
    """How the second crystal differs from the first.

    Attributes:
        sites: every site once: those of the first crystal in order, then the added ones in the order of the
            second. Empty if the sites were not paired.
        paired: whether the sites were paired; if not, only the counts are known.
        same_cell: whether the cells agree within the tolerances of the strict profile.
        factors: how often the first cell fits into the second along a, b, c, if it is a supercell of it.
        counts, new_counts: number of sites of each element in each crystal.
    """

    sites: tuple[SiteChange, ...]
    paired: bool
    same_cell: bool
    factors: tuple[int, int, int] | None
    counts: Counter[str]
    new_counts: Counter[str]

    @cached_property
    def changes(self) -> tuple[SiteChange, ...]:
        """The sites that did not stay as they were."""
        return tuple(site for site in self.sites if site.kind is not ChangeKind.UNCHANGED)

    @property
    def unchanged(self) -> int:
        """Number of sites that stayed as they were."""
        return len(self.sites) - len(self.changes)

    @property
    def empty(self) -> bool:
        """Whether the two are the same crystal, as far as the tolerance goes."""
        return self.paired and not self.changes


def diff_sites(
    first: Crystal, second: Crystal, *, tolerance: float = DEFAULT_TOLERANCE, by_index: bool = False
) -> SiteDiff:
    """Pair the sites of two crystals and say what happened to each.

    Sites of one element at one place are unchanged; then sites of different elements at one place have changed;
    what is left is paired within each element so that the sum of the minimum-image distances in the first
    crystal's cell is smallest, and has moved. The rest was removed or added. D and T count as H.

    Args:
        tolerance: Å within which two sites are at one place.
        by_index: if both crystals list the same elements in the same order, pair what is left by index first. That
            tells what an edit did (a rotation turns each atom about its centre); without it the diff tells how far
            two crystals differ, whatever the order of their sites. Even then one distance may exceed a verdict's
            max_displacement, which may explain one far move by a chain of short ones through sites that stayed.
    """
    elements, new_elements = _elements(first), _elements(second)
    same_cell = cells_match(second.cell, first.cell)
    factors = None if same_cell else _repeats(first, second)
    counts, new_counts = Counter(elements), Counter(new_elements)
    if not same_cell or max(len(first), len(second)) > PAIRED_SITES:
        return SiteDiff((), False, same_cell, factors, counts, new_counts)

    distances = np.empty((len(first), len(second)))
    if distances.size:
        distances = image_distances(first.frac, second.frac, reduced_lattice(first.cell))
    same_element = np.array(elements)[:, None] == np.array(new_elements)[None, :]
    pairs: dict[int, int] = {}
    _pair(pairs, np.where(same_element & (distances <= tolerance), distances, _UNUSABLE))
    _pair(pairs, np.where(~same_element & (distances <= tolerance), distances, _UNUSABLE))
    if by_index and elements == new_elements:
        taken = set(pairs.values())
        pairs |= {index: index for index in range(len(elements)) if index not in pairs and index not in taken}
    _pair(pairs, np.where(same_element, distances, _UNUSABLE))

    partners = _swap_partners(pairs, elements, new_elements)
    sites = []
    for index, element in enumerate(elements):
        if index not in pairs:
            place = _position(first, index)
            sites.append(SiteChange(ChangeKind.REMOVED, index, None, element, "", place, None))
            continue
        other = pairs[index]
        vector, kind = (0.0, 0.0, 0.0), ChangeKind.UNCHANGED
        if element != new_elements[other]:
            kind = ChangeKind.SWAPPED if index in partners else ChangeKind.CHANGED
        elif distances[index, other] > tolerance:
            kind = ChangeKind.MOVED
            vector = _nearest_vector(first, first.frac[index], second.frac[other])
        sites.append(
            SiteChange(
                kind,
                index,
                other,
                element,
                new_elements[other],
                _position(first, index),
                _position(second, other),
                vector,
                float(np.linalg.norm(vector)),
                partners.get(index),
            )
        )
    taken = set(pairs.values())
    sites.extend(
        SiteChange(ChangeKind.ADDED, None, index, "", element, None, _position(second, index))
        for index, element in enumerate(new_elements)
        if index not in taken
    )
    return SiteDiff(tuple(sites), True, True, None, counts, new_counts)


def _pair(pairs: dict[int, int], cost: FloatArray) -> None:
    """Add the cheapest usable pairs among the sites that are not paired yet."""
    taken = set(pairs.values())
    rows = np.array([index for index in range(cost.shape[0]) if index not in pairs], dtype=int)
    columns = np.array([index for index in range(cost.shape[1]) if index not in taken], dtype=int)
    if not len(rows) or not len(columns):
        return
    # Only sites with a usable partner take part: an assignment over hundreds of equal costs is slow.
    usable = cost[np.ix_(rows, columns)] < _UNUSABLE
    rows, columns = rows[usable.any(axis=1)], columns[usable.any(axis=0)]
    open_cost = cost[np.ix_(rows, columns)]
    chosen_rows, chosen_columns = linear_sum_assignment(open_cost)
    for row, column in zip(chosen_rows, chosen_columns, strict=True):
        if open_cost[row, column] < _UNUSABLE:
            pairs[int(rows[row])] = int(columns[column])


def _swap_partners(pairs: dict[int, int], elements: tuple[str, ...], new_elements: tuple[str, ...]) -> dict[int, int]:
    """The pairs of sites that exchanged elements, both ways, in site order."""
    waiting: dict[tuple[str, str], list[int]] = {}
    partners: dict[int, int] = {}
    for index in sorted(pairs):
        old, new = elements[index], new_elements[pairs[index]]
        if old == new:
            continue
        opposite = waiting.get((new, old))
        if opposite:
            other = opposite.pop(0)
            partners[index], partners[other] = other, index
        else:
            waiting.setdefault((old, new), []).append(index)
    return partners


def _nearest_vector(crystal: Crystal, origin: FloatArray, place: FloatArray) -> Position:
    """Cartesian vector in Å from a fractional point to the nearest image of another."""
    difference = place - origin
    difference = difference - np.round(difference)
    shifts = shifts_within(crystal, float(np.linalg.norm(difference @ crystal.matrix)))
    vectors = (shifts + difference) @ crystal.matrix
    x, y, z = vectors[np.argmin(np.linalg.norm(vectors, axis=1))].tolist()
    return (x, y, z)


def _repeats(first: Crystal, second: Crystal) -> tuple[int, int, int] | None:
    a, b, c = (max(1, round(new / old)) for new, old in zip(second.cell[:3], first.cell[:3], strict=True))
    lengths = [old * n for old, n in zip(first.cell[:3], (a, b, c), strict=True)]
    multiple = (*lengths, *first.cell[3:])
    return (a, b, c) if a * b * c > 1 and cells_match(second.cell, multiple) else None  # type: ignore[arg-type]


def _elements(crystal: Crystal) -> tuple[str, ...]:
    return Arrangement(crystal.cell, crystal.species, crystal.frac).elements


def _position(crystal: Crystal, index: int) -> Position:
    x, y, z = crystal.frac[index].tolist()
    return (x, y, z)
