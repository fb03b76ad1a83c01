"""Answers of the audit for the families beside the edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from atomworld_env.audit.answers import (
    BOUNDED,
    NEAR_MISSES,
    OF_ANY_FAMILY,
    SPOILED,
    UNBOUNDED_PER_ACTION,
    AnswerKind,
    Case,
    Group,
    ignorant,
    in_many_pairs,
    tagged,
)
from atomworld_env.audit.exploits import EXPLOITS, NEEDS_ALL, NEEDS_COMPOSITION, NEEDS_NOTHING, NEEDS_SITES, exploit
from atomworld_env.families.cif_gen import PREFIX
from atomworld_env.families.cif_gen_prototypes import PROTOTYPES
from atomworld_env.families.coordinates import TARGET_DECIMALS, point_list, points_of
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.policies.spoiled import answer_text
from atomworld_env.structures.crystal import Crystal

MANY_POINTS = 100_000


def _policy(name: str) -> Callable[[Case], str]:
    """The answer of a policy that needs no model."""
    return lambda case: BASELINES[name].respond(case.task, case.rng)


def _near_miss(name: str, description: str, write: Callable[[Case], str]) -> AnswerKind:
    return AnswerKind(name, Group.NEAR_MISS, description, write, most_per_action=UNBOUNDED_PER_ACTION)


def _many_pairs(case: Case) -> str:
    return in_many_pairs(case, case.other.target, case.other.structure, case.task.structure)


def _points(case: Case, points: np.ndarray) -> str:
    return tagged(case, point_list(points, TARGET_DECIMALS) + "\n")


def _repeated(case: Case) -> str:
    """The first point shown, as often as there are points."""
    points = points_of(case.task.structure)
    return _points(case, np.repeat(points[:1], len(points), axis=0))


def _one_more_point(case: Case) -> str:
    """The points shown and one in the middle of two of them."""
    points = points_of(case.task.structure)
    i, j = case.rng.choice(len(points), size=2, replace=False)
    return _points(case, np.vstack([points, (points[i] + points[j]) / 2]))


def _moved_at_random(case: Case) -> str:
    """The points shown, one of them moved by 2.75, the mean length of the steps that are asked for."""
    points = points_of(case.task.structure).copy()
    step = case.rng.normal(size=3)
    points[case.rng.integers(len(points))] += 2.75 * step / np.linalg.norm(step)
    return _points(case, points)


def _shrunk(case: Case) -> str:
    """The points drawn near to the axis instead of turned: half of a half turn, and no guess of the sense."""
    points = points_of(case.task.structure)
    centre = points[case.task.params["index"]]
    along = np.array([letter == case.task.params["axis"][1] for letter in "xyz"])
    return _points(case, centre + (points - centre) * np.where(along, 1.0, 0.1))


def _in_the_middle(case: Case) -> str:
    """The points shown and the middle of the two that are named."""
    points = points_of(case.task.structure)
    named = points[[case.task.params["index"], case.task.params["towards"]]]
    return _points(case, np.vstack([points, named.mean(axis=0)]))


def _shifted_points(case: Case) -> str:
    return _points(case, points_of(case.task.target) + 1.5 / np.sqrt(3.0))


def _mirrored_points(case: Case) -> str:
    return _points(case, points_of(case.task.target) * [-1.0, 1.0, 1.0])


def _many_points(case: Case) -> str:
    return tagged(case, f"[{', '.join(['[1, 2, 3]'] * MANY_POINTS)}]\n")


def _right_atoms_at_random(case: Case) -> str:
    """The right cell with the right atoms, each anywhere."""
    crystal = case.task.target_crystal
    return answer_text(crystal.replaced(frac=case.rng.random((len(crystal), 3))))


def _formula_unit_on_the_diagonal(case: Case) -> str:
    """One formula unit at (i/m, i/m, i/m) in the cell whose constants the prompt states."""
    task = case.task
    prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
    species = tuple(task.params[f"element_{role}"] for role, count in prototype.counts.items() for _ in range(count))
    along = np.arange(len(species)) / len(species)
    return answer_text(Crystal(task.target_crystal.cell, species, np.column_stack([along, along, along])))


_MANY_PAIRS = ignorant("blocks_in_many_pairs", "three wrong answers, each in its own tags", _many_pairs)

_COORDINATES = (
    *OF_ANY_FAMILY,
    _MANY_PAIRS,
    ignorant("no_point", "an empty list", lambda case: tagged(case, "[]\n")),
    ignorant("no_number", "points of NaN", lambda case: tagged(case, "[[NaN, NaN, NaN], [NaN, NaN, NaN]]\n")),
    ignorant("repeated", "the first point shown in every place", _repeated),
    ignorant("many_points", "100,000 points", _many_points),
    _near_miss("one_point_off", "the truth, one point 0.5 from its place", _policy("one_point_off")),
    _near_miss("truth_mirrored", "the truth, x negated", _mirrored_points),
    _near_miss("truth_shifted", "the truth, moved rigidly by 1.5", _shifted_points),
    exploit("one_more_point", NEEDS_NOTHING, "the input and the middle of two of its points", _one_more_point),
    exploit("moved_at_random", NEEDS_NOTHING, "the input, one point moved by 2.75", _moved_at_random),
    exploit(
        "shrunk", NEEDS_SITES, "all points near the axis, none turned", _shrunk, frozenset({"point_rotate_around"})
    ),
    exploit(
        "in_the_middle",
        NEEDS_SITES,
        "the input and the middle of the points named",
        _in_the_middle,
        frozenset({"point_insert_between"}),
    ),
    exploit("one_place", NEEDS_ALL, "all points in the middle of the right ones", _policy("one_place")),
)

# There is no input to make progress from, so that nearness to the truth itself is paid: only a wrong cell is bounded.
_CIF_REPAIR = (
    *OF_ANY_FAMILY,
    _MANY_PAIRS,
    *(kind for kind in SPOILED if kind.name == "truth_scaled"),
    *(replace(kind, group=Group.NEAR_MISS) for kind in SPOILED if kind.name != "truth_scaled"),
    exploit("tolerant_reader", NEEDS_NOTHING, "pymatgen's reading of the input", _policy("tolerant_reader")),
)

_CIF_GEN = (
    *OF_ANY_FAMILY,
    _MANY_PAIRS,
    AnswerKind("constant_off", Group.SPOILED, "the truth, one lattice constant 2 % off", _policy("constant_off")),
    # Right where the type's sites are alike, as in rocksalt.
    _near_miss("elements_exchanged", "the truth, elements in each other's places", _policy("elements_exchanged")),
    _near_miss("atom_nudged", "the truth, one atom 0.1 Å from its place", _policy("atom_nudged")),
    exploit(
        "right_atoms", NEEDS_COMPOSITION, "the right atoms in the right cell, each anywhere", _right_atoms_at_random
    ),
    # Right for simple cubic, cesium chloride and CuAu.
    exploit(
        "formula_unit_diagonal",
        NEEDS_NOTHING,
        "one formula unit at (i/m, i/m, i/m) in the cell with the constants of the prompt",
        _formula_unit_on_the_diagonal,
    ),
)

_STRUCTPROP = (
    *OF_ANY_FAMILY,
    _MANY_PAIRS,
    ignorant("scaled_cell", "the input at another volume", _policy("scaled_cell")),
    ignorant("one_crystal", "diamond or argon, whatever is shown", _policy("one_crystal")),
)
"""Only what is judged without computing a property; docs/structprop.md has the floors that need it."""

KINDS: Mapping[str, tuple[AnswerKind, ...]] = MappingProxyType(
    {
        "edits": (*BOUNDED, *NEAR_MISSES, *EXPLOITS),
        "coordinates": _COORDINATES,
        "cif_repair": _CIF_REPAIR,
        "cif_gen": _CIF_GEN,
        "structprop": _STRUCTPROP,
    }
)
"""Kinds of answers by family."""
