"""`remove`: delete one site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, site_index
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class Remove(Action):
    """Vacancy: site i is deleted."""

    name: ClassVar[str] = "remove"
    category: ClassVar[Category] = "point defect"
    cartesian: ClassVar[bool] = False

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "nothing would remain" if len(crystal) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        while True:
            yield {"index": int(rng.integers(len(crystal)))}

    def check(self, crystal: Crystal, params: Params) -> None:
        site_index(crystal, params)

    def instruction(self, params: Params) -> str:
        return f"Remove the atom at site {params['index']}."

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        index = site_index(crystal, params)
        species = crystal.species[:index] + crystal.species[index + 1 :]
        return crystal.replaced(species=species, frac=np.delete(crystal.frac, index, axis=0))
