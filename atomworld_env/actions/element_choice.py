"""Which element an atom becomes: drawn first and evenly, so that small atoms do not crowd out the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from atomworld_env.structures.contacts import covalent_radius

Place = TypeVar("Place")

PLACES_PER_ELEMENT = 100
"""Draws of a place for the element drawn first, before the order is turned round."""


def element_then_place(
    draw_place: Callable[[], Place],
    room: Callable[[Place], float],
    rng: np.random.Generator,
    elements: Sequence[str],
) -> Iterator[tuple[str, Place]]:
    """Pairs of element and place.

    The element is drawn first, evenly, and offered 100 places. If it fits nowhere, the place is drawn first and the
    element evenly among the larger half of those that fit there. (Drawing both anew each time would accept mostly
    hydrogen; keeping the first element for ever would leave a quarter of the crystals without an insertion.)

    Args:
        draw_place: one random place.
        room: the largest covalent radius in Å that fits at a place.
    """
    element = elements[int(rng.integers(len(elements)))]
    for _ in range(PLACES_PER_ELEMENT):
        yield element, draw_place()
    by_radius = sorted(elements, key=lambda symbol: (covalent_radius(symbol), symbol))
    radii = np.array([covalent_radius(symbol) for symbol in by_radius])
    while True:
        place = draw_place()
        fitting = int(np.searchsorted(radii, room(place), side="right"))
        larger_half = by_radius[fitting // 2 : fitting] or by_radius[:1]
        yield larger_half[rng.integers(len(larger_half))], place
