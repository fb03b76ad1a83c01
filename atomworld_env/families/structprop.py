"""StructProp: change a crystal so that its bulk modulus or its band gap goes up or down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.action_names import PROPERTY_CHANGES
from atomworld_env.families.structprop_records import IN_WORDS, instruction, parts_of, stored_tasks
from atomworld_env.prompts.prompt import Message, PromptTemplate, load_template
from atomworld_env.properties.by_name import DEFAULT, PACKAGED, AnyOracle, oracle_of
from atomworld_env.properties.cache import CachedOracle, crystal_key
from atomworld_env.properties.oracle import Failure, PropertyOracle, PropertyValue
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.sampler_config import ALL_SPLITS
from atomworld_env.tasks.task import Task
from rewards import Arrangement, Stage, TargetError, Verdict
from rewards.property_change import (
    MAX_SITES,
    Direction,
    Question,
    Reading,
    broken_rule,
    is_unchanged,
    verify_property_change,
)
from rewards.same_crystal import CrystalTarget, prepare_crystal

STREAM = 0x7370
"""Keeps the random numbers of this family apart from those of others with the same seed."""

NEED_NO_ORACLE = ("oracle", "noop", "echo", "empty", "garbage", "scaled_cell")
"""Policies whose answers are judged without a new value: the solution's is stored, the others break a rule."""

_STAGES = {
    None: Stage.PROPERTY_FAILED,
    Failure.CRYSTAL: Stage.PROPERTY_FAILED,
    Failure.TIMEOUT: Stage.TIMEOUT,
    Failure.LOST: Stage.WORKER_LOST,
    Failure.MISSING: Stage.WORKER_LOST,
}


class PropertyChange:
    """Crystals whose property is to be raised or lowered.

    Args:
        actions: kinds of task; all when None.
        split: of the structures: train, validation, test, or ``all``.
        template: the prompt.
        strict_tags: accept the CIF only as the published protocol does.
        engine: of reading, see :func:`rewards.verify`.
        oracle: of new values: a name, see :func:`atomworld_env.properties.by_name.oracle_of`, or an object; `actions`
            must then be those of its property. Where it is another than the one that the stored values come from, by
            its `version`, the crystal shown is evaluated, too.

    Raises:
        UsageError: for what does not exist.
    """

    name = "structprop"
    tolerance = None

    def __init__(
        self,
        *,
        actions: tuple[str, ...] | None = None,
        split: str = "train",
        template: PromptTemplate | None = None,
        strict_tags: bool = False,
        engine: str = "fast",
        oracle: str | PropertyOracle = DEFAULT,
    ) -> None:
        self.actions = PROPERTY_CHANGES if actions is None else actions
        unknown = [name for name in self.actions if name not in PROPERTY_CHANGES]
        if unknown or not self.actions:
            named = f"unknown action {unknown[0]!r}" if unknown else "no action is given"
            raise UsageError(f"{named}; choose from {', '.join(PROPERTY_CHANGES)}")
        if split not in (*SPLITS, ALL_SPLITS):
            raise UsageError(f"unknown split {split!r}; choose from {', '.join(SPLITS)}, {ALL_SPLITS}")
        self.split = split
        self.template = load_template("default", default="structprop") if template is None else template
        self.strict_tags = strict_tags
        self.engine = engine
        self.oracle: AnyOracle = oracle if isinstance(oracle, str) else CachedOracle(oracle)
        for action in self.actions:
            oracle_of(parts_of(action)[1], self.oracle)  # says what is wrong with it before there is a task

    def sample(self, seed: int, action: str | None = None, *, suite: str = "") -> Task:
        """One of the stored tasks of the split: a kind is drawn evenly, then a crystal.

        Raises:
            UsageError: for an action that does not exist or has no task in this split, or a negative seed.
        """
        if seed < 0:
            raise UsageError(f"a seed must be 0 or larger, got {seed}")
        if action is not None and action not in self.actions:
            raise UsageError(f"unknown action {action!r}; choose from {', '.join(self.actions)}")
        tasks = stored_tasks(None if self.split == ALL_SPLITS else self.split)
        kinds = [name for name in (self.actions if action is None else (action,)) if tasks[name]]
        if not kinds:
            raise UsageError(f"no crystal of the split {self.split} is stored for this; choose another split or action")
        split = -1 if self.split == ALL_SPLITS else SPLITS.index(self.split)
        rng = np.random.default_rng(np.random.SeedSequence([seed, split + 1, STREAM]))
        drawn = tasks[kinds[int(rng.integers(len(kinds)))]]
        return replace(drawn[int(rng.integers(len(drawn)))], seed=seed, suite=suite)

    def prompt(self, task: Task) -> str:
        """The conventions, the structure and the instruction."""
        return self.template.render(task.structure, task.prompt)

    def messages(self, task: Task) -> list[Message]:
        """The same as chat messages."""
        return self.template.messages(task.structure, task.prompt)

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        """The verdict; the stored solution needs no oracle."""
        direction, name = parts_of(task.action)
        oracle = oracle_of(name, self.oracle)
        stored = task.params["oracle"] == oracle.oracle.version
        given = prepared(task.structure)

        def question() -> Question:
            reference = Reading(task.params["value"], task.params["energy"])
            threshold = float(task.params["threshold"])
            if not stored:
                reference = _reading(oracle.value(given.given))
                threshold = oracle.oracle.noise.at(reference.value or 0.0)
            return Question(cast(Direction, direction), IN_WORDS[name], oracle.oracle.unit, reference, threshold)

        def evaluate(crystal: Arrangement) -> Reading:
            if stored and crystal_key(crystal) == _key(task.target):
                return Reading(task.params["solution"])
            return _reading(oracle.value(crystal))

        return verify_property_change(
            answer,
            given,
            question,
            evaluate,
            elements=task.params["elements"],
            strict_tags=self.strict_tags,
            engine=self.engine,
        )


def _reading(found: PropertyValue) -> Reading:
    return Reading(found.value, found.energy, _STAGES[found.failure], found.message)


def refuse_without_oracle(actions: Sequence[str], policy: str) -> None:
    """See, before a run, that the answers of a policy can be evaluated.

    Raises:
        UsageError: naming the extra to install, if they cannot.
    """
    if policy in NEED_NO_ORACLE:
        return
    for name in sorted({parts_of(action)[1] for action in actions}):
        missing = PACKAGED[name].missing()
        if missing is not None:
            others = ",".join(other for other in PROPERTY_CHANGES if parts_of(other)[1] != name)
            raise UsageError(f"{missing}; or leave these tasks out with --actions {others}")


def check_task(task: Task) -> None:
    """See that the parameters are complete, that both crystals can be read, and that the target is a right answer.

    Raises:
        ValueError: in one line, naming what is wrong.
    """
    direction, name = parts_of(task.action)
    try:
        instruction(task.params)
        change = float(task.params["solution"]) - float(task.params["value"])
        threshold = float(task.params["threshold"])
        float(task.params["energy"])
        if not all(isinstance(symbol, str) for symbol in task.params["elements"]):
            raise TypeError("elements must be symbols")
        named = (task.params["direction"], task.params["property"], str(task.params["oracle"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the parameters do not fit {task.action} ({type(error).__name__}: {error})") from None
    if named[:2] != (direction, name):
        raise ValueError(f"the parameters are of {named[0]}_{named[1]}, the action is {task.action}")
    if not (change if direction == "raise" else -change) > threshold:
        raise ValueError("the stored solution does not move the property by more than the threshold")
    try:
        given, target = prepared(task.structure), prepared(task.target)
    except TargetError as error:
        raise ValueError(str(error)) from None
    if len(given.given) > MAX_SITES:
        raise ValueError(f"the structure has {len(given.given)} sites, {MAX_SITES} are the most")
    broken = broken_rule(target.given, given.given, task.params["elements"])
    if broken is not None:
        raise ValueError(f"the target breaks a rule: {broken[1]}")
    if is_unchanged(target.given, given):
        raise ValueError("the target is the structure again")
    _ = task.crystal, task.target_crystal


def property_change_of_split(split: str) -> PropertyChange:
    """The family with its defaults, sampling from one split."""
    return PropertyChange(split=split)


def suite_tasks(split: str, suite: str) -> Mapping[str, Sequence[Task]]:
    """The stored tasks of a split as those of a suite, by kind."""
    stored = stored_tasks(split)
    return {action: [replace(task, suite=suite) for task in tasks] for action, tasks in stored.items()}


@lru_cache(maxsize=256)
def prepared(cif: str) -> CrystalTarget:
    """The prepared form of a crystal shown; the answers of a group share one.

    Raises:
        rewards.TargetError: if it cannot be read.
    """
    return prepare_crystal(cif)


@lru_cache(maxsize=256)
def _key(cif: str) -> str:
    return crystal_key(prepared(cif).given)
