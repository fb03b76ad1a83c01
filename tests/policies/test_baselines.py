from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.errors import UsageError
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.policies.policy import Question
from atomworld_env.policies.shortcuts import cartesian_by_lengths, in_cell_neighbours, listed_copy
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task
from rewards import Stage, verify


def success(task: Task, name: str) -> bool:
    return bool(verify(BASELINES[name].answer(task), task.target).success_strict)


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(UsageError, match=r"magic.*choose from oracle"):
        load_policy("magic")


@pytest.mark.parametrize("name", [name for name, each in BASELINES.items() if each.family in (None, "edits")])
def test_every_baseline_answers_every_edit_the_same_way_twice(name: str, small_suite: Suite) -> None:
    questions = [Question(task, []) for task in small_suite.tasks]
    answers = list(load_policy(name).answers(questions))
    assert answers == list(reversed(list(load_policy(name).answers(questions[::-1]))))
    assert all(isinstance(answer, str) for answer in answers)


def test_the_seed_of_a_policy_matters(small_suite: Suite) -> None:
    task = small_suite.restricted(["move"], 1).tasks[0]
    answers = {next(load_policy("random_edit", seed=seed).answers([Question(task, [])])) for seed in range(5)}
    assert len(answers) == 5


def test_the_oracle_is_right_and_the_floors_are_wrong(small_suite: Suite) -> None:
    for task in small_suite.tasks:
        assert success(task, "oracle")
        for name in ("noop", "scaled", "shifted", "empty", "garbage"):
            assert not success(task, name), name


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("empty", {Stage.NO_CIF}),
        ("garbage", {Stage.CIF_INVALID}),
        ("random_edit", {Stage.STRUCTURE_MISMATCH, Stage.COMPOSITION_MISMATCH, Stage.CORRECT, Stage.CIF_INVALID}),
        # A cut below the topmost site may leave nothing, and a CIF without sites is none.
        ("wrong_site", {Stage.STRUCTURE_MISMATCH, Stage.COMPOSITION_MISMATCH, Stage.CORRECT, Stage.CIF_INVALID}),
    ],
)
def test_baselines_end_where_they_are_meant_to(name: str, stages: set[Stage], small_suite: Suite) -> None:
    seen = {verify(BASELINES[name].answer(task), task.target).stage for task in small_suite.tasks}
    assert seen <= stages


@pytest.mark.parametrize("shortcut", [cartesian_by_lengths, listed_copy, in_cell_neighbours])
def test_a_shortcut_leaves_the_edits_it_does_not_concern_exact(
    shortcut: Callable[[Task], Crystal], small_suite: Suite
) -> None:
    concerned = {
        "cartesian_by_lengths": {name for name, action in ACTIONS.items() if action.cartesian},
        "listed_copy": {"insert_between", "move_towards"},
        "in_cell_neighbours": {"rotate_around"},
    }[shortcut.__name__]
    for task in small_suite.tasks:
        if task.action not in concerned:
            assert np.array_equal(shortcut(task).frac, task.target_crystal.frac)


def test_dividing_by_lengths_is_right_on_orthogonal_cells_only(small_suite: Suite) -> None:
    cartesian = [task for task in small_suite.tasks if ACTIONS[task.action].cartesian]
    for task in cartesian:
        if task.crystal.is_orthogonal:
            assert success(task, "cartesian_by_lengths")
    oblique = [success(task, "cartesian_by_lengths") for task in cartesian if not task.crystal.is_orthogonal]
    assert sum(oblique) < len(oblique)
