"""Faults that take a number or a word away: derivable from what is left, or answered by a placeholder."""

from __future__ import annotations

from math import acos, cos, degrees, prod, radians, sqrt

import numpy as np

from atomworld_env.families.cif_repair_fault import Damage
from atomworld_env.families.cif_repair_text import SITE_PREFIX, CifText, NoPlaceError
from rewards.placeholders import LostValue

LENGTHS = tuple(f"_cell_length_{axis}" for axis in "abc")
ANGLES = tuple(f"_cell_angle_{name}" for name in ("alpha", "beta", "gamma"))
VOLUME = "_cell_volume"
COORDINATES = ("fract_x", "fract_y", "fract_z")
OPERATORS = "_symmetry_equiv_pos_as_xyz"

UNIQUE_ANGLE = 0.3
"""Degrees. Two angles give a cell of the same volume; the one lost is derivable if both are as near to it as this."""


def lost_length(text: CifText, rng: np.random.Generator) -> Damage:
    """The line of a cell length; the volume gives it back."""
    text.line_of(VOLUME)
    tag = LENGTHS[rng.integers(3)]
    return Damage(text, text.without(text.line_of(tag)), tag)


def lost_angle(text: CifText, rng: np.random.Generator) -> Damage:
    """The line of a cell angle that the volume gives back without a second solution."""
    unique = [tag for tag in ANGLES if _is_unique(text, tag)]
    if not unique:
        raise NoPlaceError("the volume leaves two values for each angle")
    tag = unique[rng.integers(len(unique))]
    return Damage(text, text.without(text.line_of(tag)), tag)


def angles_of_volume(volume: float, lengths: tuple[float, float, float], others: tuple[float, float]) -> list[float]:
    """The angles in degrees that give a cell its volume, two other angles known.

    Formula: V² = (abc)² (1 − x² − y² − z² + 2xyz) with the cosines x, y, z (International Tables for
    Crystallography B, section 1.1.2), a quadratic equation for one of them.
    """
    y, z = (cos(radians(angle)) for angle in others)
    discriminant = (y * z) ** 2 - y**2 - z**2 + 1 - (volume / prod(lengths)) ** 2
    root = sqrt(max(0.0, discriminant))
    return [degrees(acos(x)) for x in (y * z + root, y * z - root) if -1 < x < 1]


def _is_unique(text: CifText, tag: str) -> bool:
    a, b, c = (float(text.value(each)) for each in LENGTHS)
    y, z = (float(text.value(each)) for each in ANGLES if each != tag)
    found = angles_of_volume(float(text.value(VOLUME)), (a, b, c), (y, z))
    return bool(found) and all(abs(angle - float(text.value(tag))) <= UNIQUE_ANGLE for angle in found)


def unknown_length(text: CifText, rng: np.random.Generator) -> Damage:
    """The line of a cell length where no volume is given."""
    return _unknown(text, LENGTHS[rng.integers(3)])


def unknown_angle(text: CifText, rng: np.random.Generator) -> Damage:
    """The line of a cell angle where no volume is given. A P 1 file does not say which symmetry would fix it."""
    return _unknown(text, ANGLES[rng.integers(3)])


def _unknown(text: CifText, tag: str) -> Damage:
    if any(line.startswith(VOLUME) for line in text.lines):
        text = text.without(text.line_of(VOLUME))
    return Damage(text, text.without(text.line_of(tag)), tag, (LostValue(tag, "", text.value(tag)),))


def unknown_coordinate(text: CifText, rng: np.random.Generator) -> Damage:
    """One coordinate of one site; which, the instruction says, as two numbers alone could be any two of three."""
    row = int(rng.choice(text.rows))
    tag = COORDINATES[rng.integers(3)]
    column = text.site_tags.index(tag)
    words = text.words(row)
    lost = LostValue(SITE_PREFIX + tag, text.label(row), words.pop(column))
    return Damage(text, text.with_words(row, words), tag, (lost,))


def cut_site(text: CifText, rng: np.random.Generator) -> Damage:
    """The file ends in the last row, before its coordinates."""
    row = text.rows[-1]
    words = text.words(row)
    first = text.site_tags.index("fract_x")
    lost = tuple(LostValue(SITE_PREFIX + tag, text.label(row), words[text.site_tags.index(tag)]) for tag in COORDINATES)
    # After the label and before the multiplicity, or after it; in the short style these are one.
    kept = int(rng.integers(text.site_tags.index("label") + 1, first + 1)) if "occupancy" in text.site_tags else first
    return Damage(text, text.with_words(row, words[:kept]), f"after {text.site_tags[kept - 1]}", lost)


def cut_tail(text: CifText, rng: np.random.Generator) -> Damage:
    """The file ends before the last occupancy, or, where the operators come last, before these are complete."""
    if rng.integers(2):
        row = text.rows[-1]
        if text.site_tags[-1] != "occupancy":
            raise NoPlaceError("the last column is no occupancy")
        return Damage(text, text.with_words(row, text.words(row)[:-1]), "occupancy")
    first = text.loop_before(OPERATORS)
    last = text.line_of(OPERATORS) + 1  # one operator
    loop = text.lines[first : last + 1]
    moved = CifText((*text.lines[:first], *text.lines[last + 1 :], *loop))
    kept = int(rng.integers(1, len(loop) + 1))
    line = loop[kept - 1] if kept < len(loop) else loop[-1][: int(rng.integers(4, len(loop[-1]) - 1))].rstrip()
    cut = CifText((*moved.lines[: len(moved.lines) - len(loop) + kept - 1], line))
    return Damage(moved, cut, f"operators, {len(loop) - kept} lines and more")


def symbol_tag(text: CifText, rng: np.random.Generator) -> Damage:
    """The tag of the column of type symbols; its values stay."""
    return _without_tag(text, "type_symbol")


def label_tag(text: CifText, rng: np.random.Generator) -> Damage:
    """The tag of the column of labels; its values stay."""
    return _without_tag(text, "label")


def multiplicity_tag(text: CifText, rng: np.random.Generator) -> Damage:
    """The tag of the column of multiplicities; its values stay."""
    return _without_tag(text, "symmetry_multiplicity")


def coordinate_tag(text: CifText, rng: np.random.Generator) -> Damage:
    """The tag of one column of coordinates; its values stay."""
    return _without_tag(text, COORDINATES[rng.integers(3)])


def occupancy_tag(text: CifText, rng: np.random.Generator) -> Damage:
    """The tag of the column of occupancies; its values stay."""
    return _without_tag(text, "occupancy")


def _without_tag(text: CifText, tag: str) -> Damage:
    return Damage(text, text.without(text.line_of(SITE_PREFIX + tag)), tag)


def label_column(text: CifText, rng: np.random.Generator) -> Damage:
    """The whole column of labels; an element and a number that counts from 0 make a label."""
    column = text.site_tags.index("label")
    damaged = text
    for row in text.rows:
        words = text.words(row)
        del words[column]
        damaged = damaged.with_words(row, words)
    return Damage(text, damaged.without(damaged.line_of(SITE_PREFIX + "label")), "label")


def short_row(text: CifText, rng: np.random.Generator) -> Damage:
    """One word of one row that the rest of the row, or the rule that all sites are full, gives back."""
    derivable = [tag for tag in text.site_tags if tag not in COORDINATES]
    tag = derivable[rng.integers(len(derivable))]
    row = int(rng.choice(text.rows))
    words = text.words(row)
    del words[text.site_tags.index(tag)]
    return Damage(text, text.with_words(row, words), tag)
