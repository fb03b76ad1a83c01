"""`move_towards`: move one site some way towards another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import (
    ONE_READING_MARGIN,
    OTHER_POINT_MARGIN,
    Action,
    Category,
    Params,
    RejectedDraw,
    site_index,
)
from atomworld_env.actions.site_pairs import two_sites
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.images import nearest_image


@dataclass(frozen=True)
class MoveTowards(Action):
    """Site i moves d Å along the straight line to the nearest image of site j.

    Attributes:
        distance: range of d in Å.
    """

    distance: tuple[float, float] = (0.1, 3.0)

    name: ClassVar[str] = "move_towards"
    category: ClassVar[Category] = "perturbation"
    cartesian: ClassVar[bool] = True

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "two sites are needed" if len(crystal) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        while True:
            index, towards = two_sites(crystal, rng)
            yield {
                "index": index,
                "towards": towards,
                "distance": round(float(rng.uniform(*self.distance)), 2),
            }

    def check(self, crystal: Crystal, params: Params) -> None:
        image = nearest_image(crystal, site_index(crystal, params), site_index(crystal, params, "towards"))
        if image.margin < ONE_READING_MARGIN:
            raise RejectedDraw("two images of the other site are equally near")
        if params["distance"] > image.distance - OTHER_POINT_MARGIN:
            raise RejectedDraw("the move would reach the other site")

    def instruction(self, params: Params) -> str:
        return (
            f"Move the atom at site {params['index']} by {params['distance']:.2f} Å straight towards the nearest "
            f"periodic image of site {params['towards']}."
        )

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        index = site_index(crystal, params)
        image = nearest_image(crystal, index, site_index(crystal, params, "towards"))
        frac = crystal.frac.copy()
        frac[index] += (params["distance"] / image.distance) * image.vector @ crystal.inverse
        return crystal.replaced(frac=frac)

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [params["index"]]

    def lever(self, crystal: Crystal, params: Params) -> float:
        return float(params["distance"])
