"""Drawing two different sites."""

from __future__ import annotations

import numpy as np

from atomworld_env.structures.crystal import Crystal


def two_sites(crystal: Crystal, rng: np.random.Generator) -> tuple[int, int]:
    """Two different sites, every ordered pair equally likely."""
    first = int(rng.integers(len(crystal)))
    second = int(rng.integers(len(crystal) - 1))
    return first, second + (second >= first)


def two_elements(crystal: Crystal, rng: np.random.Generator) -> tuple[int, int]:
    """Two sites of different elements, every such ordered pair equally likely.

    The crystal must have two elements.
    """
    while True:
        first, second = two_sites(crystal, rng)
        if crystal.species[first] != crystal.species[second]:
            return first, second
