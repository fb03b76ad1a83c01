"""Worked answers, read back with an independent parser: every line holds, and the last leads to the truth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from worked_text import WorkedText, cell_vectors, evaluate, read_rows, shortest

from atomworld_env.actions import ACTIONS
from atomworld_env.errors import UsageError
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from rewards import verify
from training.worked_answers import LARGEST_ERROR, worked_answer


def sampled(action: str, count: int, sites: tuple[int, int], seed: int) -> list[Task]:
    sampler = TaskSampler(SamplerConfig(min_sites=sites[0], max_sites=sites[1], split=None))
    tasks = []
    for number in range(count):
        try:
            tasks.append(sampler.sample(seed + number, action))
        except UsageError:
            continue
    return tasks


def check(tasks: Sequence[Task]) -> None:
    assert tasks
    for task in tasks:
        answer = worked_answer(task)
        verdict = verify(answer, task.target)
        assert verdict.success_strict, task.task_id
        assert verdict.max_displacement is not None
        assert verdict.max_displacement <= LARGEST_ERROR
        text = WorkedText.of(answer)
        for step in text.steps():
            assert step.holds(), (task.task_id, step)
        assert text.unstated(f"{task.structure} {task.prompt}") == []
        for left, sign, right, _ in text.comparisons():
            assert {"<": left < right, ">": left > right, "=": left == right}[sign]
        CHECKS.get(task.action, lambda task, text: None)(task, text)


def check_frame(task: Task, text: WorkedText) -> np.ndarray:
    """The written cell vectors are those of the cell."""
    vectors = cell_vectors(task.crystal.cell)
    for name, place in (("ax", (0, 0)), ("bx", (1, 0)), ("by", (1, 1)), ("cx", (2, 0)), ("cy", (2, 1)), ("cz", (2, 2))):
        for written in text.named(name):
            assert written == pytest.approx(vectors[place], abs=2e-3), name
    assert text.named("ax")
    return vectors


def check_pair(task: Task, text: WorkedText) -> None:
    """The way taken is the shortest of all images, and t of it leads to the new place."""
    vectors = check_frame(task, text)
    start, end = (task.crystal.frac[task.params[key]] for key in ("index", "towards"))
    assert text.named("distance")[-1] == pytest.approx(shortest(end - start, vectors), abs=2e-3)
    t, d = text.named("t")[-1], np.array(text.named("d")[-1])
    assert t * text.named("distance")[-1] == pytest.approx(task.params["distance"], abs=1e-3)
    placed(task, text, start + t * d)


def placed(task: Task, text: WorkedText, point: np.ndarray) -> None:
    """Some row of the final CIF is at the point."""
    off = [np.abs((frac - point + 0.5) % 1.0 - 0.5).max() for _, frac in read_rows(text.cif)]
    assert min(off) < 3e-4


def check_vector(task: Task, text: WorkedText) -> None:
    """The fractions are those of the Cartesian vector."""
    vectors = check_frame(task, text)
    given = np.array(task.params.get("displacement") or task.params["position"])
    solved = np.array([text.named(name)[-1] for name in "uvw"])
    assert solved @ vectors == pytest.approx(given, abs=6e-3)
    start = task.crystal.frac[task.params["index"]] if task.action == "move" else np.zeros(3)
    placed(task, text, start + solved)


def check_rotation(task: Task, text: WorkedText) -> None:
    """Distances decide who turns; the matrix is the rotation; turned levers keep their length; each ends in its row."""
    vectors = check_frame(task, text)
    centre = task.crystal.frac[task.params["index"]]
    others = [k for k in range(len(task.crystal)) if k != task.params["index"]]
    for k, distance in zip(others, text.named("distance"), strict=True):
        assert distance == pytest.approx(shortest(task.crystal.frac[k] - centre, vectors), abs=2e-3)
    turning = [k for k, (*_, word) in zip(others, text.comparisons(), strict=True) if word == "turns"]
    rows = next(line for line in text.lines if re.fullmatch(r"\([^;]*\); \([^;]*\); \([^;]*\)", line))
    matrix = np.array([evaluate(row) for row in rows.split("; ")])
    axis, angle = np.array(task.params["axis"]), np.radians(task.params["angle"])
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rodrigues = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    assert matrix == pytest.approx(rodrigues, abs=1e-6)
    xyz = np.array([text.named(name)[-len(turning) :] for name in "xyz"]).T
    levers = [np.array(evaluate(line[line.index("(") : line.index(")") + 1])) for line in text.lines if "lever" in line]
    final = read_rows(text.cif)
    for k, lever, turned in zip(turning, levers, xyz, strict=True):
        assert turned == pytest.approx(matrix @ lever, abs=2e-4)
        off = (final[k][1] - centre - turned @ np.linalg.inv(vectors) + 0.5) % 1.0 - 0.5
        assert np.abs(off @ vectors).max() < LARGEST_ERROR


CHECKS = {
    "add": check_vector,
    "move": check_vector,
    "insert_between": check_pair,
    "move_towards": check_pair,
    "rotate_around": check_rotation,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_line_follows_and_leads_to_the_truth(action: str) -> None:
    check(sampled(action, 6, (2, 30), 100))


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_many_tasks_up_to_a_hundred_sites(action: str) -> None:
    check(sampled(action, 120, (2, 100), 1000))


def test_the_full_style_is_as_right() -> None:
    for task in sampled("move", 3, (10, 20), 7):
        assert verify(worked_answer(task, style="full"), task.target).success_strict


def test_steps_that_miss_the_truth_are_refused() -> None:
    task = sampled("move", 1, (10, 20), 7)[0]
    x, y, z = task.params["displacement"]
    wrong = replace(task, params={**task.params, "displacement": [x + 0.05, y, z]})
    with pytest.raises(ArithmeticError, match="off"):
        worked_answer(wrong)


def test_the_parser_sees_a_wrong_digit() -> None:
    answer = worked_answer(sampled("move", 1, (10, 20), 7)[0])
    text = WorkedText.of(answer)
    step = next(text.steps())
    assert step.holds()
    digit = str((int(step.value[-1]) + 5) % 10) if step.value[-1].isdigit() else ""
    assert not replace(step, value=step.value[:-1] + digit).holds()
