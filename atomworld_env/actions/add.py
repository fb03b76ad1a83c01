"""`add`: put an atom at a Cartesian position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, printed_vector, vector_text
from atomworld_env.actions.element_choice import element_then_place
from atomworld_env.structures.contacts import room_at
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class Add(Action):
    """Interstitial: an atom of element X at Cartesian (x, y, z), appended to the list of sites."""

    name: ClassVar[str] = "add"
    category: ClassVar[Category] = "point defect"
    cartesian: ClassVar[bool] = True

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        def position() -> list[float]:
            return printed_vector(rng.random(3) @ crystal.matrix)

        def room(place: list[float]) -> float:
            return room_at(crystal, np.array(place) @ crystal.inverse)

        for element, place in element_then_place(position, room, rng, elements):
            yield {"element": element, "position": place}

    def check(self, crystal: Crystal, params: Params) -> None:
        """A position has one reading; whether the atom fits there is the contact rule's business."""

    def instruction(self, params: Params) -> str:
        return f"Add one {params['element']} atom at the Cartesian position {vector_text(params['position'])} Å."

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        added = np.array(params["position"]) @ crystal.inverse
        return crystal.replaced(species=(*crystal.species, params["element"]), frac=np.vstack([crystal.frac, added]))

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [len(crystal)]

    def lever(self, crystal: Crystal, params: Params) -> float:
        return float(np.linalg.norm(params["position"]))
