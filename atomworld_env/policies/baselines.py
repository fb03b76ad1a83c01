"""Policies without a model: the ceiling, the floors, near misses and shortcuts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES, family_of
from atomworld_env.policies.cif_floors import atom_nudged, constant_off, elements_exchanged, tolerant_reader
from atomworld_env.policies.near_misses import random_edit, wrong_site
from atomworld_env.policies.point_floors import one_place, one_point_off, shuffled_points
from atomworld_env.policies.policy import Policy, Question
from atomworld_env.policies.property_floors import (
    jittered_sites,
    one_crystal,
    one_element,
    random_substitution,
    scaled_cell,
    smallest_element,
    stiffest_element,
    stretched_cell,
)
from atomworld_env.policies.shortcuts import cartesian_by_lengths, in_cell_neighbours, listed_copy
from atomworld_env.policies.spoiled import answer_text, mirrored, scaled, shifted
from atomworld_env.tasks.task import Task

Respond = Callable[[Task, np.random.Generator], str]


@dataclass(frozen=True)
class Baseline:
    """A policy that is a function of the task and a random generator.

    Attributes:
        name: of the policy.
        description: one line, for tables.
        respond: the answer to a task.
        family: the only family it knows; None if it knows every one.
        seed: root of the generator; each task gets a stream of its own, whatever was asked before.
    """

    name: str
    description: str
    respond: Respond
    family: str | None = "edits"
    seed: int = 0

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        for question in questions:
            yield self.answer(question.task)

    def answer(self, task: Task) -> str:
        """The answer to one task, the same in every run.

        Raises:
            UsageError: if the task is none that this policy knows.
        """
        if self.family is not None and task.action not in FAMILIES[self.family].actions:
            raise UsageError(
                f"policy {self.name} knows tasks of {FAMILIES[self.family].env_id} alone, not {task.action}; take "
                "another policy"
            )
        word = int.from_bytes(hashlib.sha256(task.task_id.encode()).digest()[:8], "big")
        return self.respond(task, np.random.default_rng(np.random.SeedSequence([self.seed, word])))


def _garbage(task: Task, rng: np.random.Generator) -> str:
    """Tags around characters of no meaning."""
    letters = "".join(chr(k) for k in rng.integers(32, 0x250, size=400))
    return family_of(task.action).wrap(f"data_{letters}\n")


def _baselines() -> Iterator[Baseline]:
    yield Baseline(
        "oracle", "the ground truth", lambda task, rng: family_of(task.action).wrap(task.target), family=None
    )
    yield Baseline(
        "noop", "the input, unchanged", lambda task, rng: family_of(task.action).wrap(task.structure), family=None
    )
    yield Baseline("echo", "the instruction, as it was asked", lambda task, rng: task.prompt, family=None)
    yield Baseline(
        "random_edit", "the right kind of edit, random", lambda task, rng: answer_text(random_edit(task, rng))
    )
    yield Baseline(
        "wrong_site", "the right edit on the wrong site", lambda task, rng: answer_text(wrong_site(task, rng))
    )
    yield Baseline("mirrored", "the truth, x negated", lambda task, rng: answer_text(mirrored(task.target_crystal)))
    yield Baseline("scaled", "the truth, lengths x 1.05", lambda task, rng: answer_text(scaled(task.target_crystal)))
    yield Baseline("shifted", "the truth, moved by 1.5 Å", lambda task, rng: answer_text(shifted(task.target_crystal)))
    yield Baseline("empty", "no text at all", lambda task, rng: "", family=None)
    yield Baseline("garbage", "tags around nonsense", _garbage, family=None)
    yield Baseline(
        "cartesian_by_lengths",
        "every cell taken as orthogonal",
        lambda task, rng: answer_text(cartesian_by_lengths(task)),
    )
    yield Baseline("listed_copy", "site j as listed, not nearest", lambda task, rng: answer_text(listed_copy(task)))
    yield Baseline(
        "in_cell_neighbours",
        "neighbours in the cell only",
        lambda task, rng: answer_text(in_cell_neighbours(task)),
    )
    yield Baseline("shuffled_points", "the right points, another order", shuffled_points, family="coordinates")
    yield Baseline("one_point_off", "one point 0.5 from its place", one_point_off, family="coordinates")
    yield Baseline("one_place", "all points in their middle", one_place, family="coordinates")
    yield Baseline("tolerant_reader", "pymatgen's reading, written back", tolerant_reader, family="cif_repair")
    yield Baseline("constant_off", "one lattice constant 2 % off", constant_off, family="cif_gen")
    yield Baseline("atom_nudged", "one atom 0.1 Å from its place", atom_nudged, family="cif_gen")
    yield Baseline("elements_exchanged", "elements in each other's places", elements_exchanged, family="cif_gen")
    yield Baseline("scaled_cell", "the input at another volume", scaled_cell, family="structprop")
    yield Baseline("stretched_cell", "one cell length 4 % longer", stretched_cell, family="structprop")
    yield Baseline("jittered_sites", "atoms displaced at random", jittered_sites, family="structprop")
    yield Baseline("random_substitution", "a listed element, at random", random_substitution, family="structprop")
    yield Baseline("stiffest_element", "the stiffest or softest listed element", stiffest_element, family="structprop")
    yield Baseline("smallest_element", "the smallest or largest listed atom", smallest_element, family="structprop")
    yield Baseline("one_element", "half of the atoms turned into tungsten or caesium", one_element, family="structprop")
    yield Baseline("one_crystal", "diamond or argon, whatever is shown", one_crystal, family="structprop")


BASELINES: Mapping[str, Baseline] = MappingProxyType({baseline.name: baseline for baseline in _baselines()})
"""Every policy that needs no model, by name."""


def load_policy(name: str, *, seed: int = 0) -> Policy:
    """The policy of a name.

    Args:
        seed: of its random numbers, where it draws any.

    Raises:
        UsageError: if there is none.
    """
    try:
        return replace(BASELINES[name], seed=seed)
    except KeyError:
        raise UsageError(f"unknown policy {name!r}; choose from {', '.join(BASELINES)}") from None
