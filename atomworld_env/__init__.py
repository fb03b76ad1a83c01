"""Edit crystals by instruction: tasks with exact truths, verified answers, a Gymnasium environment.

>>> import gymnasium
>>> import atomworld_env
>>> env = gymnasium.make("AtomWorld-v0")
>>> observation, info = env.reset(seed=0)
>>> sorted(observation)
['prompt', 'structure']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

from atomworld_env.families.registry import FAMILIES

if TYPE_CHECKING:
    from atomworld_env.envs.atomworld import AtomWorldEnv
    from atomworld_env.structures.pool import StructurePool, load_pool
    from atomworld_env.tasks.sampler import TaskSampler, sample_task
    from atomworld_env.tasks.sampler_config import SamplerConfig
    from atomworld_env.tasks.suite import Suite, load_suite
    from atomworld_env.tasks.task import Task

__version__ = "0.1.0"

ENV_ID = "AtomWorld-v0"

_HOME = {
    "AtomWorldEnv": "envs.atomworld",
    "SamplerConfig": "tasks.sampler_config",
    "StructurePool": "structures.pool",
    "Suite": "tasks.suite",
    "Task": "tasks.task",
    "TaskSampler": "tasks.sampler",
    "load_pool": "structures.pool",
    "load_suite": "tasks.suite",
    "sample_task": "tasks.sampler",
}

__all__ = [
    "AtomWorldEnv",
    "SamplerConfig",
    "StructurePool",
    "Suite",
    "Task",
    "TaskSampler",
    "load_pool",
    "load_suite",
    "sample_task",
]


def __getattr__(name: str) -> Any:
    """Public names are loaded when first used, so that the import stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Gymnasium 1.x has no entry-point plugins and warns when an id is registered twice.
for _entry in FAMILIES.values():
    if _entry.env_id not in gymnasium.registry:
        gymnasium.register(id=_entry.env_id, entry_point=_entry.env)
