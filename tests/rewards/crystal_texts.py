"""Crystals and texts that the tests of `rewards` share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pymatgen.core.structure import Structure

CELL_TAGS = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
SITE_TAGS = ("type_symbol", "label", "fract_x", "fract_y", "fract_z", "occupancy")

CELL = (4.2, 5.1, 6.3, 75.0, 82.0, 101.0)
SPECIES = ("Na", "Na", "Cl", "O")
FRAC = ((0.0, 0.0, 0.0), (0.31, 0.52, 0.13), (0.25, 0.81, 0.55), (0.72, 0.23, 0.77))


def cif(
    cell: Sequence[object] = CELL,
    species: Sequence[str] = SPECIES,
    frac: Sequence[Sequence[object]] = FRAC,
    *,
    occupancy: Sequence[object] | None = None,
    operators: Sequence[str] = (),
    extra: str = "",
) -> str:
    """A CIF with these values, written as they are given."""
    lines = ["data_crystal", *(f"_cell_{tag} {value}" for tag, value in zip(CELL_TAGS, cell, strict=True))]
    if extra:
        lines.append(extra)
    if operators:
        lines += ["loop_", "_symmetry_equiv_pos_as_xyz", *(f"'{operator}'" for operator in operators)]
    lines += ["loop_", *(f"_atom_site_{tag}" for tag in SITE_TAGS)]
    occupancy = [1] * len(species) if occupancy is None else occupancy
    for index, (symbol, (x, y, z), share) in enumerate(zip(species, frac, occupancy, strict=True)):
        lines.append(f"{symbol} {symbol.rstrip('+-0123456789')}{index} {x} {y} {z} {share}")
    return "\n".join(lines) + "\n"


def tagged(text: str) -> str:
    return f"<cif>\n{text}</cif>"


def cif_of(structure: Structure) -> str:
    """The structure as a P1 CIF with eight decimals, sites in order."""
    rows = [[f"{value:.8f}" for value in site.frac_coords] for site in structure]
    cell = [f"{value:.8f}" for value in structure.lattice.parameters]
    return cif(cell, [site.specie.symbol for site in structure], rows)


def prototypes(smallest: int, largest: int) -> list[Structure]:
    """Real crystals with this range of sites, from the prototypes that pymatgen carries."""
    from pymatgen.analysis.prototypes._data import AFLOW_PROTOTYPE_LIBRARY

    structures = [entry["snl"].structure for entry in AFLOW_PROTOTYPE_LIBRARY]
    return [structure for structure in structures if smallest <= len(structure) <= largest]


def shifted(structure: Structure, vector: Sequence[float]) -> Structure:
    """All atoms moved rigidly by a Cartesian vector in Å."""
    moved = structure.copy()
    moved.translate_sites(range(len(moved)), vector, frac_coords=False)
    return moved


def mirrored(structure: Structure) -> Structure:
    """Fractional x turned round in the same cell."""
    return Structure(structure.lattice, structure.species, structure.frac_coords * np.array([-1, 1, 1]))
