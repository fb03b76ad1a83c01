"""The four operations on points: how their parameters are drawn, what they say and what they do.

Everything is computed from numbers as they are printed: coordinates and lengths with 2 decimals, whole degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, radians, sin, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np

from rewards.point_reading import FloatArray

Params = dict[str, Any]

LENGTHS = (0.5, 5.0)
"""Of a displacement, and of a step towards another point."""

ANGLES = (15, 180)
"""Whole degrees, both ends included."""

LEAST_SEPARATION = 0.5
"""Of any two points, before and after."""

ROUNDING = 1e-6
"""A length that is a limit counts as within, whichever way its last bit was rounded."""

OTHER_POINT_MARGIN = 0.3
"""A point between two others is at least as far from the one that would be found by counting from the wrong end."""

AXES = tuple(f"{sign}{name}" for name in "xyz" for sign in "+-")


@dataclass(frozen=True)
class PointOperation:
    """One kind of task.

    Attributes:
        draw: parameters for the points, with 2 decimals; may be ones that are refused later.
        instruction: in plain English.
        apply: the points that result, shape (m, 3); raises ValueError, KeyError or TypeError for parameters that do not
            fit the points.
        computed: how many points get coordinates that must be computed, of so many.
    """

    draw: Callable[[FloatArray, np.random.Generator], Params]
    instruction: Callable[[Params], str]
    apply: Callable[[FloatArray, Params], FloatArray]
    computed: Callable[[int], int] = lambda points: 1


def _draw_move(points: FloatArray, rng: np.random.Generator) -> Params:
    step = _direction(rng) * rng.uniform(*LENGTHS)
    return {"index": int(rng.integers(len(points))), "displacement": [round(float(part), 2) + 0.0 for part in step]}


def _move(points: FloatArray, params: Params) -> FloatArray:
    moved = points.copy()
    step = np.array(params["displacement"], dtype=float)
    if step.shape != (3,) or not LENGTHS[0] - ROUNDING <= sqrt(float(step @ step)) <= LENGTHS[1] + ROUNDING:
        raise ValueError(f"a displacement has three numbers and a length of {LENGTHS[0]} to {LENGTHS[1]}")
    moved[_index(points, params, "index")] += step
    return moved


def _draw_towards(points: FloatArray, rng: np.random.Generator) -> Params:
    index, towards = _two(points, rng)
    return {"index": index, "towards": towards, "distance": round(float(rng.uniform(*LENGTHS)), 2)}


def _move_towards(points: FloatArray, params: Params) -> FloatArray:
    moved = points.copy()
    moved[params["index"]] = _on_the_way(points, params)
    return moved


def _draw_between(points: FloatArray, rng: np.random.Generator) -> Params:
    index, towards = _two(points, rng)
    way = points[towards] - points[index]
    length = sqrt(float(way @ way))
    distance = rng.uniform(LEAST_SEPARATION, max(LEAST_SEPARATION, length - LEAST_SEPARATION))
    return {"index": index, "towards": towards, "distance": round(float(distance), 2)}


def _insert_between(points: FloatArray, params: Params) -> FloatArray:
    place = _on_the_way(points, params)
    from_other_end = _on_the_way(points, params | {"index": params["towards"], "towards": params["index"]})
    gap = place - from_other_end
    if sqrt(float(gap @ gap)) < OTHER_POINT_MARGIN:
        raise ValueError("counted from the other point, the place would be the same")
    return np.vstack([points, place])


def _draw_rotation(points: FloatArray, rng: np.random.Generator) -> Params:
    return {
        "index": int(rng.integers(len(points))),
        "angle": int(rng.integers(ANGLES[0], ANGLES[1] + 1)),
        "axis": AXES[rng.integers(len(AXES))],
    }


def _rotate_around(points: FloatArray, params: Params) -> FloatArray:
    pivot = points[_index(points, params, "index")]
    sign, name = params["axis"]
    # Right-handed: about z, x turns towards y; about x, y towards z; about y, z towards x.
    along = "xyz".index(name)
    first, second = (along + 1) % 3, (along + 2) % 3
    angle = radians(params["angle"]) * {"+": 1, "-": -1}[sign]
    lever = points - pivot
    turned = lever.copy()
    turned[:, first] = cos(angle) * lever[:, first] - sin(angle) * lever[:, second]
    turned[:, second] = sin(angle) * lever[:, first] + cos(angle) * lever[:, second]
    rotated: FloatArray = pivot + turned
    return rotated


def _on_the_way(points: FloatArray, params: Params) -> FloatArray:
    """The place so far from one point on the way to another.

    Raises:
        ValueError: if it is not between them.
    """
    index, towards = _index(points, params, "index"), _index(points, params, "towards")
    way = points[towards] - points[index]
    length = sqrt(float(way @ way))
    if not 0 < params["distance"] < length:
        raise ValueError("the place is not between the two points")
    place: FloatArray = points[index] + (params["distance"] / length) * way
    return place


def _index(points: FloatArray, params: Params, key: str) -> int:
    index = params[key]
    if type(index) is not int or not 0 <= index < len(points):
        raise ValueError(f"there is no point {index!r}")
    return index


def _two(points: FloatArray, rng: np.random.Generator) -> tuple[int, int]:
    index = int(rng.integers(len(points)))
    other = int(rng.integers(len(points) - 1))
    return index, other + (other >= index)


def _direction(rng: np.random.Generator) -> FloatArray:
    """A unit vector, evenly over the sphere, by operations that round the same on every machine."""
    while True:
        vector: FloatArray = rng.uniform(-1, 1, 3)
        square = float(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
        if 0.01 < square <= 1:
            return vector / sqrt(square)


POINT_OPERATIONS: Mapping[str, PointOperation] = MappingProxyType(
    {
        "point_move": PointOperation(
            _draw_move,
            lambda p: "Move point {} by the vector ({:.2f}, {:.2f}, {:.2f}).".format(p["index"], *p["displacement"]),
            _move,
        ),
        "point_move_towards": PointOperation(
            _draw_towards,
            lambda p: (
                f"Move point {p['index']} by a distance of {p['distance']:.2f} straight towards point {p['towards']}."
            ),
            _move_towards,
        ),
        "point_insert_between": PointOperation(
            _draw_between,
            lambda p: (
                f"Add one point on the straight line from point {p['index']} to point {p['towards']}, at a "
                f"distance of {p['distance']:.2f} from point {p['index']}."
            ),
            _insert_between,
        ),
        "point_rotate_around": PointOperation(
            _draw_rotation,
            lambda p: (
                f"Rotate all other points by {p['angle']} degrees about the {p['axis']} axis through "
                f"point {p['index']}."
            ),
            _rotate_around,
            computed=lambda points: points - 1,
        ),
    }
)
"""The operations, by name of the kind of task."""
