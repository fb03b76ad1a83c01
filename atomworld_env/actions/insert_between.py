"""`insert_between`: put an atom on the segment between two sites."""

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
from atomworld_env.actions.element_choice import element_then_place
from atomworld_env.actions.site_pairs import two_sites
from atomworld_env.structures.contacts import room_at
from atomworld_env.structures.crystal import Crystal, FloatArray
from atomworld_env.structures.images import nearest_image


@dataclass(frozen=True)
class InsertBetween(Action):
    """An atom of element X on the segment from site i to the nearest image of site j, d Å from i.

    Attributes:
        ratio: range of d over the distance between the two sites.
    """

    ratio: tuple[float, float] = (0.1, 0.9)

    name: ClassVar[str] = "insert_between"
    category: ClassVar[Category] = "point defect"
    cartesian: ClassVar[bool] = True

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "two sites are needed" if len(crystal) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        def place() -> Params:
            index, towards = two_sites(crystal, rng)
            distance = rng.uniform(*self.ratio) * nearest_image(crystal, index, towards).distance
            return {"index": index, "towards": towards, "distance": round(float(distance), 2)}

        def room(drawn: Params) -> float:
            return room_at(crystal, self._point(crystal, drawn))

        for element, drawn in element_then_place(place, room, rng, elements):
            yield {
                "index": drawn["index"],
                "towards": drawn["towards"],
                "element": element,
                "distance": drawn["distance"],
            }

    def check(self, crystal: Crystal, params: Params) -> None:
        image = nearest_image(crystal, site_index(crystal, params), site_index(crystal, params, "towards"))
        if image.margin < ONE_READING_MARGIN:
            raise RejectedDraw("two images of the other site are equally near")
        if not 0 < params["distance"] < image.distance:
            raise RejectedDraw("the point is not between the sites")
        if abs(image.distance - 2 * params["distance"]) < OTHER_POINT_MARGIN:
            raise RejectedDraw("counted from the other site, the point would be the same")

    def instruction(self, params: Params) -> str:
        return (
            f"Insert one {params['element']} atom on the straight line from site {params['index']} to the nearest "
            f"periodic image of site {params['towards']}, {params['distance']:.2f} Å from site {params['index']}."
        )

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        return crystal.replaced(
            species=(*crystal.species, params["element"]),
            frac=np.vstack([crystal.frac, self._point(crystal, params)]),
        )

    def _point(self, crystal: Crystal, params: Params) -> FloatArray:
        index = site_index(crystal, params)
        image = nearest_image(crystal, index, site_index(crystal, params, "towards"))
        step: FloatArray = (params["distance"] / image.distance) * image.vector @ crystal.inverse
        point: FloatArray = crystal.frac[index] + step
        return point

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [len(crystal)]

    def lever(self, crystal: Crystal, params: Params) -> float:
        return float(params["distance"])
