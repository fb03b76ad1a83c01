"""The steps that several edits share, written out: cell vectors, both conversions, the nearest image, wrapping."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from atomworld_env.structures.crystal import CELL_DECIMALS, INPUT_DECIMALS, Crystal
from atomworld_env.structures.images import nearest_image
from training.worksheet import Stated, Vector, Worksheet, shown, vector

LENGTH_DECIMALS = 4
"""Of numbers in Å. Rounding errors add up to less than 0.02 Å on the largest cells, where 0.1 Å is asked for."""

COSINE_DECIMALS = 6
WHOLE = 0


@dataclass(frozen=True)
class Frame:
    """Components of the cell vectors that are not zero by convention: a = (ax, 0, 0), b = (bx, by, 0)."""

    ax: Stated
    bx: Stated
    by: Stated
    cx: Stated
    cy: Stated
    cz: Stated


def write_frame(sheet: Worksheet, crystal: Crystal) -> Frame:
    """The cell vectors in the frame of the prompts: a along x, b in the xy-plane."""
    a, b, c, alpha, beta, gamma = (Stated.of(value, CELL_DECIMALS) for value in crystal.cell)
    zero = Stated.of(0.0, LENGTH_DECIMALS)
    if crystal.is_orthogonal:
        sheet.say("All angles are 90 degrees, so a, b and c lie along x, y and z:")
        sheet.say(f"ax = {a}, by = {b}, cz = {c}")
        return Frame(a, zero, b, zero, zero, c)
    sheet.say("Cell vectors, a along x and b in the xy-plane:")
    cos_alpha, cos_beta, cos_gamma = (
        sheet.cosine(f"cos_{name}", angle, COSINE_DECIMALS)
        for name, angle in (("alpha", alpha), ("beta", beta), ("gamma", gamma))
    )
    sin_gamma = sheet.sine("sin_gamma", gamma, COSINE_DECIMALS)
    sheet.say(f"ax = {a}")
    bx = sheet.total("bx", [(1, (b, cos_gamma))], LENGTH_DECIMALS)
    by = sheet.total("by", [(1, (b, sin_gamma))], LENGTH_DECIMALS)
    cx = sheet.total("cx", [(1, (c, cos_beta))], LENGTH_DECIMALS)
    cy = sheet.total("cy", [(1, (c, cos_alpha)), (-1, (c, cos_beta, cos_gamma))], LENGTH_DECIMALS, over=sin_gamma)
    return Frame(a, bx, by, cx, cy, sheet.leg("cz", c, [cx, cy], LENGTH_DECIMALS))


def write_to_fractional(sheet: Worksheet, frame: Frame, point: Vector) -> Vector:
    """A Cartesian vector as fractions u, v, w.

    The matrix of the cell vectors is triangular in this frame. Solving from the last component up is its inverse, in
    three divisions instead of nine rounded entries.
    """
    x, y, z = point
    w = sheet.total("w", [(1, (z,))], INPUT_DECIMALS, over=frame.cz)
    v = sheet.total("v", [(1, (y,)), (-1, (w, frame.cy))], INPUT_DECIMALS, over=frame.by)
    u = sheet.total("u", [(1, (x,)), (-1, (v, frame.bx)), (-1, (w, frame.cx))], INPUT_DECIMALS, over=frame.ax)
    return u, v, w


def write_to_cartesian(sheet: Worksheet, frame: Frame, fractions: Vector) -> Vector:
    """Fractions as a Cartesian vector in Å."""
    u, v, w = fractions
    x = sheet.total("x", [(1, (u, frame.ax)), (1, (v, frame.bx)), (1, (w, frame.cx))], LENGTH_DECIMALS)
    y = sheet.total("y", [(1, (v, frame.by)), (1, (w, frame.cy))], LENGTH_DECIMALS)
    z = sheet.total("z", [(1, (w, frame.cz))], LENGTH_DECIMALS)
    return x, y, z


def site(crystal: Crystal, index: int) -> Vector:
    """Fractional coordinates of a site as listed."""
    return vector(crystal.frac[index].tolist(), INPUT_DECIMALS)


def nearest_shift(crystal: Crystal, origin: int, other: int) -> tuple[int, int, int]:
    """Whole cells by which the image of a site that is nearest to another lies off its listed place."""
    fractions = nearest_image(crystal, origin, other).vector @ crystal.inverse
    a, b, c = np.round(fractions - (crystal.frac[other] - crystal.frac[origin])).astype(int).tolist()
    return a, b, c


def write_difference(sheet: Worksheet, name: str, start: Vector, end: Vector, shift: tuple[int, int, int]) -> Vector:
    """``end - start + shift`` in fractions."""
    rows = [
        [(1, (there,)), (-1, (here,)), *([(1 if cells > 0 else -1, (Stated.of(abs(cells), WHOLE),))] if cells else [])]
        for here, there, cells in zip(start, end, shift, strict=True)
    ]
    return sheet.sums(name, rows, INPUT_DECIMALS)


def write_nearest(sheet: Worksheet, frame: Frame, crystal: Crystal, origin: int, other: int) -> tuple[Vector, Stated]:
    """The way from a site to the nearest image of another, in fractions, and its length in Å.

    Where the cell is oblique the images around are compared; the plain nearest whole number may be wrong there.
    """
    start, end = site(crystal, origin), site(crystal, other)
    best = nearest_shift(crystal, origin, other)
    candidates = [best]
    if not crystal.is_orthogonal:
        plain = crystal.frac[other] - crystal.frac[origin]
        first = [-int(np.round(value)) for value in plain]
        second = [n - (1 if value + n > 0 else -1) for n, value in zip(first, plain.tolist(), strict=True)]
        corners = {(a, b, c) for a, b, c in product(*zip(first, second, strict=True))}
        candidates = [*sorted(corners - {best}), best]
        sheet.say(f"Images of site {other} around site {origin}:")
    for shift in candidates:
        difference = write_difference(sheet, "d", start, end, shift)
        length = sheet.length("distance", write_to_cartesian(sheet, frame, difference), LENGTH_DECIMALS)
    if len(candidates) > 1:
        sheet.say(f"The last is the nearest: d = {shown(difference)}, distance = {length.text}.")
    return difference, length


def write_moved(sheet: Worksheet, name: str, start: Vector, step: Vector) -> Vector:
    """A site moved by fractions, wrapped into 0 to 1."""
    moved = sheet.sums(name, [[(1, (here,)), (1, (by,))] for here, by in zip(start, step, strict=True)], INPUT_DECIMALS)
    return write_wrapped(sheet, name, moved)


def write_wrapped(sheet: Worksheet, name: str, fractions: Vector) -> Vector:
    """Whole cells taken off, if there are any."""
    cells = [int(np.floor(number.value)) for number in fractions]
    if not any(cells):
        return fractions
    rows = [
        [(1, (number,)), *([(-1 if n > 0 else 1, (Stated.of(abs(n), WHOLE),))] if n else [])]
        for number, n in zip(fractions, cells, strict=True)
    ]
    return sheet.sums(f"{name} wrapped", rows, INPUT_DECIMALS)
