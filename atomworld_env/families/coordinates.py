"""The family of pure coordinates: the geometry of the edits without the crystal.

Points in [-10, 10]³ are printed with 2 decimals; targets are computed from the printed numbers and stored with 6.

``difficulty`` counts ``points`` (that the answer must list), ``computed`` (those whose coordinates are new) and
``step``, the arithmetic of one of these: 0 a sum, 0.5 a unit vector or a rotation by right angles, 1 sines and cosines.
``score`` is 0.3 · points + 0.3 · computed + 0.4 · step, the two counts on a log scale from 1 to 17, and ``level`` the
score in five equal steps.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from math import log

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.point_operations import LEAST_SEPARATION, POINT_OPERATIONS, ROUNDING, Params
from atomworld_env.prompts.prompt import Message, PromptTemplate, load_template
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.difficulty import LEVELS
from atomworld_env.tasks.task import Task
from rewards import Baseline, Stage, Verdict
from rewards.limits import BoundExceededError
from rewards.point_reading import FloatArray, UnreadablePoints, read_points
from rewards.points import DEFAULT_TOLERANCE, closest_pair, compare_points, verify_points

VERSION = "coordinates.2"
"""Moves when the same seed gives other tasks."""

POINT_COUNTS = (2, 16)
BOX = 10.0
SHOWN_DECIMALS, TARGET_DECIMALS, BASELINE_DECIMALS = 2, 6, 8

DISCRIMINATING_DISTANCE = 0.15
"""The unchanged input is at least this far from the target, where the number of points is the same."""

STARTING_SUM = 0.5
"""From where progress counts if a point is added: the points shown have no distance from the target then. That there is
one point more stands in the instruction and earns nothing."""

STREAM = 41
"""Keeps these draws apart from others with the same seed."""

MOST_DRAWS = 1000
"""Of points with parameters, before a task is given up; one in two or three is well posed."""


class Coordinates:
    """Points in space, one of four operations, the points that result.

    Args:
        split: train, validation or test: streams of random numbers of their own.
        actions: names of operations, all four when None.
        point_counts: fewest and most points of an input, 2 at least.
        template: the prompt.
        tolerance: largest distance of a point from its place that is right.
        strict_tags: accept nothing but an ``<answer>…</answer>`` pair.

    Raises:
        UsageError: for a split, operation or number of points that does not exist.
    """

    name = "coordinates"

    def __init__(
        self,
        split: str = "train",
        *,
        actions: tuple[str, ...] | None = None,
        point_counts: tuple[int, int] = POINT_COUNTS,
        template: PromptTemplate | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        strict_tags: bool = False,
    ) -> None:
        if split not in SPLITS:
            raise UsageError(f"unknown split {split!r}; choose from {', '.join(SPLITS)}")
        for action in actions or ():
            _known(action)
        if not 2 <= point_counts[0] <= point_counts[1] <= POINT_COUNTS[1]:
            raise UsageError(f"there are {POINT_COUNTS[0]} to {POINT_COUNTS[1]} points, got {point_counts}")
        self.split = split
        self.point_counts = point_counts
        self.template = load_template(default="coordinates") if template is None else template
        self.tolerance = tolerance
        self.strict_tags = strict_tags
        self._actions = tuple(POINT_OPERATIONS) if actions is None else actions

    @property
    def actions(self) -> tuple[str, ...]:
        return self._actions

    def sample(self, seed: int, action: str | None = None, *, suite: str = "") -> Task:
        """The task of a seed; the seed with the name of the operation gives the same one.

        Raises:
            UsageError: for an unknown operation or a negative seed.
        """
        if seed < 0:
            raise UsageError(f"a seed must be 0 or larger, got {seed}")
        words = [seed, STREAM, SPLITS.index(self.split)]
        if action is None:
            rng = np.random.default_rng(np.random.SeedSequence(words))
            action = self._actions[int(rng.integers(len(self._actions)))]
        rng = np.random.default_rng(np.random.SeedSequence([*words, 1 + list(POINT_OPERATIONS).index(_known(action))]))
        for _ in range(MOST_DRAWS):
            points = _draw_points(rng, int(rng.integers(self.point_counts[0], self.point_counts[1] + 1)))
            params = POINT_OPERATIONS[action].draw(points, rng)
            try:
                target, baseline = _well_posed(points, action, params)
            except ValueError:
                continue
            return self._task(points, action, params, target, baseline, seed, suite)
        raise UsageError(f"no well-posed task of {action} came of {MOST_DRAWS} draws; take another seed")

    def _task(
        self,
        points: FloatArray,
        action: str,
        params: Params,
        target: FloatArray,
        baseline: Baseline,
        seed: int,
        suite: str,
    ) -> Task:
        structure = point_list(points, SHOWN_DECIMALS)
        return Task(
            task_id=f"{action}-{_digest([structure, action, params, VERSION])}",
            action=action,
            params=params,
            prompt=POINT_OPERATIONS[action].instruction(params),
            structure=structure,
            target=point_list(target, TARGET_DECIMALS),
            structure_id=f"points-{_digest(structure)}",
            n_sites=len(points),
            difficulty=_difficulty(len(points), len(target), action, params),
            seed=seed,
            suite=suite,
            split=self.split,
            version=VERSION,
            baseline=baseline,
        )

    def prompt(self, task: Task) -> str:
        return self.template.render(task.structure, task.prompt)

    def messages(self, task: Task) -> list[Message]:
        return self.template.messages(task.structure, task.prompt)

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        return verify_points(answer, points_of(task.target), tolerance=self.tolerance, strict_tags=self.strict_tags)


def _draw_points(rng: np.random.Generator, count: int) -> FloatArray:
    """Points in the box with 2 decimals, each drawn anew until it is apart from those before."""
    scale = 10**SHOWN_DECIMALS
    points: list[FloatArray] = []
    while len(points) < count:
        # Divided, so that each is the very number that is printed.
        point = rng.integers(-int(BOX * scale), int(BOX * scale) + 1, size=3) / scale
        if all(float(((point - other) ** 2).sum()) >= LEAST_SEPARATION**2 - ROUNDING for other in points):
            points.append(point)
    return np.array(points)


def _well_posed(points: FloatArray, action: str, params: Params) -> tuple[FloatArray, Baseline]:
    """The target and how the unchanged input scores.

    Raises:
        ValueError: if the task is not well posed.
    """
    target = np.round(POINT_OPERATIONS[action].apply(points, params), TARGET_DECIMALS)  # as it is stored
    if closest_pair(target) < LEAST_SEPARATION - ROUNDING:
        raise ValueError("two points would be too close")
    unchanged = compare_points(points, target)
    largest, total = unchanged.max_displacement, unchanged.sum_displacement
    if unchanged.stage is Stage.CORRECT or (largest is not None and largest < DISCRIMINATING_DISTANCE):
        raise ValueError("the unchanged input would be right, or almost")
    # Rounded, because the last bits differ from one processor to the next and the record's bytes must not.
    return target, Baseline(
        stage=unchanged.stage,
        max_displacement=None if largest is None else round(largest, BASELINE_DECIMALS),
        sum_displacement=STARTING_SUM if total is None else round(total, BASELINE_DECIMALS),
        composition_difference=0,
    )


def _difficulty(points: int, listed: int, action: str, params: Params) -> dict[str, float]:
    computed = POINT_OPERATIONS[action].computed(points)
    step = 0.0 if action == "point_move" else 0.5
    if action == "point_rotate_around" and params["angle"] % 90:
        step = 1.0
    most = log(POINT_COUNTS[1] + 1)
    score = 0.3 * log(listed) / most + 0.3 * log(computed) / most + 0.4 * step
    return {
        "score": round(score, 4),
        "level": float(min(LEVELS, int(score * LEVELS) + 1)),
        "points": float(listed),
        "computed": float(computed),
        "step": step,
    }


def point_list(points: FloatArray, decimals: int) -> str:
    """The points as a JSON list of [x, y, z], one point a line, without a newline at the end."""
    # Zero is added so that nothing is printed as -0.00.
    rounded = np.round(points, decimals) + 0.0
    return "[" + ",\n ".join("[" + ", ".join(f"{value:.{decimals}f}" for value in row) + "]" for row in rounded) + "]"


@lru_cache(maxsize=256)
def points_of(listed: str) -> FloatArray:
    """The points of a task's list; the answers of a group share one.

    Raises:
        UnreadablePoints: if it is no list of points.
    """
    return read_points(listed)


def check_coordinates(task: Task) -> None:
    """See that both lists can be read and the operation leads from one to the other.

    Raises:
        ValueError: in one line, naming what is wrong.
    """
    lists = {}
    for name, listed in (("structure", task.structure), ("target", task.target)):
        try:
            lists[name] = points_of(listed)
        except (UnreadablePoints, BoundExceededError) as error:
            raise ValueError(f"the {name} cannot be used: {error}") from None
    try:
        POINT_OPERATIONS[task.action].instruction(task.params)
        target = POINT_OPERATIONS[task.action].apply(lists["structure"], task.params)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the parameters do not fit {task.action} ({type(error).__name__}: {error})") from None
    if compare_points(lists["target"], target, tolerance=10.0**-4).stage is not Stage.CORRECT:
        raise ValueError(f"the target is not what {task.action} with these parameters gives")


def coordinates_of_split(split: str) -> Coordinates:
    """The family with its defaults, sampling from one split."""
    return Coordinates(split)


def _known(action: str) -> str:
    if action not in POINT_OPERATIONS:
        raise UsageError(f"unknown action {action!r}; choose from {', '.join(POINT_OPERATIONS)}")
    return action


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
