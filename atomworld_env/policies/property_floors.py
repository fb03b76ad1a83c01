"""Floors of StructProp: changes that a relaxation takes back, one crystal or one element for every question, and rules
of thumb, which look at the listed elements and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ase.data import atomic_numbers, covalent_radii

from atomworld_env.families.registry import family_of
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task

STRETCH = 0.04  # relative, of one cell length
JITTER = 0.15  # Å, standard deviation of each coordinate

_FCC = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
DIAMOND = Crystal((3.567, 3.567, 3.567, 90.0, 90.0, 90.0), ("C",) * 8, np.concatenate([_FCC, _FCC + 0.25]))
ARGON = Crystal((5.31, 5.31, 5.31, 90.0, 90.0, 90.0), ("Ar",) * 4, _FCC)


def scaled_cell(task: Task, rng: np.random.Generator) -> str:
    """The input at another volume: smaller where the property is to rise."""
    factor = 0.95 if task.action.startswith("raise") else 1.05
    crystal = task.crystal
    lengths = (length * factor for length in crystal.cell[:3])
    return _answer(task, Crystal.printed((*lengths, *crystal.cell[3:]), crystal.species, crystal.frac))


def stretched_cell(task: Task, rng: np.random.Generator) -> str:
    """The input with one cell length changed."""
    crystal = task.crystal
    cell = list(crystal.cell)
    cell[int(rng.integers(3))] *= 1 + STRETCH
    return _answer(task, Crystal.printed(tuple(cell), crystal.species, crystal.frac))


def jittered_sites(task: Task, rng: np.random.Generator) -> str:
    """The input with every atom displaced at random."""
    crystal = task.crystal
    moves = np.clip(rng.normal(0.0, JITTER, (len(crystal), 3)), -0.4, 0.4)
    return _answer(task, Crystal.printed(crystal.cell, crystal.species, crystal.frac + moves @ crystal.inverse))


def one_crystal(task: Task, rng: np.random.Generator) -> str:
    """Diamond, the hardest crystal, to raise, and solid argon to lower, whatever is shown."""
    return _answer(task, DIAMOND if task.action.startswith("raise") else ARGON)


ONE_ELEMENT = {
    "raise_bulk_modulus": "W",
    "lower_bulk_modulus": "Cs",
    "raise_band_gap": "F",
    "lower_band_gap": "Si",
}


def one_element(task: Task, rng: np.random.Generator) -> str:
    """The input with half of its atoms, the last ones listed, turned into one element that suits the question."""
    crystal = task.crystal
    kept = len(crystal) - len(crystal) // 2
    species = crystal.species[:kept] + (ONE_ELEMENT[task.action],) * (len(crystal) - kept)
    return _answer(task, Crystal.printed(crystal.cell, species, crystal.frac))


# Roughly, in GPa, where pymatgen has none, and diamond for carbon; only their order counts.
_MODULI = {
    "C": 440, "N": 1, "O": 1, "F": 1, "Ga": 59, "Ge": 75, "Sr": 12, "Zr": 92, "Tc": 297, "In": 41, "Os": 400, "Np": 60,
    "Pu": 40,
}  # fmt: skip


def stiffest_element(task: Task, rng: np.random.Generator) -> str:
    """The listed element that is itself stiffest to raise the property, softest to lower it."""
    from pymatgen.core.periodic_table import Element

    return _by_ranking(task, lambda symbol: float(_MODULI.get(symbol) or Element(symbol).bulk_modulus or 0))


def smallest_element(task: Task, rng: np.random.Generator) -> str:
    """The listed element of smallest covalent radius to raise the property, of largest to lower it."""
    return _by_ranking(task, lambda symbol: -float(covalent_radii[atomic_numbers[symbol]]))


def _by_ranking(task: Task, rank: Callable[[str], float]) -> str:
    """Half of the atoms, those farthest from it, turned into the listed element of highest rank, or lowest to lower."""
    crystal = task.crystal
    sign = 1 if task.action.startswith("raise") else -1
    best = max(task.params["elements"], key=lambda symbol: sign * rank(symbol))
    farthest = sorted(range(len(crystal)), key=lambda site: sign * rank(crystal.species[site]))
    chosen = set(farthest[: len(crystal) // 2])
    species = tuple(best if site in chosen else each for site, each in enumerate(crystal.species))
    return _answer(task, Crystal.printed(crystal.cell, species, crystal.frac))


def random_substitution(task: Task, rng: np.random.Generator) -> str:
    """One element of the input exchanged for a listed one, both at random, on as many sites as may be."""
    crystal = task.crystal
    old = sorted(crystal.composition)
    element = old[int(rng.integers(len(old)))]
    others = [symbol for symbol in task.params["elements"] if symbol != element] or [element]
    symbol = others[int(rng.integers(len(others)))]
    sites = [site for site, each in enumerate(crystal.species) if each == element][: len(crystal) // 2]
    species = tuple(symbol if site in sites else each for site, each in enumerate(crystal.species))
    return _answer(task, Crystal.printed(crystal.cell, species, crystal.frac))


def _answer(task: Task, crystal: Crystal) -> str:
    return family_of(task.action).wrap(write_cif(crystal))
