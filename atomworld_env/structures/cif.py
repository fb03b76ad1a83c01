"""CIF text of a crystal, and back, without changing a digit or the order of sites."""

from __future__ import annotations

import warnings
from typing import Literal

import gemmi
import numpy as np

from atomworld_env.structures.crystal import CELL_DECIMALS, Crystal

CifStyle = Literal["full", "compact"]
CIF_STYLES: tuple[CifStyle, ...] = ("full", "compact")


def write_cif(crystal: Crystal, *, style: CifStyle = "full", decimals: int = 4) -> str:
    """CIF text of the crystal in P 1, sites in order, labels `element + index` counted from 0.

    Args:
        style: ``full`` has the tags and the layout of pymatgen's ``CifWriter``; ``compact`` has only the cell and a
            loop of label, type symbol and coordinates, about half as many tokens.
        decimals: of the fractional coordinates; the cell has at least 4.
    """
    cell_decimals = max(decimals, CELL_DECIMALS)
    tags = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    cell_lines = [f"_cell_{tag}   {value:.{cell_decimals}f}" for tag, value in zip(tags, crystal.cell, strict=True)]
    if style == "full":
        return _full(crystal, cell_lines, decimals, cell_decimals)
    if style == "compact":
        rows = [
            f"{symbol}{index} {symbol} {x:.{decimals}f} {y:.{decimals}f} {z:.{decimals}f}"
            for index, (symbol, (x, y, z)) in enumerate(zip(crystal.species, crystal.frac.tolist(), strict=True))
        ]
        loop = ["label", "type_symbol", "fract_x", "fract_y", "fract_z"]
        return "\n".join(
            [
                f"data_{reduced_formula(crystal)}",
                *(line.replace("   ", " ") for line in cell_lines),
                "loop_",
                *(f"_atom_site_{tag}" for tag in loop),
                *rows,
                "",
            ]
        )
    raise ValueError(f"unknown CIF style {style!r}; choose one of {', '.join(CIF_STYLES)}")


def _full(crystal: Crystal, cell_lines: list[str], decimals: int, cell_decimals: int) -> str:
    formula = reduced_formula(crystal)
    totals = " ".join(f"{symbol}{count}" for symbol, count in _by_electronegativity(crystal))
    units = _formula_units(crystal)
    volume = abs(float(np.linalg.det(crystal.matrix)))
    rows = [
        f"  {symbol}  {symbol}{index}  1  {x:.{decimals}f}  {y:.{decimals}f}  {z:.{decimals}f}  1.0"
        for index, (symbol, (x, y, z)) in enumerate(zip(crystal.species, crystal.frac.tolist(), strict=True))
    ]
    return "\n".join(
        [
            f"data_{formula}",
            "_symmetry_space_group_name_H-M   'P 1'",
            *cell_lines,
            "_symmetry_Int_Tables_number   1",
            f"_chemical_formula_structural   {formula}",
            f"_chemical_formula_sum   '{totals}'" if " " in totals else f"_chemical_formula_sum   {totals}",
            f"_cell_volume   {volume:.{cell_decimals}f}",
            f"_cell_formula_units_Z   {units}",
            "loop_",
            " _symmetry_equiv_pos_site_id",
            " _symmetry_equiv_pos_as_xyz",
            "  1  'x, y, z'",
            "loop_",
            " _atom_site_type_symbol",
            " _atom_site_label",
            " _atom_site_symmetry_multiplicity",
            " _atom_site_fract_x",
            " _atom_site_fract_y",
            " _atom_site_fract_z",
            " _atom_site_occupancy",
            *rows,
            "",
        ]
    )


def reduced_formula(crystal: Crystal) -> str:
    """The reduced formula as pymatgen prints it (``NaCl``, ``In2S3``, ``O2``)."""
    from pymatgen.core.composition import Composition  # imported late: it costs a quarter of a second

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a noble gas has no electronegativity to sort by
        return Composition(crystal.composition).reduced_formula


def _formula_units(crystal: Crystal) -> int:
    from pymatgen.core.composition import Composition

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(Composition(crystal.composition).get_reduced_composition_and_factor()[1])


def _by_electronegativity(crystal: Crystal) -> list[tuple[str, int]]:
    from pymatgen.core.composition import Composition

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ordered = Composition(crystal.composition).element_composition.formula.split()
    return [
        (
            token.rstrip("0123456789"),
            int(token.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")),
        )
        for token in ordered
    ]


def read_p1_cif(text: str) -> Crystal:
    """The sites of a P 1 CIF in file order, numbers as printed.

    For truths, stored tasks and the user's own files, never for a model's answers: those are read by `rewards`.
    pymatgen is not used because it sorts sites and moves 0.3333 to 1/3.

    Raises:
        ValueError: in one line, if the text is not one P 1 block with a cell and ordered sites.
    """
    try:
        document = gemmi.cif.read_string(text)
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"not a CIF: {str(error).splitlines()[0]}") from None
    if len(document) != 1:
        raise ValueError(f"a CIF with one data block is needed, this has {len(document)}")
    block = document.sole_block()
    tags = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    cell = tuple(_number(block.find_value(f"_cell_{tag}"), f"_cell_{tag}") for tag in tags)
    operators = block.find_loop("_symmetry_equiv_pos_as_xyz") or block.find_loop("_space_group_symop_operation_xyz")
    if len(operators) > 1:
        raise ValueError(f"a P 1 CIF is needed, this has {len(operators)} symmetry operators")
    table = block.find("_atom_site_", ["type_symbol", "fract_x", "fract_y", "fract_z"])
    if len(table) == 0:
        raise ValueError("no atom-site loop with type symbols and fractional coordinates")
    species = tuple(gemmi.cif.as_string(row[0]) for row in table)
    frac = np.array([[_number(row[k], "fractional coordinate") for k in (1, 2, 3)] for row in table])
    a, b, c, alpha, beta, gamma = cell
    return Crystal((a, b, c, alpha, beta, gamma), species, frac)


def _number(value: str | None, what: str) -> float:
    if value is None:
        raise ValueError(f"{what} is missing")
    number = float(gemmi.cif.as_number(value))
    if not np.isfinite(number):
        raise ValueError(f"{what} is not a number: {value}")
    return number
