"""The tasks a run is evaluated on while it trains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.prompts.prompt import Message
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task

HELD_OUT_STREAM = 37
"""Keeps these draws apart from others with the same seed."""

DRAWS_PER_TASK = 20


def held_out_tasks(
    config: SamplerConfig,
    pool: StructurePool,
    family: Family,
    *,
    per_action: int,
    fits: Callable[[list[Message]], bool],
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
