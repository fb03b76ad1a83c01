"""Whether a published target is what its instruction asks for.

The edit is done again by its parameters and compared with the stored target under the strict profile. Where an
instruction is read in another way by whoever made the target, that reading is done too, so that the reason has a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from atomworld_env.actions import ACTIONS
from atomworld_env.structures.crystal import Crystal, FloatArray
from atomworld_env.structures.images import nearest_image
from rewards import Stage, compare_strict
from rewards.arrangement import Arrangement

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """One way to carry out an instruction.

    Attributes:
        name: in words, for a report.
        stated: whether the instruction says so, or at least allows it.
        result: the crystal it gives.
    """

    name: str
    stated: bool
    result: Crystal


@dataclass(frozen=True)
class Finding:
    """What is wrong with a target: `kind`, and why in one sentence."""

    kind: str
    message: str


CONTRADICTION = "target_contradicts_instruction"
TWO_READINGS = "two_readings"


def check_target(action: str, params: Params, crystal: Crystal, target: Arrangement, prompt: str) -> Finding | None:
    """What is wrong with a stored target, or None where it follows from the only reading.

    Args:
        prompt: the instruction; where it speaks of nearest images, a site as listed is not what it means.
        crystal: the input, sites in file order.
        target: the stored one.
    """
    try:
        with np.errstate(all="ignore"):
            return _finding(action, params, crystal, target, "nearest" in prompt.lower())
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        return Finding(CONTRADICTION, f"the instruction cannot be carried out: {error}")


def _finding(action: str, params: Params, crystal: Crystal, target: Arrangement, nearest_said: bool) -> Finding | None:
    if action == "super_cell" and (sites := prod(params["factors"]) * len(crystal)) != len(target):
        return Finding(CONTRADICTION, f"the target has {len(target)} sites, the supercell asked for {sites}")
    readings = list(_readings(action, params, crystal, nearest_said))
    fitting = [reading for reading in readings if _same(_arrangement(reading.result), target)]
    stated = [reading for reading in readings if reading.stated]
    if not any(reading.stated for reading in fitting):
        if fitting:
            return Finding(CONTRADICTION, f"{fitting[0].name}, against the instruction")
        return Finding(CONTRADICTION, f"{_difference(_arrangement(stated[0].result), target)}")
    other = [reading for reading in stated if not _same(_arrangement(reading.result), target)]
    if other:
        return Finding(TWO_READINGS, f"{fitting[0].name}, and the instruction does not say which is meant")
    return None


def _readings(action: str, params: Params, crystal: Crystal, nearest_said: bool) -> Iterator[Reading]:
    if action == "delete_below":
        yield Reading("the target obeys", True, ACTIONS[action].apply(crystal, dict(params)))
        opposite = {**params, "include_level": not params["include_level"]}
        kept = "keeps" if params["include_level"] else "deletes"
        name = f"the target {kept} the site itself and those level with it"
        yield Reading(name, False, ACTIONS[action].apply(crystal, opposite))
        # How z compares when the heights are computed in floating point: sites level with the named one may fall.
        heights = crystal.cartesian[:, 2]
        keep = heights >= heights[_site(crystal, params["index"])]
        yield Reading("the target tells level sites apart by the last bit of z", False, _kept(crystal, keep))
    elif action in ("move_towards", "insert_between"):
        yield from _along_a_segment(action, params, crystal, nearest_said)
    elif action == "rotate_around":
        yield Reading("the target turns the nearest images", True, _rotated(crystal, params, images=True))
        name = "the target picks neighbours by their nearest image but swings the copies in the cell"
        yield Reading(name, False, _rotated(crystal, params, images=False))
    else:
        yield Reading("the target obeys", True, ACTIONS[action].apply(crystal, dict(params)))


def _along_a_segment(action: str, params: Params, crystal: Crystal, nearest_said: bool) -> Iterator[Reading]:
    index, towards = _site(crystal, params["index"]), _site(crystal, params["towards"])
    listed = crystal.cartesian[towards] - crystal.cartesian[index]
    near = nearest_image(crystal, index, towards).vector
    for name, vector, stated in (
        ("the target goes to the other site as listed, not to its nearest image", listed, not nearest_said),
        ("the target goes to the nearest image of the other site", near, True),
    ):
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            raise ValueError("the two sites coincide")
        point = crystal.frac[index] + (params["distance"] / length * vector) @ crystal.inverse
        if action == "insert_between":
            species = (*crystal.species, params["element"])
            yield Reading(name, stated, crystal.replaced(species=species, frac=np.vstack([crystal.frac, point])))
        else:
            yield Reading(name, stated, crystal.replaced(frac=_moved(crystal, index, point)))


def _rotated(crystal: Crystal, params: Params, *, images: bool) -> Crystal:
    """Every other site whose nearest image lies within the radius, turned on that image's lever or its copy's."""
    index = _site(crystal, params["index"])
    axis = np.array(params["axis"], dtype=float)
    axis = axis / np.linalg.norm(axis)
    rotation = Rotation.from_rotvec(np.radians(params["angle"]) * axis)
    frac = crystal.frac.copy()
    for site in range(len(crystal)):
        if site == index:
            continue
        image = nearest_image(crystal, index, site)
        if image.distance < params["radius"]:
            lever = image.vector if images else crystal.cartesian[site] - crystal.cartesian[index]
            frac[site] = crystal.frac[index] + rotation.apply(lever) @ crystal.inverse
    return crystal.replaced(frac=frac)


def _moved(crystal: Crystal, index: int, place: FloatArray) -> FloatArray:
    frac = crystal.frac.copy()
    frac[index] = place
    return frac


def _kept(crystal: Crystal, keep: FloatArray) -> Crystal:
    species = tuple(symbol for symbol, kept in zip(crystal.species, keep, strict=True) if kept)
    return crystal.replaced(species=species, frac=crystal.frac[keep])


def _site(crystal: Crystal, index: int) -> int:
    if not 0 <= index < len(crystal):
        raise ValueError(f"there is no site {index}: the structure has sites 0 to {len(crystal) - 1}")
    return index


def _arrangement(crystal: Crystal) -> Arrangement:
    return Arrangement(crystal.cell, crystal.species, crystal.frac)


def _same(one: Arrangement, other: Arrangement) -> bool:
    return len(one) == len(other) and compare_strict(one, other).stage is Stage.CORRECT


def _difference(asked: Arrangement, target: Arrangement) -> str:
    return f"the target is not what the instruction asks for: {compare_strict(target, asked).message}"
