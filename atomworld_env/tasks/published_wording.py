"""What the published instructions say: the edit, and its parameters, from their wording.

The wordings are those of the benchmark's files (index-based edits, both layouts). Numbers are in Å and degrees, sites
are counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from atomworld_env.actions import ACTIONS

Params = dict[str, Any]

_NUMBER = r"([-+]?\d*\.?\d+(?:e[-+]?\d+)?)"
_VECTOR = r"[\[(]\s*([^\])]*?)\s*[\])]"
_INDEX = r"(\d+)"
_BY = r"\s*(?:×|x|\*|by)\s*"

DECIMALS = 8
"""Of the parameters; a record of a task has no number with more."""

LONGEST = 2000
"""Characters of an instruction that are searched; the published ones have at most a few hundred."""

LARGEST = 10**6
"""No number of an instruction is as large."""

PUBLISHED_NAMES = {
    "add": "AddAtomAction",
    "change": "ChangeAtomAction",
    "delete_below": "DeleteBelowAtomAction",
    "insert_between": "InsertBetweenAtomsAction",
    "move": "MoveAtomAction",
    "move_towards": "MoveTowardsAtomAction",
    "remove": "RemoveAtomAction",
    "rotate_around": "RotateAroundAtomAction",
    "super_cell": "SuperCellAction",
    "swap": "SwapAtomsAction",
}
"""Name of each edit in the benchmark's files."""


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower()).removesuffix("action")


_BY_LETTERS = {_letters(published): action for action, published in PUBLISHED_NAMES.items()} | {
    _letters(action): action for action in ACTIONS
}


def action_of_name(name: str) -> str | None:
    """The edit that a field or a file name names: ``AddAtomAction``, ``add_atom_action`` and ``add`` are one."""
    return _BY_LETTERS.get(_letters(name))


def _add(element: str, position: str) -> Params:
    return {"element": element, "position": _vector(position)}


def _insert(element: str, index: str, towards: str, distance: str, counted_from: str) -> Params:
    if counted_from == towards:
        index, towards = towards, index
    elif counted_from != index:
        raise ValueError("the distance is counted from a third site")
    return {"index": int(index), "towards": int(towards), "element": element, "distance": _float(distance)}


def _rotate(radius: str, index: str, angle: str, axis: str) -> Params:
    return {"index": int(index), "radius": _float(radius), "angle": _float(angle), "axis": _vector(axis)}


_PATTERNS: Mapping[str, tuple[str, Callable[..., Params]]] = {
    "add": (rf"\badd (?:one|an?) (\w+) atom at the cartesian coordinates? {_VECTOR}", _add),
    "change": (
        rf"\bchange the atom at index {_INDEX} into (?:an? )?(\w+)",
        lambda index, element: {"index": int(index), "element": element},
    ),
    "delete_below": (
        rf"\bdelete all atoms whose z coordinate is lower than the atom at index {_INDEX}\b"
        r".*?\b(in|ex)cluding itself",
        lambda index, sign: {"index": int(index), "include_level": sign.lower() == "in"},
    ),
    "insert_between": (
        rf"\binsert (?:an? |one )?(\w+)(?: atom)?(?: in the line)? between (?:the )?atoms at indices {_INDEX} and "
        rf"{_INDEX}\b.*?{_NUMBER} angstrom from (?:the )?(?:atom )?(?:at )?(?:index )?{_INDEX}",
        _insert,
    ),
    "move": (
        rf"\bmove the atom at index {_INDEX} by {_VECTOR} angstrom",
        lambda index, vector: {"index": int(index), "displacement": _vector(vector)},
    ),
    "move_towards": (
        rf"\bmove the atom at index {_INDEX} towards? the atom at index {_INDEX} by {_NUMBER} angstrom",
        lambda index, towards, distance: {
            "index": int(index),
            "towards": int(towards),
            "distance": _float(distance),
        },
    ),
    "remove": (rf"\bremove the atom at index {_INDEX}", lambda index: {"index": int(index)}),
    "rotate_around": (
        rf"\brotate all surrounding atoms within {_NUMBER} angstrom of the center atom at index {_INDEX} "
        rf"by {_NUMBER} degrees? around the axis {_VECTOR}",
        _rotate,
    ),
    "super_cell": (
        rf"\bsupercell with the size {_INDEX}{_BY}{_INDEX}{_BY}{_INDEX}\b",
        lambda a, b, c: {"factors": [int(a), int(b), int(c)]},
    ),
    "swap": (
        rf"\bswap (?:the spatial positions of )?(?:the )?atoms at indices {_INDEX} and {_INDEX}",
        lambda index, other: {"index": int(index), "other": int(other)},
    ),
}

_WORDINGS = {
    action: (re.compile(pattern, re.IGNORECASE | re.DOTALL), make) for action, (pattern, make) in _PATTERNS.items()
}


def read_wording(prompt: str) -> tuple[str, Params] | None:
    """The edit and its parameters (keys as in our tasks), or None for a wording that is not known."""
    for action, (pattern, make) in _WORDINGS.items():
        if (match := pattern.search(prompt, 0, LONGEST)) is not None:
            try:
                return action, make(*match.groups())
            except ValueError:
                return None
    return None


def _float(text: str) -> float:
    number = round(float(text), DECIMALS)
    if not isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def _vector(text: str) -> list[float]:
    """Three numbers as numpy prints them (``[ 1.2 -0.3 0. ]``), or with commas.

    Raises:
        ValueError: if there are not three.
    """
    numbers = [_float(part) for part in re.split(r"[,\s]+", text.strip()) if part]
    if len(numbers) != 3:
        raise ValueError(f"{text!r} is not a vector")
    return numbers


def params_fit(action: str, params: Mapping[str, Any]) -> bool:
    """Whether the parameters are those of the edit, each of its kind, so that a table of tasks can hold them."""
    if not all(isinstance(key, str) and _sound(key, value) for key, value in params.items()):
        return False
    try:
        ACTIONS[action].instruction(dict(params))
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
        return False
    return True


def _sound(key: str, value: Any) -> bool:
    if key in ("index", "other", "towards"):
        return type(value) is int and 0 <= value < LARGEST
    if key == "element":
        return isinstance(value, str)
    if key == "include_level":
        return isinstance(value, bool)
    if key in ("position", "displacement", "axis", "factors"):
        kinds: tuple[type, ...] = (int,) if key == "factors" else (int, float)
        numbers = value if isinstance(value, list | tuple) else []
        return len(numbers) == 3 and all(type(each) in kinds and abs(each) < LARGEST for each in numbers)
    return key in ("distance", "radius", "angle") and type(value) in (int, float) and abs(value) < LARGEST
