"""Crystals to edit, and the second computation of every truth (`benchmarks/independent_truths.py`)."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from atomworld_env.actions.action import RejectedDraw
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal, cell_matrix
from atomworld_env.structures.pool import default_pool

INDEPENDENT = Path(__file__).parents[2] / "benchmarks" / "independent_truths.py"

ELEMENTS = ("H", "Li", "C", "O", "Na", "Si", "Fe", "Sr", "Cs", "Pb")

NOT_OF_THE_EDIT = {"contacts", "discriminating"}
"""Rules that the sampler keeps, not the edit's own check."""


def _oblique_crystal(rng: np.random.Generator) -> Crystal:
    """A cell with angles of 40° to 140° and 2 to 30 sites strewn in it, as printed."""
    while True:
        cell = (*rng.uniform(4, 12, 3), *rng.uniform(40, 140, 3))
        try:
            volume = np.linalg.det(cell_matrix(cell))
        except ValueError:
            continue
        if volume > 0.1 * np.prod(cell[:3]):  # flatter cells close only on paper
            break
    sites = int(rng.integers(2, 31))
    # A fifth of the coordinates are special: zero, halves, thirds; level sites and ties come from them.
    special = rng.choice([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.99996], (sites, 3))
    frac = np.where(rng.random((sites, 3)) < 0.2, special, rng.random((sites, 3)))
    return Crystal.printed(cell, tuple(rng.choice(ELEMENTS, sites).tolist()), frac)


@pytest.fixture(scope="session")
def independent():
    """The module that shares no code with the package."""
    spec = importlib.util.spec_from_file_location("independent_truths", INDEPENDENT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def oblique_crystals():
    """200 random crystals in cells without a right angle."""
    rng = np.random.default_rng(20)
    return [_oblique_crystal(rng) for _ in range(200)]


@pytest.fixture(scope="session")
def pool_crystals():
    """100 crystals of the embedded pool, 10 to 60 sites."""
    entries = default_pool().entries(None, 10, 60)
    return [entries[k].crystal for k in range(0, len(entries), max(1, len(entries) // 100))]


@dataclass
class Agreement:
    """What the comparison of two computations found.

    Attributes:
        tasks: truths compared.
        worst: largest distance of a site from its independently computed place, in Å.
        broken: rules of a well-posed task that an accepted draw breaks.
    """

    tasks: int
    worst: float
    broken: Counter


@pytest.fixture(scope="session")
def compare(independent, oblique_crystals, pool_crystals):
    """Compare an edit with its second computation on `tasks` draws that its check accepts."""

    def compare(action, tasks, *, seed=0, rules_off=()) -> Agreement:
        rng = np.random.default_rng(seed)
        found = Agreement(0, 0.0, Counter())
        crystals = [crystal for crystal in oblique_crystals + pool_crystals if action.unsuitable(crystal) is None]
        while found.tasks < tasks:
            crystal = crystals[rng.integers(len(crystals))]
            for params in islice(action.proposals(crystal, rng, ELEMENTS), 20):
                try:
                    action.check(crystal, params)
                except RejectedDraw:
                    continue
                break
            else:
                continue
            source = independent.read_crystal(write_cif(crystal))
            target = independent.read_crystal(
                write_cif(action.apply(crystal, params), decimals=TARGET_DECIMALS)
            ).atoms()
            truth, touched = independent.edited(action.name, params, source.atoms())
            assert sorted(touched) == sorted(action.touched(crystal, params)) or action.name == "super_cell"
            found.tasks += 1
            found.worst = max(found.worst, independent.difference(truth, target, 1e-5))
            task = {"action": action.name, "params": params, "n_sites": len(crystal)}
            found.broken.update(
                rule
                for rule, _ in independent.violations(task, source, truth, touched)
                if rule not in NOT_OF_THE_EDIT and rule not in rules_off
            )
        return found

    return compare


@pytest.fixture(scope="session")
def numbers_in():
    """Every number of a text, as written."""
    return lambda text: re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)


@pytest.fixture
def draws():
    """The first `count` proposals of an edit on a crystal."""

    def draws(action, crystal, count, seed=0, elements=ELEMENTS):
        return list(islice(action.proposals(crystal, np.random.default_rng(seed), elements), count))

    return draws


@pytest.fixture
def hexagonal():
    """a = b = 4 Å, c = 6 Å, γ = 120°: a = (4, 0, 0), b = (-2, 2√3, 0), c = (0, 0, 6)."""
    return Crystal(
        (4.0, 4.0, 6.0, 90.0, 90.0, 120.0),
        ("Na", "Cl", "K"),
        np.array([[0.0, 0.0, 0.0], [0.3333, 0.6667, 0.5], [0.0, 0.0, 0.5]]),
    )


@pytest.fixture
def box():
    """Build a crystal in a rectangular box from Cartesian places, so that distances can be read off."""

    def box(*sites, edges=(10.0, 20.0, 20.0)):
        species, places = zip(*sites, strict=True)
        return Crystal.printed((*edges, 90, 90, 90), species, np.array(places) / np.array(edges))

    return box
