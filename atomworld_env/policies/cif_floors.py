"""Floors of the families about CIF: what a tolerant reader mends by itself, and crystals that are nearly right."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from atomworld_env.families.registry import family_of
from atomworld_env.policies.spoiled import answer_text
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards.silence import silent

OFF = 1.02
NUDGE = 0.1
"""Å."""


def tolerant_reader(task: Task, rng: np.random.Generator) -> str:
    """What pymatgen makes of the damaged file, written back; no text where it makes nothing of it."""
    from pymatgen.io.cif import CifParser, CifWriter

    with silent():
        try:
            structure = CifParser.from_str(task.structure).parse_structures(primitive=False)[0]
            return family_of(task.action).wrap(str(CifWriter(structure, significant_figures=8)))
        except Exception:  # on malformed text the reader raises nearly everything
            return ""


def constant_off(task: Task, rng: np.random.Generator) -> str:
    """The truth with its last lattice constant 2 % too long."""
    a, b, c, *angles = task.target_crystal.cell
    lengths = (a, b, OFF * c) if "c" in task.params else (OFF * a, OFF * b, OFF * c)
    return answer_text(_with_cell(task.target_crystal, (*lengths, *angles)))


def atom_nudged(task: Task, rng: np.random.Generator) -> str:
    """The truth with its first atom 0.1 Å from its place; all lengths 2 % longer where there is but one atom."""
    crystal = task.target_crystal
    if len(crystal) == 1:
        return constant_off(task, rng)
    direction = rng.normal(size=3)
    frac = crystal.frac.copy()
    frac[0] += NUDGE * direction / np.linalg.norm(direction) @ crystal.inverse
    return answer_text(crystal.replaced(frac=frac))


def elements_exchanged(task: Task, rng: np.random.Generator) -> str:
    """The truth with its elements in each other's places, so that the composition or the roles are wrong.

    An element becomes the next of the periodic table where there is but one.
    """
    from ase.data import atomic_numbers, chemical_symbols

    crystal = task.target_crystal
    symbols = tuple(dict.fromkeys(crystal.species))
    other = {symbol: chemical_symbols[atomic_numbers[symbol] - 1] for symbol in symbols}
    if len(symbols) > 1:
        orders = [order for order in permutations(symbols) if order != symbols]
        other = dict(zip(symbols, orders[int(rng.integers(len(orders)))], strict=True))
    return answer_text(replace(crystal, species=tuple(other[symbol] for symbol in crystal.species)))


def _with_cell(crystal: Crystal, cell: tuple[float, ...]) -> Crystal:
    a, b, c, alpha, beta, gamma = cell
    return Crystal((a, b, c, alpha, beta, gamma), crystal.species, crystal.frac)
