"""Band gap of a small crystal by periodic density-functional theory (PySCF), in a worker process.

The crystal is relaxed by CHGNet first. Then: local density approximation (Slater exchange, VWN correlation), GTH-PADE
pseudopotentials (S. Goedecker, M. Teter, J. Hutter, Phys. Rev. B 54, 1703 (1996)), the basis gth-dzvp, closed shells,
integrals on multigrids. The gap is the lowest empty level minus the highest filled one over the mesh of k-points, which
holds Γ. PySCF: Q. Sun et al., J. Chem. Phys. 153, 024109 (2020). The local density approximation and so small a basis
are off by tens of per cent against experiment; their order is what the tasks ask for.
"""

from __future__ import annotations

import os
from typing import Any

from atomworld_env.properties.chgnet_relaxation import VERSION as RELAXATION
from atomworld_env.properties.chgnet_relaxation import NotRelaxedError, relaxed_atoms
from atomworld_env.properties.chgnet_relaxation import warm_up as warm_up_relaxation
from atomworld_env.properties.oracle import Failure, PropertyValue
from rewards import Arrangement

VERSION = f"pyscf-lda-dzvp-4+{RELAXATION}"

MOST_SITES = 8
LARGEST_FORCE = 0.006  # eV/Å: the gap of LiF falls by 0.1 eV where its volume grows by 1 %
CUTOFF = 70.0  # hartree, of the finest grid; a shift of the origin moves the gaps of BeO, LiF and SiC by 0.002 eV
MESH = (2, 2, 2)
"""Points of reciprocal space along each axis: Γ and the middles of the faces, where band edges often lie. The same for
every cell, since an odd number along one axis, as denser meshes of slightly shorter axes have, misses the latter: 2.5
instead of 0.8 eV for silicon carbide."""
HARTREE = 27.211386  # eV

ELEMENTS = frozenset(("Li", "Be", "B", "C", "N", "O", "F", "Al", "Si", "P", "S", "Cl"))
"""Closed shells describe their compounds, the basis has them all, and they fit the cutoff; those of Na and Mg, with
their inner shells, do not (0.2 eV for MgO), and GaAs takes minutes."""


def band_gap(crystal: Arrangement) -> PropertyValue:
    """The gap in eV; 0 for a metal."""
    foreign = sorted(set(crystal.elements) - ELEMENTS)
    if foreign:
        return _failed(f"the gap of {', '.join(foreign)} is not computed: only {' '.join(sorted(ELEMENTS))}")
    if len(crystal) > MOST_SITES:
        return _failed(f"gaps are computed for at most {MOST_SITES} sites")
    if electrons(crystal.elements) % 2:
        return _failed("an odd number of electrons in the cell has no closed shells")
    try:
        atoms, energy = relaxed_atoms(crystal, LARGEST_FORCE)
    except NotRelaxedError as error:
        return _failed(str(error))
    gap = _gap(atoms)
    if gap is None:
        return _failed("the density does not converge, as in a metal", energy)
    return PropertyValue(round(max(0.0, gap), 3), "eV", energy)


def electrons(elements: tuple[str, ...]) -> int:
    """Sum of the atomic numbers; inner shells hold even numbers, so its parity is that of the valence electrons."""
    from ase.data import atomic_numbers

    return sum(atomic_numbers[symbol] for symbol in elements)


def _failed(message: str, energy: float | None = None) -> PropertyValue:
    return PropertyValue(None, "eV", energy, Failure.CRYSTAL, message)


def _gap(atoms: Any) -> float | None:
    from pyscf import lib
    from pyscf.pbc import dft, gto

    lib.num_threads(1)
    cell = gto.Cell()
    cell.a = atoms.cell[:]
    cell.atom = list(zip(atoms.get_chemical_symbols(), atoms.get_positions().tolist(), strict=True))
    cell.unit, cell.basis, cell.pseudo = "A", "gth-dzvp", "gth-pade"
    cell.ke_cutoff, cell.precision, cell.verbose = CUTOFF, 1e-6, 0
    cell.build()
    field = dft.KRKS(cell, cell.make_kpts(MESH)).multigrid_numint()
    field.xc, field.conv_tol, field.max_cycle, field.verbose = "lda,vwn", 1e-6, 40, 0
    field.kernel()
    if not field.converged:
        return None
    filled = cell.nelectron // 2
    highest = max(float(levels[filled - 1]) for levels in field.mo_energy)
    lowest = min(float(levels[filled]) for levels in field.mo_energy)
    return (lowest - highest) * HARTREE


def warm_up() -> None:
    """Load both libraries, so that no crystal pays for it."""
    os.environ.setdefault("PYSCF_CONFIG_FILE", os.devnull)
    warm_up_relaxation()
    from pyscf.pbc import dft, gto  # noqa: F401
