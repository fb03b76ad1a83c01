"""Faults of the form: misspelt tags, broken loops and rows, and what editors, chats and other programs leave behind.

Nothing is lost here. :data:`FAULTS` holds these and those of :mod:`~atomworld_env.families.cif_repair_losses`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from atomworld_env.families import cif_repair_losses as losses
from atomworld_env.families.cif_repair_fault import Damage, Fault
from atomworld_env.families.cif_repair_losses import ANGLES, COORDINATES, LENGTHS, OPERATORS
from atomworld_env.families.cif_repair_text import SITE_PREFIX, CifText, NoPlaceError

_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_OTHER_AXES = ("xyz", "uvw", "ijk")
_FRACTIONS = ("abc", "uvw", "ijk")
_SWAPS = (
    ("type_symbol", "fract_x"), ("label", "fract_x"), ("label", "fract_y"), ("type_symbol", "fract_z"),
    ("symmetry_multiplicity", "fract_x"), ("fract_z", "occupancy"), ("fract_y", "occupancy"),
    ("type_symbol", "symmetry_multiplicity"), ("label", "occupancy"),
)  # fmt: skip
_WRONG_OPERATORS = ("-x, -y, -z", "-x, -y, z", "x, -y, z", "x+1/2, y+1/2, z+1/2", "-x, y+1/2, -z")
_WRONG_GROUPS = (("P -1", 2), ("P 2", 3), ("P m", 6), ("P 2/m", 10), ("P 2 2 2", 16), ("P m m m", 47))
_NOTES = (
    "Note: relaxed with PBE, forces below 0.01 eV per angstrom",
    "Here are the atomic positions:",
    "... (rest as in the parent structure)",
    "TODO check this site",
)
_LENGTH_UNITS = ("A", "Å", "Angstrom", " Å")
_ANGLE_UNITS = ("deg", "°", "degrees", " °")


def _replaced(text: CifText, old: str, new: str) -> CifText:
    """Every tag that begins with `old` begins with `new`."""
    lines = tuple(line.replace(old, new, 1) if line.lstrip().startswith(old) else line for line in text.lines)
    if lines == text.lines:
        raise NoPlaceError(f"no tag {old}")
    return CifText(lines)


def length_spelling(text: CifText, rng: np.random.Generator) -> Damage:
    """The cell lengths are called by other axes."""
    axes = _OTHER_AXES[rng.integers(3)]
    damaged = text
    for tag, axis in zip(LENGTHS, axes, strict=True):
        damaged = _replaced(damaged, tag, f"_cell_length_{axis}")
    return Damage(text, damaged, axes)


def fract_spelling(text: CifText, rng: np.random.Generator) -> Damage:
    """``fract`` has lost its t, and the coordinates are called by other axes."""
    axes = _FRACTIONS[rng.integers(3)]
    damaged = text
    for tag, axis in zip(COORDINATES, axes, strict=True):
        damaged = _replaced(damaged, SITE_PREFIX + tag, f"{SITE_PREFIX}frac_{axis}")
    return Damage(text, damaged, axes)


def atom_spelling(text: CifText, rng: np.random.Generator) -> Damage:
    """``_atom_site`` is ``_atom``."""
    return Damage(text, _replaced(text, "_atom_site_", "_atom_"), "_atom")


def cell_spelling(text: CifText, rng: np.random.Generator) -> Damage:
    """``_cell_length`` and ``_cell_angle`` are ``_cell``."""
    return Damage(text, _replaced(_replaced(text, "_cell_length_", "_cell_"), "_cell_angle_", "_cell_"), "_cell")


def lattice_spelling(text: CifText, rng: np.random.Generator) -> Damage:
    """``_cell`` is ``_lattice``."""
    return Damage(text, _replaced(text, "_cell_", "_lattice_"), "_lattice")


def missing_loop(text: CifText, rng: np.random.Generator) -> Damage:
    """A ``loop_`` is missing."""
    loops = [number for number, line in enumerate(text.lines) if line.strip() == "loop_"]
    if not loops:
        raise NoPlaceError("no loop_")
    which = int(rng.integers(len(loops)))
    return Damage(text, text.without(loops[which]), f"loop {which + 1} of {len(loops)}")


def glued_values(text: CifText, rng: np.random.Generator) -> Damage:
    """Coordinates stand without a blank between them; each has the same number of decimals."""
    first = text.site_tags.index("fract_x") + int(rng.integers(2))
    count = 2 if first > text.site_tags.index("fract_x") else int(rng.integers(2, 4))
    rows = text.rows if rng.integers(2) else [int(rng.choice(text.rows))]
    damaged = text
    for row in rows:
        words = text.words(row)
        words[first : first + count] = ["".join(words[first : first + count])]
        damaged = damaged.with_words(row, words)
    return Damage(text, damaged, f"{count} columns in {'all rows' if len(rows) > 1 else 'one row'}")


def swapped_columns(text: CifText, rng: np.random.Generator) -> Damage:
    """Two tags of the atom-site loop have changed places, the values have not."""
    pairs = [pair for pair in _SWAPS if set(pair) <= set(text.site_tags)]
    if not pairs:
        raise NoPlaceError("no two columns to swap")
    one, other = pairs[rng.integers(len(pairs))]
    first, second = text.line_of(SITE_PREFIX + one), text.line_of(SITE_PREFIX + other)
    damaged = text.with_line(first, text.lines[second]).with_line(second, text.lines[first])
    return Damage(text, damaged, f"{one} and {other}")


def symmetry(text: CifText, rng: np.random.Generator) -> Damage:
    """Operators or a space group are given that the atoms, all listed, do not have: the formula sum speaks against it.

    Where a wrong operator replaces the identity, the name P 1 does.
    """
    operator = text.line_of(OPERATORS) + 1
    form = int(rng.integers(3))
    if form == 2:
        name, number = _WRONG_GROUPS[rng.integers(len(_WRONG_GROUPS))]
        damaged = text.with_line(
            text.line_of("_symmetry_space_group_name_H-M"), f"_symmetry_space_group_name_H-M   '{name}'"
        )
        damaged = damaged.with_line(
            text.line_of("_symmetry_Int_Tables_number"), f"_symmetry_Int_Tables_number   {number}"
        )
        first = text.loop_before(OPERATORS)
        return Damage(text, damaged.without(*range(first, operator + 1)), f"group {name}")
    wrong = _WRONG_OPERATORS[rng.integers(len(_WRONG_OPERATORS))]
    if form == 0:
        return Damage(text, text.inserted(operator + 1, f"  2  '{wrong}'"), f"one more operator {wrong}")
    return Damage(text, text.with_line(operator, f"  1  '{wrong}'"), f"the operator {wrong}")


def decimal_commas(text: CifText, rng: np.random.Generator) -> Damage:
    """Numbers are written with decimal commas: those of the cell, of the sites, or all."""
    form = int(rng.integers(3))
    rows = text.rows
    cell = [number for number, line in enumerate(text.lines) if line.startswith("_cell_")]
    numbers = [*(cell if form != 1 else ()), *(rows if form != 0 else ())]
    damaged = text
    for number in numbers:
        damaged = damaged.with_line(number, _DECIMAL_POINT.sub(",", text.lines[number]))
    if damaged == text:
        raise NoPlaceError("no decimal point there")
    return Damage(text, damaged, ("cell", "sites", "cell and sites")[form])


def units(text: CifText, rng: np.random.Generator) -> Damage:
    """Units stand behind the cell lengths, the angles or both."""
    form, spelling = int(rng.integers(3)), int(rng.integers(4))
    damaged = text
    for tags, unit in ((LENGTHS if form != 1 else (), _LENGTH_UNITS), (ANGLES if form != 0 else (), _ANGLE_UNITS)):
        for tag in tags:
            number = text.line_of(tag)
            damaged = damaged.with_line(number, damaged.lines[number] + unit[spelling])
    return Damage(text, damaged, ("lengths", "angles", "lengths and angles")[form])


def fence(text: CifText, rng: np.random.Generator) -> Damage:
    """A Markdown fence sticks to a line."""
    form = int(rng.integers(3))
    if form == 0:
        number = text.rows[-1]
        return Damage(text, text.with_line(number, text.lines[number] + "```"), "after the last row")
    if form == 1:
        number = int(rng.choice(text.rows))
        return Damage(text, text.with_line(number, text.lines[number] + " ```"), "after a row")
    number = text.line_of(LENGTHS[rng.integers(3)])
    return Damage(text, text.with_line(number, "```" + text.lines[number]), "before a cell length")


def stray_text(text: CifText, rng: np.random.Generator) -> Damage:
    """A remark without its # stands in the atom-site loop."""
    first = text.rows[0] - len(text.site_tags)
    number = int(rng.integers(first, text.rows[-1] + 2))
    place = "among the tags" if number < text.rows[0] else "among the rows"
    return Damage(text, text.inserted(number, _NOTES[rng.integers(len(_NOTES))]), place)


def open_quote(text: CifText, rng: np.random.Generator) -> Damage:
    """A quotation mark is never closed, or never opened."""
    quoted = [number for number, line in enumerate(text.lines) if line.count("'") == 2]
    if not quoted:
        raise NoPlaceError("nothing is quoted")
    number = quoted[rng.integers(len(quoted))]
    head, middle, tail = text.lines[number].split("'")
    closes = bool(rng.integers(2))
    line = f"{head}'{middle}{tail}" if closes else f"{head}{middle}'{tail}"
    return Damage(text, text.with_line(number, line), "never closed" if closes else "never opened")


_FAULTS = (
    Fault("lost_length", losses.lost_length, 1.0, full_only=True),
    Fault("lost_angle", losses.lost_angle, 1.0, full_only=True),
    Fault("unknown_length", losses.unknown_length, 0.4),
    Fault("unknown_angle", losses.unknown_angle, 0.4),
    Fault("unknown_coordinate", losses.unknown_coordinate, 0.4),
    Fault("cut_site", losses.cut_site, 0.6),
    Fault("cut_tail", losses.cut_tail, 0.4, full_only=True),
    Fault("symbol_tag", losses.symbol_tag, 0.3),
    Fault("label_tag", losses.label_tag, 0.3),
    Fault("multiplicity_tag", losses.multiplicity_tag, 0.4, full_only=True),
    Fault("coordinate_tag", losses.coordinate_tag, 0.3),
    Fault("occupancy_tag", losses.occupancy_tag, 0.3, full_only=True),
    Fault("label_column", losses.label_column, 0.6),
    Fault("length_spelling", length_spelling, 0.1, loses=False),
    Fault("fract_spelling", fract_spelling, 0.1, loses=False),
    Fault("atom_spelling", atom_spelling, 0.1, loses=False),
    Fault("cell_spelling", cell_spelling, 0.1, loses=False),
    Fault("lattice_spelling", lattice_spelling, 0.1, loses=False),
    Fault("missing_loop", missing_loop, 0.2, loses=False),
    Fault("short_row", losses.short_row, 0.5),
    Fault("glued_values", glued_values, 0.6, loses=False),
    Fault("swapped_columns", swapped_columns, 0.5, loses=False),
    Fault("symmetry", symmetry, 0.8, full_only=True),
    Fault("decimal_commas", decimal_commas, 0.2, loses=False),
    Fault("units", units, 0.2, loses=False),
    Fault("fence", fence, 0.2, loses=False),
    Fault("stray_text", stray_text, 0.2, loses=False),
    Fault("open_quote", open_quote, 0.2, full_only=True, loses=False),
)

FAULTS: Mapping[str, Fault] = MappingProxyType({fault.name: fault for fault in _FAULTS})
"""Every kind of damage, by name."""
