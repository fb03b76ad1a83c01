"""Reading an ordinary answer without pymatgen: one block, P 1, plain numbers, nothing to repair.

gemmi reads it in a hundredth of the time. The two readers differ on nearly everything that is odd, so the rule
is strict: whatever is not known to read alike in both is handed over, and pymatgen decides alone. What is taken
is right under both profiles, so that this module never gives a reason for a refusal. ``benchmarks/fuzz_reader.py``
holds the rule against pymatgen on mutated texts; run it after any change here or a new release of either reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import gemmi
import numpy as np
from ase.data import chemical_symbols

from rewards import limits
from rewards.arrangement import Arrangement, Cell, FloatArray
from rewards.plain_values import HandOverError, plain_cell, plain_numbers, plain_places
from rewards.silence import silent

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

_CELL_TAGS = tuple(
    f"_cell_{name}" for name in ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
)
_P1_NAMES = ("_symmetry_space_group_name_H-M", "_space_group_name_H-M_alt", "_space_group_name_Hall")
_P1_NUMBERS = ("_symmetry_Int_Tables_number", "_space_group_IT_number")
_UNREAD = ("_cell_volume", "_cell_formula_units_Z", "_symmetry_cell_setting", "_space_group_crystal_system")
_OPERATORS = ("_symmetry_equiv_pos_as_xyz", "_space_group_symop_operation_xyz")
_IDENTITIES = frozenset(quote + operator + quote for quote in ("", "'", '"') for operator in ("x,y,z", "x, y, z"))
_OPERATOR_IDS = ("_symmetry_equiv_pos_site_id", "_space_group_symop_id")
_FRACT_TAGS = ("_atom_site_fract_x", "_atom_site_fract_y", "_atom_site_fract_z")
_LABEL, _SYMBOL, _OCCUPANCY = "_atom_site_label", "_atom_site_type_symbol", "_atom_site_occupancy"
_SITE_TAGS = frozenset((*_FRACT_TAGS, _LABEL, _SYMBOL, _OCCUPANCY)) | {
    "_atom_site_symmetry_multiplicity",
    "_atom_site_Wyckoff_symbol",
    "_atom_site_B_iso_or_equiv",
    "_atom_site_U_iso_or_equiv",
    "_atom_site_adp_type",
    "_atom_site_calc_flag",
    "_atom_site_thermal_displace_type",
}
_READ_TAGS = frozenset((*_CELL_TAGS, *_P1_NAMES, *_P1_NUMBERS, *_UNREAD, *_OPERATORS))
# pymatgen looks for some names anywhere in a tag, and ends the block at _eof.
_MEANINGFUL = re.compile("atom|cell|symm|space|magn|_eof", re.IGNORECASE)

_MOST_ROWS = 1000  # every row is compared with all others, 8 MB
_PRINTABLE = bytes((*range(0x20, 0x7F), 0x09, 0x0A))
_WORDS_OF_CIF = ("save_", "stop_", "global_")
_COMMENT = re.compile(r"(\s|^)#.*$", re.MULTILINE)  # as pymatgen takes them out
_LABEL_OF_ELEMENT = re.compile(r"([A-Z][a-z]?)[0-9]*")
_ELEMENTS = frozenset(chemical_symbols[1:])  # without D and T


@dataclass(frozen=True, eq=False)
class PlainReading:
    """A plain P 1 crystal, for each profile; the pymatgen structure is built when first asked for.

    Attributes:
        cell: a, b, c in Å and alpha, beta, gamma in degrees, as written.
        species: one element symbol per site, in file order.
        labels: of the sites.
        frac: fractional coordinates in [0, 1], thirds made exact as pymatgen does, shape (n_sites, 3).
    """

    cell: Cell
    species: tuple[str, ...]
    labels: tuple[str, ...]
    frac: FloatArray

    @cached_property
    def strict(self) -> Arrangement:
        """What the strict profile compares, sites in file order."""
        return Arrangement(self.cell, self.species, self.frac)

    @cached_property
    def paper(self) -> Structure:
        """What ``CifParser.parse_structures(primitive=False, check_occu=False)`` makes of the same text."""
        from pymatgen.core.composition import Composition
        from pymatgen.core.lattice import Lattice
        from pymatgen.core.structure import Structure

        with silent():  # a noble gas has no electronegativity to sort by
            compositions = {symbol: Composition({symbol: 1.0}) for symbol in self.species}
            rank = {symbol: k for k, symbol in enumerate(sorted(compositions, key=compositions.__getitem__))}
            order = sorted(range(len(self.species)), key=lambda site: rank[self.species[site]])
            return Structure(
                Lattice.from_parameters(*self.cell),
                [compositions[self.species[site]] for site in order],
                self.frac[order],
                labels=[self.labels[site] for site in order],
            )


def read_plain(text: str) -> PlainReading | None:
    """The crystal of an ordinary P 1 text, or None where pymatgen has to read it; never raises."""
    try:
        return _read(text)
    except Exception:  # a clause of the rule, gemmi, or float(): in any case pymatgen decides
        return None


def why_handed_over(text: str) -> str | None:
    """The clause of the rule, or the error, that hands a text over to pymatgen; None if it is read here."""
    try:
        _read(text)
    except Exception as error:
        return str(error)
    return None


def _read(text: str) -> PlainReading:
    plain = _plain_block(text)
    pairs: dict[str, str] = {}
    operators: list[str] = []
    sites: gemmi.cif.Loop | None = None
    loops = 0
    for item in gemmi.cif.read_string(plain).sole_block():  # refuses a tag that is given twice
        if (pair := item.pair) is not None:
            _add_pair(pairs, *cast("list[str]", pair))
            continue
        if (loop := item.loop) is None or not loop.length():
            raise HandOverError("a save frame, or a loop without rows")
        loops += 1
        if not loop.tags[0].startswith("_atom_site_"):
            operators += _operators(loop)
        elif sites is None:
            sites = loop
        else:
            raise HandOverError("two loops of sites")
    if sites is None:
        raise HandOverError("no loop of sites")
    if loops != plain.count("loop_"):  # LOOP_ is a loop to gemmi only, loop_x and "loop_" to pymatgen only
        raise HandOverError("the word loop_ stands for something else than a loop")
    _check_p1(pairs, operators)
    if not all(tag in pairs for tag in _CELL_TAGS):
        raise HandOverError("a cell parameter is missing")
    return _crystal(plain_cell([pairs[tag] for tag in _CELL_TAGS]), sites)


def _plain_block(text: str) -> str:
    """The text from data_ on, without comments, in which only what both readers split alike is left."""
    text = text.strip()
    limits.check_text(text)
    start = text.find("data_")
    if start < 0 or text[text.rfind("\n", 0, start) + 1 : start].strip():
        raise HandOverError("data_ does not begin a line")
    block = text[start:].replace("\r\n", "\n")
    if "#" in block:
        block = _COMMENT.sub("", block)
    if not block.isascii() or block.encode().translate(None, _PRINTABLE):
        raise HandOverError("a character that is neither printable ASCII nor a tab nor a line end")
    if ";" in block or "#" in block:
        raise HandOverError("a text field, or a comment inside a word")
    lower = block.lower()
    if lower.count("data_") > 1 or "powder_pattern" in block:
        raise HandOverError("more than one block, or one that pymatgen skips")
    for word in _WORDS_OF_CIF:
        if word in lower:
            raise HandOverError(f"the word {word}")
    return block


def _add_pair(pairs: dict[str, str], tag: str, value: str) -> None:
    if tag not in _READ_TAGS and _MEANINGFUL.search(tag):
        raise HandOverError(f"the tag {tag} outside a loop")
    if value[0] in "'\"" and "_" in value:
        raise HandOverError("a quoted value that may hold a tag")
    pairs[tag] = value


def _operators(loop: gemmi.cif.Loop) -> list[str]:
    """The symmetry operators of a loop that holds nothing else but their numbers."""
    tags: list[str] = loop.tags
    values: list[str] = loop.values
    listed = [k for k, tag in enumerate(tags) if tag in _OPERATORS]
    numbers = [k for k, tag in enumerate(tags) if tag in _OPERATOR_IDS]
    if len(listed) != 1 or len(listed) + len(numbers) != len(tags):
        raise HandOverError("a loop that is neither of sites nor of operators")
    if any(not value.isdigit() for k in numbers for value in values[k :: len(tags)]):
        raise HandOverError("an operator whose number is none")
    return values[listed[0] :: len(tags)]


def _check_p1(pairs: dict[str, str], looped: list[str]) -> None:
    """Identity operators or, where none is listed, a group named P 1 or not at all."""
    operators = looped + [pairs[tag] for tag in _OPERATORS if tag in pairs]
    if len(operators) > 1 or not _IDENTITIES.issuperset(operators):
        raise HandOverError("an operator that is not the identity, or more than one")
    if operators:
        return
    names = [pairs[tag].strip("'\"").replace(" ", "") for tag in _P1_NAMES if tag in pairs]
    numbers = [pairs[tag] for tag in _P1_NUMBERS if tag in pairs]
    if any(name != "P1" for name in names) or any(number != "1" for number in numbers):
        raise HandOverError("a space group without operators that is not P 1")


def _crystal(cell: Cell, sites: gemmi.cif.Loop) -> PlainReading:
    tags: list[str] = sites.tags
    values: list[str] = sites.values
    width = len(tags)
    if not _SITE_TAGS.issuperset(tags):
        raise HandOverError("a loop of sites with a tag that pymatgen may read")
    limits.check(len(values) // width, _MOST_ROWS, "atom rows")
    everything = "".join(values)
    if "'" in everything or '"' in everything:
        raise HandOverError("a quote in the loop of sites")
    columns = {tag: values[k::width] for k, tag in enumerate(tags)}
    if _LABEL not in columns or not all(tag in columns for tag in _FRACT_TAGS):
        raise HandOverError("a column of the sites is missing")
    labels = columns[_LABEL]
    species = columns[_SYMBOL] if _SYMBOL in columns else [_element_of(label) for label in labels]
    if not _ELEMENTS.issuperset(species):
        raise HandOverError("a symbol that is not an element as the periodic table writes it")
    if _OCCUPANCY in columns and any(share != 1 for share in plain_numbers(list(set(columns[_OCCUPANCY])))):
        raise HandOverError("an occupancy that is not 1")
    x, y, z = (columns[tag] for tag in _FRACT_TAGS)
    frac = np.array(plain_numbers(x + y + z)).reshape(3, -1).T
    return PlainReading(cell, tuple(species), tuple(labels), plain_places(frac))


def _element_of(label: str) -> str:
    match = _LABEL_OF_ELEMENT.fullmatch(label)
    if match is None:
        raise HandOverError("a label without symbol that is more than an element and a number")
    return match[1]
