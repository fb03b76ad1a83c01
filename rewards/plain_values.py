"""The numbers of a plain CIF: cell and places as pymatgen keeps them, or handed over where it would do more."""

from __future__ import annotations

import re
from math import cos, radians

import numpy as np

from rewards.arrangement import Cell, FloatArray

# Tolerances of pymatgen's CifParser: relative, for a coordinate that is meant as a third; fractional, for two
# rows that are one site. The second is a little wider here, so that rounding cannot decide.
THIRDS = (1 / 3, 2 / 3)
THIRDS_TOLERANCE = 1e-4
SITE_TOLERANCE = 1.01e-4

_LENGTHS = (0.5, 1000.0)  # Å
_ANGLES = (10.0, 170.0)  # degrees
_LEAST_VOLUME = 0.05  # of abc: beyond doubt a cell, and not as thin as the 0.01 Å that pymatgen refuses
_LARGEST_COORDINATE = 1e4

_DECIMALS = re.compile(r"[-+.0-9]+")
_MIX = np.array([1.0, 7.0, 19.0])


class HandOverError(Exception):
    """The text is not plain; the message says why."""


def plain_numbers(words: list[str]) -> list[float]:
    """Plain decimal numbers: no uncertainty, no exponent, no ``.`` or ``?``, and nothing else float() takes."""
    if _DECIMALS.fullmatch("".join(words)) is None:
        raise HandOverError("a number that is not written in decimals")
    return list(map(float, words))


def plain_cell(words: list[str]) -> Cell:
    """Lengths and angles of a cell that no reader would mend or doubt."""
    a, b, c, alpha, beta, gamma = plain_numbers(words)
    if not (_LENGTHS[0] <= min(a, b, c) and max(a, b, c) <= _LENGTHS[1]):
        raise HandOverError("an unusual cell length")
    if not (_ANGLES[0] <= min(alpha, beta, gamma) and max(alpha, beta, gamma) <= _ANGLES[1]):
        raise HandOverError("an unusual cell angle")
    x, y, z = (cos(radians(angle)) for angle in (alpha, beta, gamma))
    if 1 - x * x - y * y - z * z + 2 * x * y * z < _LEAST_VOLUME**2:
        raise HandOverError("a cell that is nearly flat")
    return (a, b, c, alpha, beta, gamma)


def plain_places(frac: FloatArray) -> FloatArray:
    """Coordinates as pymatgen keeps them: thirds made exact, then wrapped; no two on one place."""
    if np.abs(frac).max() > _LARGEST_COORDINATE:
        raise HandOverError("a coordinate far outside the cell")
    for third in THIRDS:
        frac[np.abs(frac / third - 1) <= THIRDS_TOLERANCE] = third
    wrapped: FloatArray = frac - np.floor(frac)
    if _coincide(wrapped):
        raise HandOverError("two sites on one place")
    return wrapped


def _coincide(frac: FloatArray) -> bool:
    # One periodic number for each site, in which few but coinciding sites agree; only those are compared fully.
    mixed = frac @ _MIX
    differences = np.abs(np.subtract.outer(mixed, mixed))
    differences -= np.rint(differences)
    near = np.abs(differences, out=differences) <= _MIX.sum() * SITE_TOLERANCE
    if np.count_nonzero(near) == len(frac):
        return False  # each with itself
    first, second = np.nonzero(np.triu(near, 1))
    apart = frac[first] - frac[second]
    apart -= np.rint(apart)
    return bool((np.abs(apart) <= SITE_TOLERANCE).all(axis=1).any())
