"""Answers to tasks of pure coordinates that are right in another order, or nearly right."""

from __future__ import annotations

import numpy as np

from atomworld_env.families.coordinates import TARGET_DECIMALS, point_list, points_of
from atomworld_env.families.registry import family_of
from atomworld_env.tasks.task import Task

OFF = 0.5
"""How far one point is moved from its place: ten tolerances."""


def shuffled_points(task: Task, rng: np.random.Generator) -> str:
    """The right points in another order."""
    target = points_of(task.target)
    return _answer(task, target[rng.permutation(len(target))])


def one_point_off(task: Task, rng: np.random.Generator) -> str:
    """All points right but one, which is moved."""
    target = points_of(task.target).copy()
    step = rng.normal(size=3)
    target[rng.integers(len(target))] += OFF * step / np.linalg.norm(step)
    return _answer(task, target)


def one_place(task: Task, rng: np.random.Generator) -> str:
    """The right number of points, all in the middle of the right ones."""
    target = points_of(task.target)
    return _answer(task, np.repeat(target.mean(axis=0, keepdims=True), len(target), axis=0))


def _answer(task: Task, points: np.ndarray) -> str:
    return family_of(task.action).wrap(point_list(points, TARGET_DECIMALS) + "\n")
