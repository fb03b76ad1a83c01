"""Fixtures for all tests: tasks of the embedded pool, made once per session."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def _compiled_code() -> Path:
    """A folder for the compiled code of the matcher as it is now.

    numba takes stored code for current while the one file that the function stands in has not changed, though code of
    the functions that it calls is in it.
    """
    digest = hashlib.sha256()
    for path in sorted((REPOSITORY / "rewards" / "matcher").glob("*.py")):
        digest.update(path.read_bytes())
    return REPOSITORY / ".pytest_cache" / "compiled" / digest.hexdigest()[:16]


# Before numba is imported; the processes that tests start inherit it.
os.environ["NUMBA_CACHE_DIR"] = str(_compiled_code())

from atomworld_env.actions import ACTIONS
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, SuiteRecipe, make_suite
from atomworld_env.tasks.task import Task


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
