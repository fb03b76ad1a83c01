"""A pool of the user's own CIF files: a folder, a .zip or .tar archive, or one file.

Bad files are skipped and counted by reason, never fatal, unless nothing usable is left.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import gemmi
import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.structures.admission import impossible_contact
from atomworld_env.structures.cif_files import MAX_FILE_BYTES, cif_texts
from atomworld_env.structures.contacts import CONTACT_FACTOR, HEAVIEST_WITH_RADIUS
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import Row, StructurePool, row_of, version_of

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

MAX_SITES = 200
MAX_EXPANDED_ROWS = 5_000
"""Atom rows times symmetry operators: pymatgen's time to expand a file grows with it, to 20 s at 20,000."""
MIN_HEIGHT = 0.7
"""Å between opposite faces. No crystal is flatter, and the search for images would grow without bound."""
NAMES_SHOWN = 5

TOO_LARGE = f"file larger than {MAX_FILE_BYTES // 1_000_000} MB"
UNREADABLE = "unreadable"
SEVERAL = "several structures in one file"
DISORDERED = "disordered"
UNKNOWN_ELEMENT = "unknown element"
TOO_MANY_SITES = "too many sites"
NO_RADIUS = f"element above Z = {HEAVIEST_WITH_RADIUS}"
FLAT_CELL = f"cell flatter than {MIN_HEIGHT} Å"
TOO_CLOSE = f"contact below {CONTACT_FACTOR} × covalent radii"
DUPLICATE = "duplicate"


class UnusableCifError(ValueError):
    """Why one file gives no structure; the message is one of the reasons above."""


def read_cif_folder(path: str | Path, *, max_sites: int = MAX_SITES) -> StructurePool:
    """All usable crystals of a folder (with subfolders), a .zip, .tar or .tar.gz, or one CIF file.

    pymatgen reads each file and expands its symmetry; the numbers are then rounded as they will be printed.
    The family, which decides the split, is the anonymised formula with the space group number. Files are
    taken in the order of their names. Archives are read member by member, nothing is unpacked to disk.

    Raises:
        UsageError: if the path is neither, or no file in it is usable.
    """
    path = Path(path).expanduser()
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    contents: set[str] = set()
    ids: set[str] = set()
    for name, text in cif_texts(path):
        try:
            crystal, family = read_ordered_crystal(text, max_sites=max_sites)
        except UnusableCifError as reason:
            skipped[name] = str(reason)
            continue
        structure_id = name[: -len(".cif")]
        row = row_of(structure_id if structure_id not in ids else name, family, name, crystal)
        content = json.dumps([row["cell"], row["species"], row["coordinates"]])
        if content in contents:
            skipped[name] = DUPLICATE
            continue
        contents.add(content)
        ids.add(row["id"])
        rows.append(row)
    if not rows:
        raise UsageError(_nothing_usable(path, skipped))
    lines = (json.dumps(row, sort_keys=True).encode() for row in rows)
    return StructurePool(str(path), version_of(lines), rows, skipped_files=skipped)


def read_ordered_crystal(text: str | None, *, max_sites: int = MAX_SITES) -> tuple[Crystal, str]:
    """The crystal of a CIF of any space group, and its family.

    Args:
        text: of the file; None if it was too large to be read.

    Raises:
        UnusableCifError: with the reason, for whatever is wrong with the text.
    """
    if text is None:
        raise UnusableCifError(TOO_LARGE)
    _refuse_costly(text)
    structure = _parse(text)
    if not structure.is_ordered:
        raise UnusableCifError(DISORDERED)
    if len(structure) > max_sites:
        raise UnusableCifError(TOO_MANY_SITES)
    crystal = _printed(structure)
    if not np.isfinite(crystal.frac).all() or not np.isfinite(crystal.cell).all():
        raise UnusableCifError(UNREADABLE)
    if crystal.heights.min() < MIN_HEIGHT:
        raise UnusableCifError(FLAT_CELL)
    if impossible_contact(crystal):
        raise UnusableCifError(TOO_CLOSE)
    return crystal, _family(structure)


def skipped_report(pool: StructurePool) -> list[str]:
    """One line for each reason with its count and the first names; empty if nothing was skipped."""
    return [
        f"{count} skipped, {reason}: {_some_names(pool.skipped_files, reason)}"
        for reason, count in pool.skipped.most_common()
    ]


def _some_names(skipped: dict[str, str], reason: str) -> str:
    names = [name for name, found in skipped.items() if found == reason]
    rest = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _nothing_usable(path: Path, skipped: dict[str, str]) -> str:
    if not skipped:
        return f"{path} holds no .cif file; give a folder, .zip or .tar.gz of CIF files, or one .cif file"
    counts = "; ".join(
        f"{count} {reason} ({_some_names(skipped, reason)})"
        for reason, count in Counter(skipped.values()).most_common()
    )
    return f"{path} has no usable CIF: {counts}; add files of ordered crystals with at most {MAX_SITES} sites"


def _refuse_costly(text: str) -> None:
    """Refuse what would keep pymatgen busy for long; what gemmi cannot read is left for pymatgen to judge."""
    try:
        document = gemmi.cif.read_string(text)
    except (ValueError, RuntimeError):
        return
    expanded = sum(len(block.find_loop("_atom_site_fract_x")) * _operator_count(block) for block in document)
    if expanded > MAX_EXPANDED_ROWS:
        raise UnusableCifError(TOO_MANY_SITES)


def _operator_count(block: gemmi.cif.Block) -> int:
    for tag in ("_symmetry_equiv_pos_as_xyz", "_space_group_symop_operation_xyz"):
        if len(loop := block.find_loop(tag)):
            return len(loop)
    for tag in ("_symmetry_space_group_name_H-M", "_space_group_name_H-M_alt", "_space_group_name_H-M"):
        name = block.find_value(tag)
        group = gemmi.find_spacegroup_by_name(gemmi.cif.as_string(name)) if name else None
        if group is not None:
            return len(group.operations())
    return 1


def _parse(text: str) -> Structure:
    from pymatgen.io.cif import CifParser

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Occupancies up to 1.02 are rounding in the file; the parser refuses larger ones.
            structures = CifParser.from_str(text, occupancy_tolerance=1.02).parse_structures(primitive=False)
    except Exception:  # the reader raises almost anything, and no bad file may end the load
        raise UnusableCifError(UNREADABLE) from None
    if len(structures) > 1:
        raise UnusableCifError(SEVERAL)
    return structures[0]


def _printed(structure: Structure) -> Crystal:
    from pymatgen.core.periodic_table import DummySpecies

    symbols = []
    for site in structure:
        if isinstance(site.specie, DummySpecies):  # pymatgen's placeholder for a symbol that is no element
            raise UnusableCifError(UNKNOWN_ELEMENT)
        if site.specie.Z > HEAVIEST_WITH_RADIUS:
            raise UnusableCifError(NO_RADIUS)
        symbols.append("H" if site.specie.symbol in ("D", "T") else site.specie.symbol)
    # A CIF gives cell parameters only, so the lattice that pymatgen builds from it is right-handed.
    return Crystal.printed(structure.lattice.parameters, tuple(symbols), structure.frac_coords)


def _family(structure: Structure) -> str:
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            number = str(SpacegroupAnalyzer(structure).get_space_group_number())
    except Exception:  # spglib gives up on some cells; the formula alone is a coarser family
        number = "unknown"
    return f"{structure.composition.anonymized_formula}-{number}"
