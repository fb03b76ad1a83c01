"""The settings that the name of a space group may mean, where a CIF names one and lists no operators.

A Hermann-Mauguin name or a number leaves the origin or the axes open for 31 groups: origin choice 1 or 2, hexagonal or
rhombohedral axes. The CIF readers take one of them, or P 1 where the name is written otherwise than in their table.
Here every setting that the names allow is found (gemmi's table of 564 settings, full names from spglib), and its
operators can be written into the text, which then means but one crystal.

A Hall symbol, a suffix (``:1``, ``:2``, ``:H``, ``:R``; ``S`` and ``Z`` for origins 1 and 2 as in the ICSD) and the
coordinate-system code leave nothing open. Where several names are given, only settings that fit all of them count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import gemmi

from rewards import limits
from rewards.cif_symmetry import NAME_TAGS, OPERATOR_TAGS
from rewards.silence import silent

_MOST_LETTERS = 64
_NAME = re.compile(r"(?<!\S)_(?:symmetry|space_group)_(?:name|space_group|int_tables|it_)", re.IGNORECASE)
_SITE_LOOP = re.compile(r"^[ \t]*loop_(?:\s|#[^\n]*\n)+_atom_site_(?!aniso)", re.IGNORECASE | re.MULTILINE)
_SYMMETRY = re.compile(r"(?<!\S)_(symmetry|space_group)_(?=\S)", re.IGNORECASE)
_TAGS = frozenset(tag.lower() for tag in NAME_TAGS)
_FULL_NAME, _CODE = "_space_group_name_h-m_full", "_space_group_it_coordinate_system_code"
_LABEL = "_atom_site_label"
_GIVEN_NUMBER = re.compile(r"\s*\((?:no\.?\s*|#)?(\d{2,3})\)$", re.IGNORECASE)  # F d -3 m (227)
_ORNAMENTS = re.compile(r"[\s_~(){}$]")
_ENDING = re.compile(r"(.+?)(?:o([12])|([hrsz]))")  # as the ICSD writes them: F d -3 m Z, R -3 m H
_ORIGINS = {"s": "1", "z": "2"}

Settings = frozenset[int]
"""Places in gemmi's table."""


@dataclass(frozen=True)
class Setting:
    """One setting of a space group.

    Attributes:
        name: Hermann-Mauguin name with a suffix where it needs one, or a Hall symbol.
        operators: ``x,y,z`` and all others of the cell, at most 192.
    """

    name: str
    operators: tuple[str, ...]


@dataclass(frozen=True)
class NamedSymmetry:
    """What the names in a CIF without operators may mean.

    Attributes:
        settings: none where no name is given or known, or where they contradict one another.
        note: why there are none although there is a name; empty if there are.
    """

    settings: tuple[Setting, ...] = ()
    note: str = ""


def named_symmetry(text: str) -> NamedSymmetry:
    """The settings that a CIF text may mean: empty where it lists operators or names no group. Total and bounded."""
    if not _NAME.search(text):
        return NamedSymmetry()
    try:
        limits.check_text(text)
        with silent():
            found = _settings_of(_names(text))
    except Exception:  # the reader says what is wrong with such a text
        return NamedSymmetry()
    return found if any(len(setting.operators) > 1 for setting in found.settings) else NamedSymmetry(note=found.note)


def with_operators(text: str, setting: Setting) -> str:
    """The text with the operators of a setting before its list of atoms; as it is where that begins unusually."""
    place = _SITE_LOOP.search(text)
    if place is None:
        return text
    loop = "\n".join(("loop_", OPERATOR_TAGS[0], *setting.operators, ""))
    return f"{text[: place.start()]}{loop}{text[place.start() :]}"


def without_symmetry(text: str) -> str:
    """The text with no symmetry that a reader would find, so that it is read as P 1."""
    return _SYMMETRY.sub("_unread_", text)


def _names(text: str) -> dict[str, str]:
    """Values of the tags that name the group, by tag in small letters; none where operators are listed."""
    from pymatgen.io.cif import CifFile

    blocks = list(CifFile.from_str(text.strip()).data.values())
    with_sites = [block.data for block in blocks if any(tag.lower() == _LABEL for tag in block.data)]
    if len(with_sites) != 1:
        return {}
    found = {tag.lower(): value for tag, value in with_sites[0].items()}
    if any(found.get(tag) for tag in OPERATOR_TAGS):
        return {}
    named: dict[str, str] = {}
    for tag in (*sorted(_TAGS), _FULL_NAME, _CODE):
        value = found.get(tag)
        word = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(word, str) and word.strip() not in ("", "?", "."):
            named[tag] = word.strip()
    return named


def _settings_of(names: Mapping[str, str]) -> NamedSymmetry:
    table = _table()
    known: list[Settings] = []
    hall, numbers, unknown = "", set[int](), ""
    code = names.get(_CODE, "")
    for tag, name in names.items():
        if tag == _CODE:
            continue
        if "number" in tag:
            numbers.update([int(name)] if name.isdecimal() and 1 <= int(name[:4]) <= 230 else [])
        elif found := (_of_hall_symbol(name) if "hall" in tag else frozenset()) or _settings_of_name(name):
            known.append(found)
        elif "hall" in tag and _hall_operators(name):
            hall = name
        else:
            unknown = unknown or name
    if not known and numbers and not hall:
        known = [_standard(number, code) for number in numbers]
    settings = frozenset(range(len(table))) if not known else frozenset.intersection(*known)
    settings = frozenset(k for k in settings if not numbers or numbers == {table[k].number})
    contradiction = NamedSymmetry(note="the names of the space group contradict one another")
    if hall:
        operators = _hall_operators(hall)
        agrees = any(len(table[k].operations()) == len(operators) for k in settings)
        return NamedSymmetry((Setting(hall, operators),)) if agrees else contradiction
    if not known:
        note = f"the space group {unknown[:40]!r} is not known, so that P 1 is read" if unknown else ""
        return NamedSymmetry(note=note)
    if not settings:
        return contradiction
    return NamedSymmetry(
        tuple(Setting(table[k].xhm(), _triplets(table[k].operations())) for k in sorted(_of_code(settings, code)))
    )


def _of_hall_symbol(symbol: str) -> Settings:
    return frozenset(k for k, each in enumerate(_table()) if each.hall == symbol)


def _settings_of_name(name: str) -> Settings:
    """Every setting that a Hermann-Mauguin name may mean, none if it is not known."""
    if len(name) > _MOST_LETTERS or not name.isascii():
        return frozenset()
    number = _GIVEN_NUMBER.search(name)
    base, _, suffix = _compact(name[: number.start()] if number else name).partition(":")
    by_name = _by_name()
    found = by_name.get(base)
    if found is None and (ending := _ENDING.fullmatch(base)) and ending[1] in by_name:
        found, suffix = by_name[ending[1]], ending[2] or ending[3]
    if found is None:
        # Names that gemmi knows beside its table, as H 3 for R 3 on hexagonal axes and Cmce for Cmca.
        one = gemmi.find_spacegroup_by_name(name)
        if one is None:
            return frozenset()
        hexagonal = base.startswith("h")
        found = frozenset(
            k for k, each in enumerate(_table()) if each.hm == one.hm and (each.ext == one.ext or not hexagonal)
        )
    found = _of_code(found, suffix)
    return frozenset(k for k in found if number is None or _table()[k].number == int(number[1]))


def _of_code(settings: Settings, code: str) -> Settings:
    """Those of an origin, axes or both (``2``, ``h``, ``b1``, ``1cab``); all where the code fits none of them."""
    code = code.strip().lower()
    code = _ORIGINS.get(code, code)
    table = _table()
    chosen = {
        k for k in settings if code in (table[k].ext.strip("\0").lower() + table[k].qualifier, table[k].qualifier)
    }
    chosen |= {k for k in settings if code and code == table[k].ext.lower()}
    return frozenset(chosen) if code and chosen else settings


def _standard(number: int, code: str) -> Settings:
    """The standard setting of a number with all its origins or axes; another one only if the code says so."""
    table = _table()
    of_number = frozenset(k for k, each in enumerate(table) if each.number == number)
    coded = _of_code(of_number, code)
    if coded != of_number:
        return coded
    names = {table[k].hm for k in of_number if table[k].is_reference_setting()}
    return frozenset(k for k in of_number if table[k].hm in names)


@lru_cache(maxsize=256)
def _hall_operators(symbol: str) -> tuple[str, ...]:
    """The operators of a Hall symbol; none if it is no such symbol."""
    if len(symbol) > _MOST_LETTERS or not symbol.isascii():
        return ()
    try:
        return _triplets(gemmi.symops_from_hall(symbol))
    except Exception:  # of several kinds
        return ()


def _triplets(operations: gemmi.GroupOps) -> tuple[str, ...]:
    found = tuple(operation.triplet() for operation in operations)
    return found if len(found) <= limits.MAX_OPERATORS else ()


@lru_cache(maxsize=1)
def _table() -> tuple[gemmi.SpaceGroup, ...]:
    return tuple(gemmi.spacegroup_table())


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, Settings]:
    """Settings by short, full and old names, without blanks and in small letters."""
    import spglib

    table = _table()
    full: dict[str, str] = {}
    for hall_number in range(1, 531):
        if (with_full := spglib.get_spacegroup_type(hall_number)) is not None:
            full[with_full.hall_symbol] = _compact(with_full.international_full)
    names: dict[str, set[int]] = {}
    old: dict[str, set[int]] = {}
    for k, setting in enumerate(table):
        compact = _compact(setting.hm)
        short = "" if setting.ext in ("H", "R") else _compact(setting.short_name())
        for name in {compact, short, full.get(setting.hall, "")} - {""}:
            names.setdefault(name, set()).add(k)
            # Until 1992 the bar of the cubic groups with an inversion was left out: Fd3m, Pa3.
            if setting.number >= 200 and "-3" in name[1:]:
                old.setdefault(name.replace("-3", "3"), set()).add(k)
    return {name: frozenset(found) for name, found in (old | names).items()}


def _compact(name: str) -> str:
    return _ORNAMENTS.sub("", name).lower()
