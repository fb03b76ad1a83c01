"""The strict profile's rules on a CIF, checked on its raw values before the parsed structure is believed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from rewards.arrangement import Arrangement, Cell, FloatArray
from rewards.cif_leftovers import left_out
from rewards.limits import MAX_ROWS

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

Block = Mapping[str, Any]

MIN_CELL_LENGTH = 0.1  # Å, below any; much smaller ones overflow
MAX_CELL_LENGTH = 1_000.0  # Å, above any cell that a CIF of at most 4,000 sites describes
MAX_COORDINATE = 1e6  # beyond, wrapping leaves fewer than ten correct decimals
ROW_TOLERANCE = 2e-4  # fractional: within 1e-4 pymatgen takes the image that comes first for the row itself

_LENGTH_TAGS = tuple(f"_cell_length_{axis}" for axis in "abc")
_ANGLE_TAGS = tuple(f"_cell_angle_{angle}" for angle in ("alpha", "beta", "gamma"))
_SYSTEM_TAGS = ("_symmetry_cell_setting", "_space_group_crystal_system")  # may stand for cell parameters left out
_FRACT_TAGS = tuple(f"_atom_site_fract_{axis}" for axis in "xyz")
_HYDROGENS_TAG = "_atom_site_attached_hydrogens"
_SYMBOL_TAG, _LABEL_TAG, _OCCUPANCY_TAG = "_atom_site_type_symbol", "_atom_site_label", "_atom_site_occupancy"

# A number as CIF 1.1 defines it, standard uncertainty included. float() would also take nan, inf and 1_000.
# Two runs of digits with nothing fixed between them (\d+\.?\d*) would be tried at every length of both.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)(?:\(\d+\))?", re.ASCII)
_COMMENT = re.compile(r"(?:^|\s)#[^\n]*")
_SINGLE_TAGS = re.compile(
    r"(?:^|[\s;])(_cell_(?:length_[abc]|angle_(?:alpha|beta|gamma))"
    r"|_atom_site_(?:label|type_symbol|occupancy|fract_[xyz]))(?=\s|$)",
    re.IGNORECASE | re.ASCII,
)
# A tag that no reader looks for, with a quoted value, alone on its line: what is deleted there changes nothing.
_UNRELATED_VALUE = re.compile(
    r"^[ \t]*_(?!\S*(?:atom|cell|symm|space|magn|_?eof))[!-~]+[ \t]+(['\"])[^'\"#;\x00-\x1f]*\1[ \t\r]*$",
    re.IGNORECASE | re.ASCII | re.MULTILINE,
)
_OTHER_SITES = re.compile(r"_atom_site(?:\.|_Cartn_|_fract_|_label|_type_symbol)", re.IGNORECASE)
_ISOTOPES = {"D": "H", "T": "H"}
_TYPE_SYMBOL = re.compile(r"([A-Za-z]{1,2})[0-9]*(?:[+-][0-9]*)?")


class StrictRuleError(Exception):
    """The text breaks a rule of the strict profile; the message says which."""


@dataclass(frozen=True)
class AtomRows:
    """The one block of a text that holds a structure, its rows checked.

    Attributes:
        block: raw values by tag.
        elements: of each row, as this module understands the text.
        frac: of each row, shape (rows, 3).
    """

    block: Block
    elements: tuple[str, ...]
    frac: FloatArray


def check_rows(text: str, blocks: Sequence[Block]) -> AtomRows:
    """What a text says about the asymmetric unit, before any symmetry is carried out.

    Args:
        text: the CIF.
        blocks: raw values of each data block, by tag.

    Raises:
        StrictRuleError: naming the rule.
    """
    _check_text(text)
    with_sites = [block for block in blocks if _LABEL_TAG in block]
    if len(with_sites) != 1:
        raise StrictRuleError(f"one structure is needed, the text has {len(with_sites)}")
    block = with_sites[0]
    missing = [tag for tag in (*_LENGTH_TAGS, *_ANGLE_TAGS) if tag not in block]
    if missing and not any(tag in block for tag in _SYSTEM_TAGS):
        raise StrictRuleError(f"{missing[0]} is missing")
    elements, frac = _check_sites(block)
    if len(frac) <= MAX_ROWS and len(np.unique(frac % 1.0, axis=0)) < len(frac):
        raise StrictRuleError("two atoms are on one place")
    return AtomRows(block, elements, frac)


def strict_arrangement(rows: AtomRows, structure: Structure) -> Arrangement:
    """The arrangement that a parsed CIF describes, if the strict profile accepts it.

    Args:
        rows: of its one structure.
        structure: what pymatgen made of it, symmetry carried out.

    Raises:
        StrictRuleError: naming the rule.
    """
    cell = _cell(rows.block, structure)
    species = _species(structure)
    frac: FloatArray = np.array(structure.frac_coords, dtype=np.float64)
    if not np.isfinite(frac).all():
        raise StrictRuleError("a fractional coordinate is not finite")
    _check_every_row_is_a_site(rows, species, frac)
    arrangement = Arrangement(cell, species, frac)
    try:
        arrangement.matrix  # noqa: B018 (computed once, here, where a bad cell can still be named)
    except ValueError as error:
        raise StrictRuleError(str(error)) from None
    return arrangement


def _check_text(text: str) -> None:
    """One structure, each defining tag once, and no character that the reader would silently drop."""
    content = _COMMENT.sub("", text[max(0, text.find("data_")) :])
    # pymatgen deletes such characters: a minus sign or a decimal point would vanish from a coordinate.
    if not content.isascii() and not (read := _UNRELATED_VALUE.sub("", content)).isascii():
        odd = next(character for character in read if not character.isascii())
        raise StrictRuleError(f"the CIF holds the character U+{ord(odd):04X}, which is outside ASCII")
    seen: set[str] = set()
    for match in _SINGLE_TAGS.finditer(content):
        tag = match[1].lower()  # to the CIF standard _Cell_length_A is the same, though not to the reader
        if tag in seen:
            raise StrictRuleError(f"more than one structure: {tag} is given more than once")
        seen.add(tag)
    if (reason := left_out(text[max(0, text.find("data_")) :])) is not None:
        raise StrictRuleError(reason)


def _check_sites(block: Block) -> tuple[tuple[str, ...], FloatArray]:
    """Every row has a known element, three plain coordinates and occupancy 1."""
    labels = _column(block, _LABEL_TAG)
    frac: FloatArray = np.empty((len(labels), 3))
    for axis, tag in enumerate(_FRACT_TAGS):
        for row, value in enumerate(_column(block, tag, len(labels))):
            frac[row, axis] = _number(value, tag)
            if abs(frac[row, axis]) > MAX_COORDINATE:
                raise StrictRuleError(f"{tag} {value} is beyond {MAX_COORDINATE:g}")
    if _OCCUPANCY_TAG in block:
        for value in _column(block, _OCCUPANCY_TAG, len(labels)):
            # "?" leaves the default of the CIF dictionary, which is 1. So should ".", but the reader makes it
            # 1e-8 and then takes all such sites for one species.
            if value == "." or (value != "?" and not isclose(_number(value, _OCCUPANCY_TAG), 1, abs_tol=1e-6)):
                raise StrictRuleError(f"an occupancy is {value}, not 1")
    for tag, values in block.items():
        # Coordinates of other kinds are not read: a second list of atoms must not stand beside the first.
        if _OTHER_SITES.match(tag) and len(values) != len(labels):
            raise StrictRuleError(f"{tag[:40]} has {len(values)} values for {len(labels)} atoms")
    if any(count not in ("0", ".", "?") for count in block.get(_HYDROGENS_TAG, ())):
        raise StrictRuleError("a site has hydrogens without positions")
    if _SYMBOL_TAG not in block:
        return tuple(map(_element_of_label, labels)), frac
    return tuple(map(_element_of_symbol, _column(block, _SYMBOL_TAG, len(labels)))), frac


def _element_of_symbol(symbol: str) -> str:
    match = _TYPE_SYMBOL.fullmatch(symbol)
    if match is None or not _is_element(match[1]):
        raise StrictRuleError(f"{symbol[:40]!r} is not an element")
    return _ISOTOPES.get(match[1].title(), match[1].title())


def _element_of_label(label: str) -> str:
    """The element that a label begins with: of two letters if there is one, else of one."""
    # The reader takes OH for water of which only the hydrogen is meant, and drops the row.
    if not label.startswith(("OH", "Wat", "wat")):
        for letters in (label[:2], label[:1]):
            if letters.isalpha() and _is_element(letters):
                return _ISOTOPES.get(letters.title(), letters.title())
    raise StrictRuleError(f"the label {label[:40]!r} does not name an element")


def _check_every_row_is_a_site(rows: AtomRows, species: Sequence[str], frac: FloatArray) -> None:
    """Each row is a site of its own, of its element and on its place: the reader has left out or merged none."""
    unclaimed = dict.fromkeys(range(len(species)))
    for element, place in zip(rows.elements, rows.frac, strict=True):
        apart = frac - place
        apart -= np.rint(apart)
        near = np.flatnonzero((np.abs(apart) <= ROW_TOLERANCE).all(axis=1))
        site = next((site for site in near.tolist() if site in unclaimed and species[site] == element), None)
        if site is None:
            raise StrictRuleError(f"the row of {element} at {place.round(4).tolist()} is no site of its own")
        del unclaimed[site]


def _column(block: Block, tag: str, rows: int | None = None) -> list[str]:
    values = block.get(tag)
    if values is None:
        raise StrictRuleError(f"{tag} is missing")
    # Outside a loop the reader would take the letters of the value for rows.
    if not isinstance(values, list) or (rows is not None and len(values) != rows):
        raise StrictRuleError(f"{tag} is not a column of the atom-site loop")
    return values


def _number(value: str, tag: str) -> float:
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise StrictRuleError(f"{tag} {value[:40]!r} is not a number")
    return float(match[1])


def _is_element(symbol: str) -> bool:
    from pymatgen.core.periodic_table import Element

    return Element.is_valid_symbol(symbol.title())


def _cell(block: Block, structure: Structure) -> Cell:
    """The cell as written; from the structure where the crystal system stands for parameters left out."""
    tags = (*_LENGTH_TAGS, *_ANGLE_TAGS)
    if all(tag in block for tag in tags):
        raw = (block[tag][0] if isinstance(block[tag], list) and block[tag] else block[tag] for tag in tags)
        values = [_number(value, tag) for value, tag in zip(raw, tags, strict=True)]
    else:
        values = [float(value) for value in structure.lattice.parameters]
    for value, tag in zip(values, tags, strict=True):
        if tag in _LENGTH_TAGS and not MIN_CELL_LENGTH <= value <= MAX_CELL_LENGTH:
            raise StrictRuleError(f"{tag} {value:g} is not between {MIN_CELL_LENGTH:g} and {MAX_CELL_LENGTH:g} Å")
        if tag in _ANGLE_TAGS and not 0 < value < 180:
            raise StrictRuleError(f"{tag} {value:g} is not between 0 and 180 degrees")
    a, b, c, alpha, beta, gamma = values
    return (a, b, c, alpha, beta, gamma)


def _species(structure: Structure) -> tuple[str, ...]:
    """The element of each site, charges left out."""
    from pymatgen.core.periodic_table import DummySpecies

    if "implicit_hydrogens" in structure.site_properties:
        raise StrictRuleError("a site has hydrogens without positions")
    symbols = []
    for site in structure:
        amounts = list(site.species.items())
        if len(amounts) != 1:
            raise StrictRuleError("two atoms of different elements are on one place")
        element, amount = amounts[0]
        if isinstance(element, DummySpecies):
            raise StrictRuleError(f"{element.symbol!r} is not an element")
        if not isclose(amount, 1.0, abs_tol=1e-6):  # rows that coincide have been added up
            raise StrictRuleError(f"two atoms of {element.symbol} are on one place")
        symbols.append(str(element.symbol))
    return tuple(symbols)
