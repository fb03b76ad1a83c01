"""`rotate_around`: turn the neighbours of one site about an axis through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from atomworld_env.actions.action import (
    ONE_READING_MARGIN,
    Action,
    Category,
    Params,
    RejectedDraw,
    site_index,
)
from atomworld_env.structures.crystal import Crystal, FloatArray
from atomworld_env.structures.images import Neighbours, neighbours_of_point

AXES = tuple(tuple(sign * (k == axis) + 0.0 for k in range(3)) for axis in range(3) for sign in (1.0, -1.0))


@dataclass(frozen=True)
class RotateAround(Action):
    """Every site whose nearest image lies within r of site i turns about i on its own short lever; i stays.

    Attributes:
        radius: range of r in Å.
        angle: range of the angle in whole degrees, both ends included.
    """

    radius: tuple[float, float] = (1.0, 4.0)
    angle: tuple[int, int] = (45, 315)

    name: ClassVar[str] = "rotate_around"
    category: ClassVar[Category] = "perturbation"
    cartesian: ClassVar[bool] = True

    def unsuitable(self, crystal: Crystal) -> str | None:
        return "two sites are needed" if len(crystal) < 2 else None

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        radii: dict[int, np.ndarray] = {}
        while True:
            index = int(rng.integers(len(crystal)))
            if index not in radii:
                radii[index] = self._clear_radii(crystal, index)
            clear = radii[index]
            if len(clear) == 0:
                # An impossible radius: `check` refuses it and counts the reason.
                clear = np.array([self.radius[1]])
            yield {
                "index": index,
                "radius": float(clear[rng.integers(len(clear))]),
                "angle": int(rng.integers(self.angle[0], self.angle[1] + 1)),
                "axis": list(AXES[rng.integers(len(AXES))]),
            }

    def _clear_radii(self, crystal: Crystal, index: int) -> np.ndarray:
        """The radii of the range, in steps of 0.01 Å, that pick neighbours without doubt."""
        grid = np.arange(round(self.radius[0] * 100), round(self.radius[1] * 100) + 1) / 100
        near = _around(crystal, index, self.radius[1] + ONE_READING_MARGIN)
        if len(near.distances) == 0:
            return grid[:0]
        first = near.distances.min()
        forbidden_from = min(_second_image_distances(near, index), default=np.inf)
        gap = np.abs(grid[:, None] - near.distances[None, :]).min(axis=1)
        clear: np.ndarray = grid[(gap >= ONE_READING_MARGIN) & (grid > first) & (grid < forbidden_from)]
        return clear

    def check(self, crystal: Crystal, params: Params) -> None:
        index, radius = site_index(crystal, params), params["radius"]
        near = _around(crystal, index, radius + ONE_READING_MARGIN)
        if np.any(np.abs(near.distances - radius) < ONE_READING_MARGIN):
            raise RejectedDraw("an atom lies on the edge of the sphere")
        inside = near.sites[near.distances < radius]
        if len(inside) == 0:
            raise RejectedDraw("no atom lies inside the sphere")
        if np.any(inside == index) or len(np.unique(inside)) < len(inside):
            raise RejectedDraw("two images of one site lie inside the sphere")

    def instruction(self, params: Params) -> str:
        (axis,) = np.flatnonzero(_axis(params))
        sign = "+" if params["axis"][axis] > 0 else "-"
        index = params["index"]
        return (
            f"Rotate all atoms within {params['radius']:.2f} Å of site {index} (taking the nearest periodic image of "
            f"each; site {index} itself stays) by {params['angle']} degrees about the Cartesian "
            f"{sign}{'xyz'[axis]} axis through "
            f"site {index}."
        )

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        index = site_index(crystal, params)
        near = _around(crystal, index, params["radius"])
        rotation = Rotation.from_rotvec(np.radians(params["angle"]) * _axis(params))
        frac = crystal.frac.copy()
        frac[near.sites] = crystal.frac[index] + rotation.apply(near.vectors) @ crystal.inverse
        return crystal.replaced(frac=frac)

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return sorted({int(site) for site in _around(crystal, params["index"], params["radius"]).sites})

    def lever(self, crystal: Crystal, params: Params) -> float:
        """The longest arc in Å: lever of the farthest neighbour times the angle, folded to 180 degrees."""
        near = _around(crystal, params["index"], params["radius"])
        angle = min(params["angle"], 360 - params["angle"])
        return float(near.distances.max() * np.radians(angle))


def _axis(params: Params) -> FloatArray:
    if tuple(params["axis"]) not in AXES:
        raise ValueError(f"the axis must be a unit vector along ±x, ±y or ±z, got {params['axis']}")
    return np.array(params["axis"], dtype=float)


def _around(crystal: Crystal, index: int, radius: float) -> Neighbours:
    """All images within the radius of a site, the site itself left out (its other images are kept)."""
    near = neighbours_of_point(crystal, crystal.frac[index], radius)
    others = ~((near.sites == index) & (near.distances < 1e-6))
    return Neighbours(near.sites[others], near.vectors[others], near.distances[others])


def _second_image_distances(near: Neighbours, index: int) -> Iterator[float]:
    """Distances at which a site comes in a second time, or site `index` itself a first time."""
    seen = {index}
    for k in np.argsort(near.distances, kind="stable"):
        site = int(near.sites[k])
        if site in seen:
            yield float(near.distances[k])
        seen.add(site)
