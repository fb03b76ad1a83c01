"""`AtomWorld-CIFRepair-v0` and `AtomWorld-CIFGen-v0` as Gymnasium environments."""

from __future__ import annotations

import pickle
import warnings
from math import inf

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import atomworld_env  # noqa: F401  (registers the ids)
from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.baselines import BASELINES

ENTRIES = {name: FAMILIES[name] for name in ("cif_repair", "cif_gen")}
each_family = pytest.mark.parametrize("name", ENTRIES)


@each_family
@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_check_env_passes_without_a_warning(name: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ENTRIES[name].env_id, render_mode=render_mode).unwrapped)


@each_family
def test_every_kind_of_task_can_be_asked_for(name: str) -> None:
    env = gymnasium.make(ENTRIES[name].env_id)
    for action in ENTRIES[name].actions:
        observation, info = env.reset(seed=2, options={"action": action})
        assert info["action"] == action
        assert env.unwrapped.task.prompt in observation["prompt"]
        _, reward, terminated, truncated, info = env.step(BASELINES["oracle"].answer(env.unwrapped.task))
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


@each_family
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"profile": "paper"}, "no paper profile"),
        ({"reward_scheme": "paper"}, "no paper profile"),
        ({"render_mode": "rgb_array"}, "render mode"),
        ({"engine": "warp"}, "unknown engine"),
        ({"tolerance": 0}, "positive number"),
        ({"tolerance": inf}, "positive number"),
        ({"actions": "swap"}, "unknown action 'swap'"),
        ({"suite": "coordinates"}, "make that environment"),
        ({"prompt": "nothing.txt"}, "cannot read"),
    ],
)
def test_mistakes_are_named(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ENTRIES[name].load("env")(**arguments)


def test_nothing_is_shown_where_a_crystal_is_to_be_written() -> None:
    env = gymnasium.make("AtomWorld-CIFGen-v0", actions="generate_rutile")
    observation, _ = env.reset(seed=1)
    assert observation["structure"] == ""
    assert "{" not in observation["prompt"]


def test_the_sampling_arguments_of_repair() -> None:
    env = gymnasium.make("AtomWorld-CIFRepair-v0", min_sites=4, max_sites=6, faults=2, split="test")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert 4 <= info["n_sites"] <= 6
        assert len(env.unwrapped.task.params["faults"]) == 2
        assert env.unwrapped.task.split == "test"


@each_family
def test_an_environment_can_be_pickled_and_run_side_by_side(name: str) -> None:
    env = gymnasium.make(ENTRIES[name].env_id).unwrapped
    twin = pickle.loads(pickle.dumps(env))
    assert env.reset(seed=4)[1] == twin.reset(seed=4)[1]
    vector = gymnasium.make_vec(ENTRIES[name].env_id, num_envs=2, vectorization_mode="sync")
    vector.reset(seed=1)
    _, rewards, *_ = vector.step(("", "<cif>"))
    assert rewards.tolist() == [0.0, 0.0]
    vector.close()


@each_family
def test_the_answer_is_shown_with_its_verdict(name: str) -> None:
    env = gymnasium.make(ENTRIES[name].env_id, render_mode="ansi")
    env.reset(seed=3)
    env.step("no crystal")
    assert "no_cif" in env.render()
