"""Fixtures for tests of training: tasks on small crystals, printed in the compact style."""

from __future__ import annotations

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task


@pytest.fixture(scope="session")
def compact_tasks() -> list[Task]:
    """Five tasks of each edit on structures of 2-12 sites of the training split, in the compact style."""
    sampler = TaskSampler(SamplerConfig(min_sites=2, max_sites=12, cif_style="compact"))
    return [sampler.sample(seed, name) for name in ACTIONS for seed in range(5)]
