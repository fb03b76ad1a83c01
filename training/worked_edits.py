"""Each of the ten edits with its arithmetic written out; the result follows from the written numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType

import numpy as np

from atomworld_env.actions.action import Params
from atomworld_env.structures.crystal import CELL_DECIMALS, INPUT_DECIMALS, Crystal
from training.worked_geometry import (
    COSINE_DECIMALS,
    LENGTH_DECIMALS,
    nearest_shift,
    site,
    write_difference,
    write_frame,
    write_moved,
    write_nearest,
    write_to_cartesian,
    write_to_fractional,
    write_wrapped,
)
from training.worksheet import Stated, Term, Vector, Worksheet, shown, vector

PARAMETER_DECIMALS = 2
"""Of parameters in Å, as the instructions print them."""

WorkedEdit = Callable[[Worksheet, Crystal, Params], Crystal]


def _label(crystal: Crystal, index: int) -> str:
    return f"{crystal.species[index]}{index}"


def _with(crystal: Crystal, places: Mapping[int, Vector], added: str | None = None) -> Crystal:
    """The crystal with some sites moved, and perhaps one more, as printed."""
    frac = crystal.frac.tolist() + ([[0.0, 0.0, 0.0]] if added is not None else [])
    for index, place in places.items():
        frac[index] = [number.value for number in place]
    species = crystal.species if added is None else (*crystal.species, added)
    return Crystal.printed(crystal.cell, species, np.array(frac), INPUT_DECIMALS)


def change(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    index, element = params["index"], params["element"]
    sheet.say(f"Site {index} is {_label(crystal, index)} at {shown(site(crystal, index))}.")
    sheet.say(f"It becomes {element}; its place and all other sites stay.")
    species = (*crystal.species[:index], element, *crystal.species[index + 1 :])
    return Crystal(crystal.cell, species, crystal.frac)


def remove(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    index = params["index"]
    sheet.say(f"Site {index} is {_label(crystal, index)} at {shown(site(crystal, index))}.")
    sheet.say(f"It is left out; {len(crystal)} - 1 = {len(crystal) - 1} sites remain.")
    return _kept(crystal, [k for k in range(len(crystal)) if k != index])


def _kept(crystal: Crystal, kept: list[int]) -> Crystal:
    return Crystal(crystal.cell, tuple(crystal.species[k] for k in kept), crystal.frac[kept])


def add(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    position = vector(params["position"], PARAMETER_DECIMALS)
    frame = write_frame(sheet, crystal)
    sheet.say(f"The position {shown(position)} in fractions, from the last component up:")
    fractions = write_to_fractional(sheet, frame, position)
    place = write_wrapped(sheet, "new", fractions)
    sheet.say(f"New site {len(crystal)}: {params['element']} at {shown(place)}.")
    return _with(crystal, {len(crystal): place}, params["element"])


def insert_between(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    place = _on_the_way(sheet, crystal, params)
    sheet.say(f"New site {len(crystal)}: {params['element']} at {shown(place)}.")
    return _with(crystal, {len(crystal): place}, params["element"])


def move_towards(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    place = _on_the_way(sheet, crystal, params)
    sheet.say(f"Site {params['index']} moves to {shown(place)}.")
    return _with(crystal, {params["index"]: place})


def _on_the_way(sheet: Worksheet, crystal: Crystal, params: Params) -> Vector:
    """The point so many Å from a site towards the nearest image of another.

    Fractions along a line go as lengths do, so the point needs no way back from Cartesian coordinates.
    """
    index, towards = params["index"], params["towards"]
    start = site(crystal, index)
    frame = write_frame(sheet, crystal)
    sheet.say(f"Site {index} is {_label(crystal, index)} at {shown(start)}.")
    sheet.say(f"Site {towards} is {_label(crystal, towards)} at {shown(site(crystal, towards))}.")
    difference, distance = write_nearest(sheet, frame, crystal, index, towards)
    share = sheet.quotient("t", Stated.of(params["distance"], PARAMETER_DECIMALS), distance, COSINE_DECIMALS)
    rows: list[list[Term]] = [[(1, (here,)), (1, (share, d))] for here, d in zip(start, difference, strict=True)]
    return write_wrapped(sheet, "new", sheet.sums("new", rows, INPUT_DECIMALS))


def swap(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    first, second = params["index"], params["other"]
    places = site(crystal, first), site(crystal, second)
    sheet.say(f"Site {first} is {_label(crystal, first)} at {shown(places[0])}.")
    sheet.say(f"Site {second} is {_label(crystal, second)} at {shown(places[1])}.")
    sheet.say(
        f"Now {_label(crystal, first)} is at {shown(places[1])}, {_label(crystal, second)} at {shown(places[0])}."
    )
    return _with(crystal, {first: places[1], second: places[0]})


def delete_below(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    index, too = params["index"], params["include_level"]
    level = site(crystal, index)[2]
    sheet.say("c has the only z component, and it is positive: heights compare as the third fractions do.")
    sheet.say(f"Site {index} is {_label(crystal, index)} at height {level.text}.")
    kept = []
    for k in range(len(crystal)):
        height = site(crystal, k)[2]
        sign = "<" if height.value < level.value else ">" if height.value > level.value else "="
        stays = sign == ">" or (sign == "=" and not too)
        sheet.say(f"{_label(crystal, k)}: {height.text} {sign} {level.text}, {'kept' if stays else 'deleted'}")
        if stays:
            kept.append(k)
    return _kept(crystal, kept)


def move(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    index = params["index"]
    displacement = vector(params["displacement"], PARAMETER_DECIMALS)
    frame = write_frame(sheet, crystal)
    sheet.say(f"The displacement {shown(displacement)} in fractions, from the last component up:")
    step = write_to_fractional(sheet, frame, displacement)
    sheet.say(f"Site {index} is {_label(crystal, index)} at {shown(site(crystal, index))}.")
    place = write_moved(sheet, "new", site(crystal, index), step)
    sheet.say(f"Site {index} moves to {shown(place)}.")
    return _with(crystal, {index: place})


def rotate_around(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    index, radius = params["index"], Stated.of(params["radius"], PARAMETER_DECIMALS)
    centre = site(crystal, index)
    frame = write_frame(sheet, crystal)
    sheet.say(f"Site {index} is {_label(crystal, index)} at {shown(centre)}. Nearest images of the others, from there:")
    levers: dict[int, Vector] = {}
    for k in (k for k in range(len(crystal)) if k != index):
        sheet.say(f"{_label(crystal, k)}:")
        difference = write_difference(sheet, "d", centre, site(crystal, k), nearest_shift(crystal, index, k))
        lever = write_to_cartesian(sheet, frame, difference)
        distance = sheet.length("distance", lever, LENGTH_DECIMALS)
        inside = distance.value < radius.value
        sheet.say(f"{distance.text} {'<' if inside else '>'} {radius.text}, {'turns' if inside else 'stays'}")
        if inside:
            levers[k] = lever
    rotation = _write_rotation(sheet, params)
    places: dict[int, Vector] = {}
    for k, lever in levers.items():
        sheet.say(f"{_label(crystal, k)}, lever {shown(lever)} turned, then in fractions:")
        turned = tuple(
            sheet.total(name, [(1, (entry, part)) for entry, part in zip(row, lever, strict=True)], LENGTH_DECIMALS)
            for name, row in zip("xyz", rotation, strict=True)
        )
        x, y, z = turned
        places[k] = write_moved(sheet, "new", centre, write_to_fractional(sheet, frame, (x, y, z)))
        sheet.say(f"{_label(crystal, k)} moves to {shown(places[k])}.")
    return _with(crystal, places)


def _write_rotation(sheet: Worksheet, params: Params) -> tuple[Vector, Vector, Vector]:
    """Rows of the rotation matrix by Rodrigues' formula; k is a coordinate axis, so most of it is zero."""
    angle = Stated.of(params["angle"], 0)
    cosine = sheet.cosine("cos_angle", angle, COSINE_DECIMALS)
    sine = sheet.sine("sin_angle", angle, COSINE_DECIMALS)
    axis = int(np.flatnonzero(params["axis"])[0])
    sign = 1 if params["axis"][axis] > 0 else -1
    after, last = (axis + 1) % 3, (axis + 2) % 3
    rows = np.zeros((3, 3))
    rows[axis, axis] = 1.0
    rows[after, after] = rows[last, last] = cosine.value
    rows[last, after], rows[after, last] = sign * sine.value, -sign * sine.value
    first, second, third = (vector(row, COSINE_DECIMALS) for row in rows.tolist())
    along = "(" + ", ".join(str(sign if k == axis else 0) for k in range(3)) + ")"
    sheet.say(f"Rodrigues: R = cos I + (1 - cos) k k^T + sin [k]x with k = {along}; its rows:")
    sheet.say(f"{shown(first)}; {shown(second)}; {shown(third)}")
    return first, second, third


def super_cell(sheet: Worksheet, crystal: Crystal, params: Params) -> Crystal:
    factors = [int(factor) for factor in params["factors"]]
    lengths = [
        sheet.total(name, [(1, (Stated.of(length, CELL_DECIMALS), Stated.of(factor, 0)))], CELL_DECIMALS)
        for name, length, factor in zip("abc", crystal.cell, factors, strict=False)
    ]
    copies = factors[0] * factors[1] * factors[2]
    sheet.say(f"{len(crystal)} * {copies} = {len(crystal) * copies} sites. Fractions of the copies, (f + n) / factor:")
    species: list[str] = []
    frac: list[list[float]] = []
    for k in range(len(crystal)):
        along = []
        for name, number, factor in zip("uvw", site(crystal, k), factors, strict=True):
            found = [Stated.of((number.value + n) / factor, INPUT_DECIMALS) for n in range(factor)]
            if factor > 1:
                written = ", ".join(f"({number} + {n}) / {factor}" for n in range(factor))
                values = ", ".join(each.text for each in found)
                sheet.say(f"{_label(crystal, k)} {name} = ({written}) = ({values})")
            along.append([each.value for each in found])
        for place in product(*along):
            species.append(crystal.species[k])
            frac.append(list(place))
    a, b, c = (length.value for length in lengths)
    return Crystal.printed((a, b, c, *crystal.cell[3:]), tuple(species), np.array(frac), INPUT_DECIMALS)


WORKED_EDITS: Mapping[str, WorkedEdit] = MappingProxyType(
    {
        edit.__name__: edit
        for edit in (
            change, remove, add, insert_between, swap, delete_below, move, move_towards, rotate_around, super_cell,
        )
    }
)  # fmt: skip
"""By name of the edit."""
