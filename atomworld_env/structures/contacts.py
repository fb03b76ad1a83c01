"""How close two atoms may come: covalent radii and the contact rule of well-posed tasks."""

from __future__ import annotations

from functools import cache

import numpy as np

from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.images import neighbours_of_point, shortest_lattice_vector

CONTACT_FACTOR = 0.7
"""Two atoms closer than this times the sum of their covalent radii are no physical structure."""

HEAVIEST_WITH_RADIUS = 96
"""Curium: `ase.data.covalent_radii` (Cordero et al. 2008, doi:10.1039/b801115j) has no value beyond it."""


@cache
def _radii() -> dict[str, float]:
    from ase.data import chemical_symbols, covalent_radii

    return {chemical_symbols[z]: float(covalent_radii[z]) for z in range(1, HEAVIEST_WITH_RADIUS + 1)}


def covalent_radius(symbol: str) -> float:
    """Covalent radius in Å.

    Raises:
        ValueError: for a symbol that has no tabulated radius.
    """
    try:
        return _radii()[symbol]
    except KeyError:
        raise ValueError(f"no covalent radius is tabulated for {symbol!r}") from None


def smallest_contact_ratio(crystal: Crystal, sites: list[int] | None = None) -> tuple[float, int, int]:
    """Distance over the sum of covalent radii, at its smallest, and the two sites that have it.

    Args:
        sites: judge only contacts of these sites (with any atom or image, their own images included); all by default.
    """
    radii = np.array([covalent_radius(symbol) for symbol in crystal.species])
    smallest = (np.inf, -1, -1)
    for site in range(len(crystal)) if sites is None else sites:
        # Pairs beyond the rule's reach cannot break it, and the search stays short. 1.5 leaves room for a margin.
        reach = 1.5 * CONTACT_FACTOR * (radii[site] + radii.max())
        near = neighbours_of_point(crystal, crystal.frac[site], reach)
        is_self = (near.sites == site) & (near.distances < 1e-6)
        if is_self.all():
            continue
        ratios = np.where(is_self, np.inf, near.distances / (radii[site] + radii[near.sites]))
        closest = int(np.argmin(ratios))
        if ratios[closest] < smallest[0]:
            smallest = (float(ratios[closest]), site, int(near.sites[closest]))
    return smallest


def room_at(crystal: Crystal, frac_point: np.ndarray, *, ignore: int | None = None) -> float:
    """The largest covalent radius in Å that fits at a point without breaking the contact rule (may be negative).

    The atom's contacts with its own images count too.

    Args:
        ignore: a site that is not counted, when an atom is judged at that site's own place.
    """
    radii = np.array([covalent_radius(symbol) for symbol in crystal.species])
    largest = max(_radii().values())
    near = neighbours_of_point(crystal, frac_point, CONTACT_FACTOR * (largest + radii.max()))
    counted = near.sites != ignore if ignore is not None else np.ones(len(near.sites), dtype=bool)
    room = shortest_lattice_vector(crystal) / (2 * CONTACT_FACTOR)
    if counted.any():
        room = min(room, float((near.distances[counted] / CONTACT_FACTOR - radii[near.sites[counted]]).min()))
    return room
