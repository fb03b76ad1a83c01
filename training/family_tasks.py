"""Training on the tasks of any family: rows drawn by the family itself, and tasks held out from another split.

The edits have a sampler with sizes, pools and levels (:mod:`training.training_tasks`). What is here asks a family for
nothing but :class:`~atomworld_env.families.family.Family`.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import fields

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.families.registry import FAMILIES
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task
from training.heldout_tasks import DRAWS_PER_TASK, HELD_OUT_STREAM
from training.run_arguments import TaskArguments
from training.task_stream import ATTEMPTS, TASK_STREAM, Fits, Rows

EDITS_ONLY = ("pool", "min_sites", "max_sites", "min_difficulty", "max_difficulty", "cif_style")
"""Options of :class:`~training.run_arguments.TaskArguments` that say what edits are sampled from."""

_LOGGER = logging.getLogger(__name__)


def family_name(asked: str | None, suite: Suite | None) -> str:
    """The family of a run: the one asked for, else that of the suite, else the edits.

    Raises:
        UsageError: if there is none of that name, or the suite is of another.
    """
    if asked is not None and asked not in FAMILIES:
        raise UsageError(f"unknown family {asked!r}; choose from {', '.join(FAMILIES)}")
    if suite is None:
        return asked or "edits"
    if asked not in (None, suite.family):
        raise UsageError(
            f"suite {suite.name} holds tasks of the family {suite.family}, not {asked}; leave --family out"
        )
    return suite.family


def family_of_run(name: str, script: TaskArguments, template: PromptTemplate, split: str) -> Family:
    """The family as its environment makes it, sampling from a split.

    Raises:
        UsageError: for options that the family does not have.
    """
    default = {field.name: field.default for field in fields(TaskArguments)}
    if changed := [name for name in EDITS_ONLY if getattr(script, name) != default[name]]:
        # Not refused: recipes set them, and one recipe shall serve every family.
        _LOGGER.info("%s: of the edits, without meaning for the family %s", ", ".join(changed), name)
    if script.heldout_profile != "strict" and not FAMILIES[name].has_paper:
        raise UsageError(f"the family {name} has no paper profile; set --heldout_profile strict")
    family: Family = FAMILIES[name].load("env")(split=split, prompt=template).family
    for action in script.actions or ():
        if action not in family.actions:
            raise UsageError(f"unknown action {action!r}; the family {name} has {', '.join(family.actions)}")
    return family


class FamilyTasks(Rows):
    """Tasks of a family, each kind equally often, drawn from ``SeedSequence([seed, stream, index, attempt])``.

    Args:
        actions: kinds of task.
        kept: rows remembered.
        fits: rows whose prompt does not fit are drawn anew, and counted in :attr:`overflows` by kind.
    """

    def __init__(self, family: Family, actions: tuple[str, ...], *, kept: int, fits: Fits, seed: int) -> None:
        super().__init__(family, None, kept)
        self.overflows: Counter[str] = Counter()
        self._actions, self._fits, self._seed = actions, fits, seed

    def task(self, index: int) -> tuple[Task, int]:
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, TASK_STREAM, index]))
        action = self._actions[int(rng.integers(len(self._actions)))]
        for attempt in range(ATTEMPTS):
            try:
                task = self._family.sample(_seed(self._seed, TASK_STREAM, index, attempt), action)
            except UsageError:
                continue
            if self._fits(self._family.messages(task)):
                return task, 0
            self.overflows[action] += 1
        raise UsageError(
            f"no task of {action} fits in {ATTEMPTS} draws: prompts are too long for the model's context beside "
            "max_completion_length; lower that, or leave the kind out with --actions"
        )


def held_out_of_family(script: TaskArguments, family: Family, fits: Fits, seed: int) -> list[Task]:
    """The held-out tasks that the options of a run ask for: different ones of each kind, that fit.

    Args:
        family: sampling from the split that is held out.

    Raises:
        UsageError: if the suite is of another family, or no task fits.
    """
    if script.heldout_tasks < 1:
        return []
    actions = tuple(script.actions or family.actions)
    if script.heldout_suite is not None:
        suite = load_suite(script.heldout_suite)
        if suite.family != family.name:
            raise UsageError(f"--heldout_suite holds tasks of the family {suite.family}, the run is on {family.name}")
        kept = suite.restricted([action for action in suite.actions if action in actions], script.heldout_tasks)
        found = {task.task_id: task for task in kept.tasks if fits(family.messages(task))}
    else:
        found = {}
        for number, action in enumerate(actions):
            wanted = len(found) + script.heldout_tasks
            for draw in range(DRAWS_PER_TASK * script.heldout_tasks):
                if len(found) == wanted:
                    break
                try:
                    task = family.sample(_seed(seed, HELD_OUT_STREAM, number, draw), action)
                except UsageError:
                    continue
                if fits(family.messages(task)):
                    found.setdefault(task.task_id, task)
    if not found:
        raise UsageError("no held-out task fits into the model's context; set --heldout_tasks 0")
    return list(found.values())


def by_split(tasks: list[Task]) -> list[dict[str, str]]:
    """Tasks as :func:`~training.leakage.refuse_leakage` compares them with what is drawn from a split."""
    return [{"task_id": task.task_id, "family": f"any of the split {task.split}"} for task in tasks]


def _seed(*words: int) -> int:
    return int(np.random.SeedSequence(list(words)).generate_state(1, np.uint64)[0] >> np.uint64(11))
