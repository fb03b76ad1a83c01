"""`swap`: exchange two atoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, RejectedDraw, site_index
from atomworld_env.actions.site_pairs import two_elements
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class Swap(Action):
    """Antisite pair: sites i and j, of different elements, exchange their positions."""

    name: ClassVar[str] = "swap"
    category: ClassVar[Category] = "point defect"
    cartesian: ClassVar[bool] = False

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "two elements are needed" if len(crystal.composition) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        while True:
            index, other = two_elements(crystal, rng)
            yield {"index": index, "other": other}

    def check(self, crystal: Crystal, params: Params) -> None:
        index, other = site_index(crystal, params), site_index(crystal, params, "other")
        if crystal.species[index] == crystal.species[other]:
            raise RejectedDraw("both sites are the same element")

    def instruction(self, params: Params) -> str:
        return f"Swap the positions of the atoms at site {params['index']} and site {params['other']}."

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        index, other = site_index(crystal, params), site_index(crystal, params, "other")
        frac = crystal.frac.copy()
        frac[[index, other]] = frac[[other, index]]
        return crystal.replaced(frac=frac)

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [params["index"], params["other"]]
