"""The answers of the audit are what they say they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.audit.answers import BOUNDED, AnswerKind, Case, is_right
from atomworld_env.audit.exploits import (
    EXPLOITS,
    both_answers,
    half_edited,
    half_way,
    right_composition,
)
from atomworld_env.audit.family_answers import KINDS as KINDS_BY_FAMILY
from atomworld_env.audit.measure import audit_tasks
from atomworld_env.policies.spoiled import mirrored
from atomworld_env.structures.cif import read_p1_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards import extract_cif

KINDS = KINDS_BY_FAMILY["edits"]


@pytest.fixture(scope="module")
def tasks() -> dict[str, list[Task]]:
    suite = audit_tasks(3, tuple(ACTIONS), seed=5)
    return {action: [task for task in suite.tasks if task.action == action] for action in ACTIONS}


def named(name: str) -> AnswerKind:
    return next(kind for kind in KINDS if kind.name == name)


def case(tasks: dict[str, list[Task]], action: str, seed: int = 0) -> Case:
    return Case(tasks[action][0], tasks[action][1], np.random.default_rng(seed))


def test_names_are_unique_and_every_exploit_says_what_it_needs() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert {kind.name for kind in KINDS if kind.needs} == {kind.name for kind in EXPLOITS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_answer_is_the_same_in_every_run(tasks: dict[str, list[Task]], kind: AnswerKind) -> None:
    action = next(name for name in ACTIONS if kind.actions is None or name in kind.actions)
    first, other, _ = tasks[action]
    assert kind.answer(first, other, seed=3) == kind.answer(first, other, seed=3)


def test_the_echo_holds_the_input_and_both_tags(tasks: dict[str, list[Task]]) -> None:
    task, other, _ = tasks["move"]
    text, _ = named("prompt_echo").answer(task, other, seed=0)
    assert task.structure.rstrip("\n") in text
    assert "<cif>" in text
    assert "</cif>" in text


def test_what_counts_in_many_pairs_of_tags_is_wrong(tasks: dict[str, list[Task]]) -> None:
    for seed in range(6):
        task, other, _ = tasks["swap"]
        text, _ = named("blocks_in_many_pairs").answer(task, other, seed)
        cif = extract_cif(text).cif
        assert cif is not None
        assert not is_right(read_p1_cif(cif), task)


def test_symmetry_is_told_apart_from_spoiling(tasks: dict[str, list[Task]]) -> None:
    task = tasks["move"][0]
    assert is_right(task.target_crystal, task)
    assert not is_right(task.crystal, task)
    flat = Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na", "Cl"), np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]))
    assert np.allclose(mirrored(flat).frac, flat.frac)


def test_the_empty_cell_has_no_row(tasks: dict[str, list[Task]]) -> None:
    text, _ = named("empty_cell").answer(tasks["add"][0], tasks["add"][1], seed=0)
    assert text.rstrip().endswith("_atom_site_occupancy\n</cif>")
    assert "_cell_length_a" in text


@pytest.mark.parametrize("action", ["change", "remove", "add", "insert_between", "delete_below", "super_cell"])
def test_the_right_composition_is_right(tasks: dict[str, list[Task]], action: str) -> None:
    question = case(tasks, action)
    answer = right_composition(question)
    assert answer.composition == question.task.target_crystal.composition
    assert answer.cell == question.task.target_crystal.cell


@pytest.mark.parametrize("action", ["swap", "move", "move_towards", "rotate_around"])
def test_half_way_is_half_of_the_way(tasks: dict[str, list[Task]], action: str) -> None:
    question = case(tasks, action)
    start, middle, end = question.task.crystal, half_way(question), question.task.target_crystal
    whole, half = (each.frac - start.frac for each in (end, middle))
    way = [np.linalg.norm((step - np.round(step)) @ start.matrix, axis=1) for step in (whole, half)]
    assert way[1].max() < way[0].max()
    assert np.array_equal(way[0] < 1e-3, way[1] < 1e-3)


def test_half_edited_deletes_half(tasks: dict[str, list[Task]]) -> None:
    question = case(tasks, "delete_below")
    before, after = len(question.task.crystal), len(question.task.target_crystal)
    assert before - len(half_edited(question)) == (before - after) // 2


def test_both_answers_keep_the_input(tasks: dict[str, list[Task]]) -> None:
    question = case(tasks, "move")
    answer = both_answers(question)
    assert len(answer) == len(question.task.crystal) + 1
    assert not Counter(question.task.crystal.species) - Counter(answer.species)


def test_bounded_answers_are_no_exploits() -> None:
    assert not any(kind.needs for kind in BOUNDED)
