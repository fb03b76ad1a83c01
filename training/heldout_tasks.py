"""The tasks a run is evaluated on while it trains."""

from __future__ import annotations

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import load_suite
from atomworld_env.tasks.task import Task
from training.run_arguments import TaskArguments
from training.task_stream import Fits

HELD_OUT_STREAM = 37
"""Keeps these draws apart from others with the same seed."""

DRAWS_PER_TASK = 20


def tasks_to_hold_out(script: TaskArguments, family: Family, pool: StructurePool, fits: Fits, seed: int) -> list[Task]:
    """The held-out tasks that the options of a run ask for."""
    if script.heldout_tasks < 1:
        return []
    if script.heldout_suite is not None:
        suite = load_suite(script.heldout_suite)
        actions = [action for action in suite.actions if script.actions is None or action in script.actions]
        return [task for task in suite.restricted(actions, script.heldout_tasks).tasks if fits(family.messages(task))]
    config = script.sampler_config(script.heldout_split)
    return held_out_tasks(config, pool, family, per_action=script.heldout_tasks, fits=fits, seed=seed)


def held_out_tasks(
    config: SamplerConfig,
    pool: StructurePool,
    family: Family,
    *,
    per_action: int,
    fits: Fits,
    seed: int,
) -> list[Task]:
    """Different tasks of each edit, as many as asked for or as can be found.

    Raises:
        UsageError: if there is none at all.
    """
    sampler = TaskSampler(config, pool=pool)
    found: dict[str, Task] = {}
    for number, action in enumerate(config.actions):
        wanted = len(found) + per_action
        for draw in range(DRAWS_PER_TASK * per_action):
            if len(found) == wanted:
                break
            words = np.random.SeedSequence([seed, HELD_OUT_STREAM, number, draw]).generate_state(1, np.uint64)
            try:
                task = sampler.sample(int(words[0] >> np.uint64(11)), action)
            except UsageError:
                break
            if fits(family.messages(task)):
                found.setdefault(task.task_id, task)
    if per_action and not found:
        raise UsageError(f"no held-out task fits in split {config.split}; widen the sites, or set --heldout_tasks 0")
    return list(found.values())
