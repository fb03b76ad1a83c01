"""Crystals to practise on: structures of the training split, varied, and random ones that belong to no family.

The pool's small cells put most atoms on special positions. A model trained on them alone learns a few hundred rows by
heart instead of learning to copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atomworld_env.structures.crystal import Crystal, FloatArray
from atomworld_env.structures.pool import StructurePool

AS_IT_IS = 0.2
VARIED = 0.4
"""Shares of training structures left as they are, and of varied ones; the rest is random."""

SPECIAL_POSITIONS = (0.0, 0.5, 0.25, 0.75, 0.3333, 0.6667, 0.125, 0.875, 0.375, 0.625)

ANGLES: tuple[tuple[float, float, float], ...] = (
    (90.0, 90.0, 90.0),
    (90.0, 90.0, 90.0),
    (90.0, 90.0, 120.0),
    (60.0, 60.0, 60.0),
)
"""Of the random cells that are not oblique by chance."""


class VariedCrystals:
    """Random crystals by number of sites.

    Args:
        pool: only structures of its training split are used.
        sites: fewest and most sites of a crystal.
    """

    def __init__(self, pool: StructurePool, sites: tuple[int, int]) -> None:
        self.elements: Sequence[str] = pool.elements
        self._by_sites = {
            count: [entry.crystal for entry in pool.entries("train", count, count)]
            for count in range(sites[0], sites[1] + 1)
        }

    def draw(self, sites: int, rng: np.random.Generator) -> Crystal:
        """One crystal with that many sites, its numbers as printed."""
        known = self._by_sites.get(sites, [])
        kind = rng.random()
        if not known or kind >= AS_IT_IS + VARIED:
            return self._random(sites, rng)
        crystal = known[int(rng.integers(len(known)))]
        return crystal if kind < AS_IT_IS else self._variant(crystal, rng)

    def _variant(self, crystal: Crystal, rng: np.random.Generator) -> Crystal:
        """Other elements, another size, perhaps other axes, another origin, another order, atoms off their places."""
        kinds = sorted(set(crystal.species))
        renamed = dict(zip(kinds, rng.choice(self.elements, len(kinds), replace=False).tolist(), strict=True))
        lengths = np.array(crystal.cell[:3]) * rng.uniform(0.8, 1.3)
        angles, frac = np.array(crystal.cell[3:]), np.array(crystal.frac)
        if rng.random() < 0.5:
            axes = rng.permutation(3)
            lengths, angles, frac = lengths[axes], angles[axes], frac[:, axes]
        if rng.random() < 0.5:
            frac = frac + rng.random(3)
        if rng.random() < 0.3:
            frac = frac + rng.normal(0.0, 0.02, frac.shape)
        order = rng.permutation(len(crystal)) if rng.random() < 0.3 else np.arange(len(crystal))
        species = tuple(renamed[crystal.species[k]] for k in order)
        return Crystal.printed((*lengths, *angles), species, frac[order])

    def _random(self, sites: int, rng: np.random.Generator) -> Crystal:
        kinds = rng.choice(self.elements, min(sites, int(rng.integers(1, 5))), replace=False).tolist()
        species = [*kinds, *(kinds[k] for k in rng.integers(len(kinds), size=sites - len(kinds)))]
        species = (
            sorted(species, key=kinds.index) if rng.random() < 0.7 else [species[k] for k in rng.permutation(sites)]
        )
        special = rng.random((sites, 3)) < rng.choice([0.0, 0.5, 0.9])
        frac = np.where(special, rng.choice(SPECIAL_POSITIONS, (sites, 3)), rng.random((sites, 3)))
        return Crystal.printed((*self._lengths(rng), *self._angles(rng)), tuple(species), frac)

    def _lengths(self, rng: np.random.Generator) -> FloatArray:
        lengths = rng.uniform(2.5, 11.0, 3)
        equal = rng.random()
        if equal < 0.6:
            lengths[1] = lengths[0]
        if equal < 0.3:
            lengths[2] = lengths[0]
        return lengths

    def _angles(self, rng: np.random.Generator) -> tuple[float, float, float]:
        if rng.random() < 0.75:
            return ANGLES[int(rng.integers(len(ANGLES)))]
        first, second, third = rng.uniform(60.0, 115.0, 3)
        return (90.0, float(second), 90.0) if rng.random() < 0.4 else (float(first), float(second), float(third))
