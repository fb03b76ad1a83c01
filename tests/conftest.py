"""Fixtures for all tests: tasks of the embedded pool, made once per session."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, SuiteRecipe, make_suite
from atomworld_env.tasks.task import Task

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def small_suite() -> Suite:
    """Three tasks of each edit on structures of 10-40 sites of the test split."""
    return make_suite(SuiteRecipe("small", SamplerConfig(split="test", max_sites=40), per_action=3, seed=11))


@pytest.fixture(scope="session")
def small_suite_folder(small_suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small_suite")
    small_suite.write(folder)
    return folder


@pytest.fixture(scope="session")
def small_tasks() -> dict[str, Task]:
    """One task of each edit on a structure of 2-12 sites."""
    sampler = TaskSampler(SamplerConfig(min_sites=2, max_sites=12))
    return {name: sampler.sample(5, name) for name in ACTIONS}
