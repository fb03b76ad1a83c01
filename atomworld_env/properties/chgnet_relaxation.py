"""CHGNet in a worker process: relax a crystal, and its bulk modulus by an equation of state.

CHGNet (B. Deng et al., Nature Machine Intelligence 5, 1031 (2023)) is a neural network for the energies of 89
elements, fitted to PBE and PBE+U calculations of the Materials Project. Weights 0.3.0 ship inside the package.

Every crystal is relaxed first, cell and positions, so that a property belongs to the crystal and not to how far a
lattice was stretched or an atom displaced in the text.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from atomworld_env.properties.equation_of_state import NoMinimumError, fit_birch_murnaghan
from atomworld_env.properties.isolation import lift_memory_limit
from atomworld_env.properties.oracle import Failure, PropertyValue
from rewards import Arrangement

MODEL = "0.3.0"
VERSION = f"chgnet-{MODEL}+relax-1"

SCAN = np.arange(0.7, 1.61, 0.1)
"""Volumes, relative to the given one, at which the relaxation may start: a lattice constant may be 15 % off."""

LARGEST_FORCE = 0.03  # eV/Å, and for the cell eV per unit of strain and atom: where the relaxation ends
MOST_STEPS = 250  # with that force, and twice as many with half of it
VOLUMES = np.linspace(0.94, 1.06, 9)  # ± 2 % in length around the relaxed volume
LARGEST_RESIDUAL = 0.005  # eV per atom: a fit that misses by more has a jump in it
HEAVIEST = 94  # plutonium


def bulk_modulus(crystal: Arrangement) -> PropertyValue:
    """Relax, then strain isotropically with fractional coordinates fixed, in GPa."""
    try:
        relaxed, energy = relaxed_atoms(crystal)
    except NotRelaxedError as error:
        return PropertyValue(None, "GPa", failure=Failure.CRYSTAL, message=str(error))
    volume = relaxed.get_volume()
    try:
        fit = fit_birch_murnaghan(volume * VOLUMES, energies(relaxed, VOLUMES))
    except NoMinimumError as error:
        return PropertyValue(None, "GPa", energy, Failure.CRYSTAL, str(error))
    if fit.residual > LARGEST_RESIDUAL * len(relaxed):
        return PropertyValue(None, "GPa", energy, Failure.CRYSTAL, "the energy is no smooth function of the volume")
    return PropertyValue(round(fit.bulk_modulus, 2), "GPa", round(fit.energy / len(relaxed), 5))


class NotRelaxedError(ValueError):
    """The crystal cannot be relaxed; one sentence says why."""


def relaxed_atoms(crystal: Arrangement, force: float = LARGEST_FORCE) -> tuple[Any, float]:
    """The relaxed crystal as ``ase.Atoms`` and its energy in eV per atom.

    Args:
        force: largest one that is left.

    Raises:
        NotRelaxedError: if the elements are not known, or no minimum is reached.
    """
    from ase import Atoms
    from ase.filters import FrechetCellFilter
    from ase.optimize import FIRE

    atoms: Any = Atoms(crystal.elements, scaled_positions=np.mod(crystal.frac, 1.0), cell=crystal.matrix, pbc=True)
    if max(atoms.numbers) > HEAVIEST:
        raise NotRelaxedError("CHGNet knows elements up to plutonium")
    steps = round(MOST_STEPS * LARGEST_FORCE / force)
    try:
        scan = energies(atoms, SCAN)
        best = int(np.argmin(scan))
        atoms.set_cell(atoms.cell * SCAN[best] ** (1 / 3), scale_atoms=True)
        atoms.calc = _calculator()
        strained: Any = FrechetCellFilter
        converged = FIRE(strained(atoms), logfile=None).run(fmax=force, steps=steps)
        energy = float(atoms.get_potential_energy()) / len(atoms)
    except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError) as error:
        # An atom without any neighbour within 6 Å, say, or a cell that fell apart.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise NotRelaxedError(f"the crystal cannot be relaxed: {reason}") from None
    if not converged:
        raise NotRelaxedError(f"the crystal does not come to rest within {steps} steps of relaxation")
    return atoms, round(energy, 5)


def energies(atoms: Any, volumes: Any) -> Any:
    """Energies in eV of a crystal (``ase.Atoms``) at volumes relative to its own, fractional coordinates fixed."""
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    symbols, frac, cell = atoms.get_chemical_symbols(), atoms.get_scaled_positions(), atoms.cell[:]
    structures = [Structure(Lattice(cell * volume ** (1 / 3)), symbols, frac) for volume in volumes]
    predictions = model().predict_structure(structures, task="e", batch_size=4)
    return np.array([float(prediction["e"]) for prediction in predictions]) * len(atoms)


@cache
def model() -> Any:
    """The network on the CPU, with the weights of the package."""
    import torch
    from chgnet.model import CHGNet

    torch.set_num_threads(1)  # a second one gains nothing on small cells, and two workers would be in each other's way
    return CHGNet.load(model_name=MODEL, use_device="cpu", verbose=False)


@cache
def _calculator() -> Any:
    from chgnet.model.dynamics import CHGNetCalculator

    return CHGNetCalculator(model(), use_device="cpu", on_isolated_atoms="error")


def warm_up() -> None:
    """Load the network and run it once, so that no crystal pays for it."""
    lift_memory_limit()
    warnings.simplefilter("ignore")
    bulk_modulus(Arrangement((3.6, 3.6, 3.6, 60.0, 60.0, 60.0), ("Cu",), np.zeros((1, 3))))
