"""`delete_below`: cut away everything lower than one site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import (
    ONE_READING_MARGIN,
    Action,
    Category,
    Params,
    RejectedDraw,
    site_index,
)
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class DeleteBelow(Action):
    """Surface cut: every site whose Cartesian z, as listed, is lower than site i's is deleted.

    With `include_level`, site i and the sites level with it are deleted too. Cartesian z is fractional z times c_z in
    the frame of this project, so sites are level exactly when their printed fractional z is equal.
    """

    name: ClassVar[str] = "delete_below"
    category: ClassVar[Category] = "surface"
    cartesian: ClassVar[bool] = False

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "all sites lie at one height" if len(np.unique(crystal.frac[:, 2])) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        while True:
            yield {"index": int(rng.integers(len(crystal))), "include_level": bool(rng.integers(2))}

    def check(self, crystal: Crystal, params: Params) -> None:
        fractional = crystal.frac[:, 2] - crystal.frac[site_index(crystal, params), 2]
        heights = np.abs(fractional) * crystal.matrix[2, 2]
        if np.any((fractional != 0) & (heights < ONE_READING_MARGIN)):
            raise RejectedDraw("another site is almost level with the one named")
        deleted = len(crystal) - int(self._kept(crystal, params).sum())
        if deleted == 0:
            raise RejectedDraw("nothing lies below the site")
        if deleted == len(crystal):
            raise RejectedDraw("nothing would remain")

    def instruction(self, params: Params) -> str:
        index = params["index"]
        below = (
            "Delete every atom whose Cartesian z coordinate (of the site as listed, not of a periodic image) is lower "
            f"than that of site {index}"
        )
        if params["include_level"]:
            return f"{below}, and also delete site {index} itself and all atoms at the same height as it."
        return f"{below}; keep site {index} itself and all atoms at the same height as it."

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        kept = self._kept(crystal, params)
        species = tuple(symbol for symbol, keep in zip(crystal.species, kept, strict=True) if keep)
        return crystal.replaced(species=species, frac=crystal.frac[kept])

    def _kept(self, crystal: Crystal, params: Params) -> np.ndarray:
        heights = crystal.frac[:, 2]
        level = heights[site_index(crystal, params)]
        kept: np.ndarray = heights > level if params["include_level"] else heights >= level
        return kept
