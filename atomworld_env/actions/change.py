"""`change`: turn one site into another element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, RejectedDraw, site_index
from atomworld_env.actions.element_choice import element_then_place
from atomworld_env.structures.contacts import room_at
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class Change(Action):
    """Substitution: site i becomes element X, its place stays."""

    name: ClassVar[str] = "change"
    category: ClassVar[Category] = "point defect"
    cartesian: ClassVar[bool] = False

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        def site() -> int:
            return int(rng.integers(len(crystal)))

        def room(index: int) -> float:
            return room_at(crystal, crystal.frac[index], ignore=index)

        for element, index in element_then_place(site, room, rng, elements):
            yield {"index": index, "element": element}

    def check(self, crystal: Crystal, params: Params) -> None:
        if crystal.species[site_index(crystal, params)] == params["element"]:
            raise RejectedDraw("the site already is that element")

    def instruction(self, params: Params) -> str:
        return f"Change the atom at site {params['index']} into {params['element']}."

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        index = site_index(crystal, params)
        species = (*crystal.species[:index], params["element"], *crystal.species[index + 1 :])
        return crystal.replaced(species=species)

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [params["index"]]
