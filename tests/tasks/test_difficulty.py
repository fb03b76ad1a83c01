"""How hard a task is, before any model has seen it."""

from __future__ import annotations

from math import log, log10

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.difficulty import difficulty
from atomworld_env.tasks.sampler import sample_task


def crystal(sites=20, cell=(10.0, 10.0, 10.0, 90.0, 90.0, 90.0)):
    return Crystal(cell, ("Na",) * sites, np.random.default_rng(0).random((sites, 3)))


def hardness(action, source, params):
    edit = ACTIONS[action]
    return difficulty(edit, source, params, edit.apply(source, params))


def move(length, **kwargs):
    return hardness("move", crystal(**kwargs), {"index": 0, "displacement": [length, 0.0, 0.0]})


def test_score_of_a_move_by_hand():
    # 20 sites, orthogonal, 3 Å of lever, 10 Å edges: 0.4 ln 20 / ln 400 + 0.2 (0 + 0.3 + (2 - 1) / 2).
    found = move(3.0)
    assert found["score"] == pytest.approx(0.4 * log(20) / log(400) + 0.2 * (0.3 + 0.5), abs=1e-4)
    assert found == {
        "score": found["score"],
        "level": 2.0,
        "sites": 20.0,
        "obliqueness": 0.0,
        "lever": 3.0,
        "precision": pytest.approx(log10(100)),
    }


def test_score_of_an_edit_without_coordinates_counts_sites_alone():
    found = hardness("remove", crystal(21, (10.0, 10.0, 30.0, 90.0, 60.0, 130.0)), {"index": 0})
    assert found["score"] == pytest.approx(0.4 * log(20) / log(400), abs=1e-4)
    assert found["obliqueness"] == 40.0
    assert found["lever"] == 0.0


def test_sites_are_those_of_the_answer():
    assert hardness("super_cell", crystal(20), {"factors": [2, 2, 1]})["sites"] == 80.0
    assert hardness("add", crystal(20), {"element": "H", "position": [1.0, 1.0, 1.0]})["sites"] == 21.0


@pytest.mark.parametrize(
    ("harder", "easier"),
    [
        pytest.param(move(3.0, sites=80), move(3.0, sites=10), id="more sites"),
        pytest.param(move(3.0, cell=(10.0, 10.0, 10.0, 90.0, 60.0, 90.0)), move(3.0), id="an oblique cell"),
        pytest.param(move(6.0), move(1.0), id="a longer lever"),
        pytest.param(move(3.0, cell=(10.0, 10.0, 40.0, 90.0, 90.0, 90.0)), move(3.0), id="a longer edge"),
    ],
)
def test_each_component_makes_a_task_harder(harder, easier):
    assert harder["score"] > easier["score"]


def test_obliqueness_is_the_largest_deviation_on_either_side():
    assert move(1.0, cell=(9.0, 9.0, 9.0, 80.0, 90.0, 120.0))["obliqueness"] == 30.0
    assert move(1.0, cell=(9.0, 9.0, 9.0, 50.0, 90.0, 100.0))["obliqueness"] == 40.0


def test_score_and_level_stay_in_range():
    extreme = move(500.0, sites=399, cell=(300.0, 300.0, 300.0, 90.0, 90.0, 170.0))
    trivial = move(0.0, sites=1, cell=(0.5, 0.5, 0.5, 90.0, 90.0, 90.0))
    assert extreme["score"] == pytest.approx(1.0, abs=1e-3)
    assert extreme["level"] == 5.0
    assert trivial["score"] == 0.0
    assert trivial["level"] == 1.0


@pytest.mark.parametrize("action", [pytest.param(name, id=name) for name in ACTIONS])
def test_the_record_carries_the_difficulty_of_its_own_texts(action):
    task = sample_task(action, seed=11)
    assert task.difficulty == difficulty(ACTIONS[action], task.crystal, task.params, task.target_crystal)
    assert all(type(value) is float for value in task.difficulty.values())
    assert task.difficulty["level"] == min(5, int(task.difficulty["score"] * 5) + 1)
