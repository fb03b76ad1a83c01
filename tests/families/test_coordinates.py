"""Pure coordinates: exact truths, one reading, splits that do not meet, the fixed suite, and a perfect solver."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.spatial.transform import Rotation

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.run import evaluate
from atomworld_env.families.coordinates import STARTING_SUM, Coordinates, point_list
from atomworld_env.families.point_operations import POINT_OPERATIONS
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.baselines import load_policy
from atomworld_env.policies.policy import Policy, Question
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, dump_line, usable
from rewards import SCHEMES, Stage, reward

ENTRY = FAMILIES["coordinates"]
FINGERPRINT = "edd4be767b94a3a3"
TEMPLATE = load_template(default="coordinates")

Points = np.ndarray


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite("coordinates")


# A solver that knows nothing but the text of the prompt, written apart from the package: rotations by scipy.


def solved(prompt: str) -> Points:
    listed, _, instruction = prompt.partition("Points:")[2].partition("Instruction:")
    points = np.array(json.loads(listed))
    for pattern, solve in SOLVERS.items():
        if found := re.fullmatch(pattern, instruction.strip()):
            return solve(points, *found.groups())
    raise AssertionError(f"nobody understands {instruction}")


def move(points: Points, index: str, vector: str) -> Points:
    points[int(index)] += [float(part) for part in vector.split(",")]
    return points


def move_towards(points: Points, index: str, distance: str, towards: str) -> Points:
    way = points[int(towards)] - points[int(index)]
    points[int(index)] += float(distance) * way / np.linalg.norm(way)
    return points


def add_between(points: Points, first: str, second: str, distance: str, start: str) -> Points:
    assert start == first
    share = float(distance) / np.linalg.norm(points[int(second)] - points[int(first)])
    return np.vstack([points, (1 - share) * points[int(first)] + share * points[int(second)]])


def rotate(points: Points, angle: str, axis: str, index: str) -> Points:
    pivot = points[int(index)].copy()
    direction = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}[axis[1]]
    turn = Rotation.from_rotvec(float(axis[0] + angle) * np.array(direction), degrees=True)
    return turn.apply(points - pivot) + pivot


NUMBER = r"(-?[\d.]+)"
SOLVERS: dict[str, Callable[..., Points]] = {
    r"Move point (\d+) by the vector \((.*)\)\.": move,
    rf"Move point (\d+) by a distance of {NUMBER} straight towards point (\d+)\.": move_towards,
    rf"Add one point on the straight line from point (\d+) to point (\d+), at a distance of {NUMBER} from "
    r"point (\d+)\.": add_between,
    r"Rotate all other points by (\d+) degrees about the ([+-][xyz]) axis through point (\d+)\.": rotate,
}


class Solver:
    """A policy that reads the prompt, as a model does, and answers with 4 decimals in an order of its own."""

    name = "solver"

    def answers(self, questions: list[Question]) -> list[str]:
        return [self.answer(question.messages[-1]["content"]) for question in questions]

    def answer(self, prompt: str) -> str:
        points = np.round(solved(prompt), 4)[::-1]
        return f"<think>[[0, 0, 0]]</think>I get\n<answer>\n{json.dumps(points.tolist())}\n</answer>"


def successes(policy: Policy, suite: Suite, folder: Path) -> dict[str, float]:
    """Share of right answers by kind of task, through the loop of `atomworld evaluate`."""
    records = evaluate(policy, suite, folder, template=TEMPLATE, workers=1)
    asked, right = Counter(task.action for task in suite.tasks), Counter[str]()
    for record in records:
        right[record["action"]] += record["success"]
    assert len(records) == len(suite.tasks)
    return {action: right[action] / asked[action] for action in asked}


def test_a_perfect_solver_is_right_on_the_whole_suite(suite: Suite, tmp_path: Path) -> None:
    assert successes(Solver(), suite, tmp_path) == dict.fromkeys(POINT_OPERATIONS, 1.0)


def test_the_solver_is_near_to_the_last_digit(suite: Suite) -> None:
    for task in suite.tasks:
        found = Coordinates().verify(
            task, json.dumps(solved(TEMPLATE.render(task.structure, task.prompt)).tolist()), profile="strict"
        )
        assert found.max_displacement is not None
        assert found.max_displacement < 1e-6


@pytest.mark.parametrize(
    ("policy", "share"),
    [("oracle", 1.0), ("shuffled_points", 1.0), ("noop", 0.0), ("echo", 0.0), ("empty", 0.0), ("garbage", 0.0),
     ("one_point_off", 0.0), ("one_place", 0.0)],
)  # fmt: skip
def test_ceiling_and_floors(policy: str, share: float, suite: Suite, tmp_path: Path) -> None:
    few = suite.restricted(per_action=40)
    assert successes(load_policy(policy), few, tmp_path) == dict.fromkeys(POINT_OPERATIONS, share)


@pytest.mark.parametrize("policy", ["noop", "echo", "empty", "garbage", "one_place"])
def test_who_does_nothing_earns_the_parse_credit_at_most(policy: str, suite: Suite) -> None:
    family = Coordinates()
    earned: dict[str, list[float]] = {}
    for task in suite.tasks:
        verdict = family.verify(task, load_policy(policy).answer(task), profile="strict")
        for scheme in ("shaped", "strict", "distance"):
            value = reward(verdict, scheme, baseline=task.baseline)
            assert 0 <= value <= 1
            earned.setdefault(f"{task.action}/{scheme}", []).append(value)
    # Whoever answers with the right number of points is paid for that where one is added, as with a crystal.
    most = {"one_place": 0.25}.get(policy, 0.05)
    assert all(np.mean(values) <= most + 1e-8 for key, values in earned.items() if key.endswith("/shaped"))
    assert all(max(values) == 0 for key, values in earned.items() if key.endswith("/strict"))


def test_the_suite_is_pinned(suite: Suite) -> None:
    assert suite.fingerprint == FINGERPRINT
    assert Counter(task.action for task in suite.tasks) == dict.fromkeys(ENTRY.actions, 250)
    assert {task.split for task in suite.tasks} == {"test"}
    assert len({task.structure for task in suite.tasks}) == 1000


def test_truths_are_those_of_an_independent_computation() -> None:
    family = Coordinates("train")
    for seed, action in itertools.product(range(40), POINT_OPERATIONS):
        task = family.sample(seed, action)
        before, target = np.array(json.loads(task.structure)), np.array(json.loads(task.target))
        params = task.params
        index = params["index"]
        expected = before.copy()
        if action == "point_move":
            expected[index] = before[index] + params["displacement"]
        elif action == "point_rotate_around":
            # Rodrigues: v cos a + (k x v) sin a + k (k . v)(1 - cos a).
            axis = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}[params["axis"][1]]
            axis = axis * float(params["axis"][0] + "1")
            angle = np.radians(params["angle"])
            lever = before - before[index]
            expected = before[index] + (
                lever * np.cos(angle)
                + np.cross(axis, lever) * np.sin(angle)
                + np.outer(lever @ axis, axis) * (1 - np.cos(angle))
            )
        else:
            way = before[params["towards"]] - before[index]
            place = before[index] + params["distance"] * way / np.sqrt((way**2).sum())
            if action == "point_move_towards":
                expected[index] = place
            else:
                expected = np.vstack([expected, place])
        assert target == pytest.approx(expected, abs=1e-6)


def test_tasks_are_well_posed(suite: Suite) -> None:
    for task in suite.tasks:
        before, target = np.array(json.loads(task.structure)), np.array(json.loads(task.target))
        assert 2 <= len(before) == task.n_sites <= 16
        assert np.abs(before).max() <= 10
        assert pdist(before).min() >= 0.5 - 1e-6
        assert pdist(target).min() >= 0.5 - 2e-6
        if task.action == "point_insert_between":
            assert len(target) == len(before) + 1
            assert task.baseline.sum_displacement == STARTING_SUM
            assert task.baseline.composition_difference == 0  # the number of points is told and earns nothing
            way = before[task.params["towards"]] - before[task.params["index"]]
            assert abs(np.linalg.norm(way) - 2 * task.params["distance"]) >= 0.3
        else:
            assert len(target) == len(before)
            assert task.baseline.max_displacement is not None
            assert task.baseline.max_displacement >= 0.15
        assert Coordinates().verify(task, task.structure, profile="strict").stage in (
            Stage.STRUCTURE_MISMATCH, Stage.COMPOSITION_MISMATCH,
        )  # fmt: skip
        if task.action == "point_move":
            assert 0.5 - 1e-6 <= np.linalg.norm(task.params["displacement"]) <= 5 + 1e-6
        if task.action == "point_rotate_around":
            assert 15 <= task.params["angle"] <= 180


def test_every_number_of_points_axis_and_level_occurs(suite: Suite) -> None:
    assert {task.n_sites for task in suite.tasks} == set(range(2, 17))
    turned = [task for task in suite.tasks if task.action == "point_rotate_around"]
    assert {task.params["axis"] for task in turned} == {"+x", "-x", "+y", "-y", "+z", "-z"}
    assert {task.difficulty["level"] for task in suite.tasks} == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert all(0 <= task.difficulty["score"] <= 1 for task in suite.tasks)


def test_splits_share_no_set_of_points() -> None:
    # Sorted: the same points in another order are the same set.
    sets = {
        split: {tuple(sorted(map(tuple, json.loads(Coordinates(split).sample(seed).structure)))) for seed in range(300)}
        for split in SPLITS
    }
    assert all(len(each) == 300 for each in sets.values())
    for first, second in itertools.combinations(SPLITS, 2):
        assert sets[first].isdisjoint(sets[second])


def test_a_seed_with_its_kind_gives_the_same_task() -> None:
    for seed in range(30):
        task = Coordinates("validation").sample(seed)
        again = Coordinates("validation").sample(task.seed, task.action)
        assert dump_line(task) == dump_line(again)
        assert dump_line(Task.from_json(json.loads(dump_line(task)))) == dump_line(task)
    assert {Coordinates().sample(seed).action for seed in range(40)} == set(POINT_OPERATIONS)
    assert {Coordinates(actions=("point_move",)).sample(seed).action for seed in range(10)} == {"point_move"}
    assert {Coordinates(point_counts=(3, 3)).sample(seed).n_sites for seed in range(10)} == {3}


def test_a_task_is_read_back_from_both_files(tmp_path: Path) -> None:
    tasks = tuple(Coordinates().sample(seed, action) for action in POINT_OPERATIONS for seed in range(3))
    Suite("few", tasks).write(tmp_path)
    for name in ("tasks.jsonl", "tasks.parquet"):
        assert load_suite(tmp_path / name).tasks == tasks


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "[[1, 2]]"}, "the target cannot be used"),
        ({"structure": "data_x"}, "the structure cannot be used"),
        ({"target": "[[1, 2, 3]]"}, "the target is not what"),
        ({"params": {}}, "the parameters do not fit"),
        ({"params": {"index": 99, "displacement": [1.0, 0.0, 0.0]}}, "no point 99"),
        ({"params": {"index": 0, "displacement": [100.0, 0.0, 0.0]}}, "a length of"),
        ({"difficulty": {}}, "difficulty lacks"),
    ],
)
def test_a_broken_task_is_refused(change: dict[str, object], message: str) -> None:
    task = Coordinates().sample(1, "point_move")
    usable(task)
    with pytest.raises(ValueError, match=message):
        usable(replace(task, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "dev"}, "unknown split"),
        ({"actions": ("move",)}, "unknown action 'move'"),
        ({"point_counts": (1, 4)}, "2 to 16 points"),
        ({"point_counts": (4, 40)}, "2 to 16 points"),
    ],
)
def test_what_does_not_exist_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Coordinates(**options)  # type: ignore[arg-type]


def test_the_names_of_the_registry_are_those_of_the_operations() -> None:
    assert ENTRY.actions == tuple(POINT_OPERATIONS)
    assert "paper" in SCHEMES
    assert not ENTRY.has_paper


def test_the_worked_example_of_the_page_is_a_task() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "coordinates.md").read_text(encoding="utf-8")
    task = Coordinates("train", point_counts=(3, 3)).sample(4, "point_rotate_around")
    for part in (task.structure, task.target):
        assert "\n".join(f"    {line}" for line in part.splitlines()) in page
    assert f"> {task.prompt}" in page


def test_no_zero_is_printed_with_a_sign() -> None:
    assert point_list(np.array([[-0.0, -0.001, 1.0]]), 2) == "[[0.00, 0.00, 1.00]]"
