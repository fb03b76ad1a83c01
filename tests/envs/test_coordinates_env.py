"""`AtomWorld-Coordinates-v0`: Gymnasium's own checks, one whole episode, options and what is shown."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import atomworld_env  # noqa: F401  (registers the ids)
from atomworld_env.errors import UsageError
from atomworld_env.policies.baselines import load_policy

ID = "AtomWorld-Coordinates-v0"


def made(**options: Any) -> Any:
    return gymnasium.make(ID, **options)


def test_gymnasium_finds_no_fault() -> None:
    # The default of an env without a render mode is the one warning that Gymnasium means for people.
    check_env(made(render_mode="ansi").unwrapped, skip_render_check=False)


@pytest.mark.parametrize("action", ["point_move", "point_move_towards", "point_insert_between", "point_rotate_around"])
def test_a_right_answer_and_a_copy(action: str) -> None:
    env = made()
    observation, info = env.reset(seed=5, options={"action": action})
    assert info["action"] == action
    assert observation["structure"] in observation["prompt"]
    assert "<answer>" in observation["prompt"]
    assert "orthogonal" not in info
    _, earned, terminated, truncated, after = env.step(f"<answer>{env.unwrapped.task.target}</answer>")
    assert (earned, terminated, truncated) == (1.0, True, False)
    assert set(after) == set(info)
    assert after["max_displacement"] < 1e-6
    env.reset(options={"task": env.unwrapped.task})
    _, earned, _, _, after = env.step(observation["structure"])
    assert earned == pytest.approx(0.05)
    assert not after["success"]


def test_parts_of_the_way_earn_parts() -> None:
    env = made()
    env.reset(seed=3, options={"action": "point_move"})
    task = env.unwrapped.task
    before, target = np.array(json.loads(task.structure)), np.array(json.loads(task.target))
    earned = []
    for share in (0.0, 0.5, 0.9, 1.0):
        env.reset(options={"task": task})
        earned.append(env.step(json.dumps((before + share * (target - before)).tolist()))[1])
    assert earned == pytest.approx([0.05, 0.275, 0.455, 1.0], abs=1e-6)


def test_what_is_shown() -> None:
    env = made(render_mode="ansi")
    env.reset(seed=0, options={"action": "point_rotate_around"})
    task = env.unwrapped.task
    assert "not given yet" in env.render()
    env.step(load_policy("one_point_off").answer(task))
    shown = env.render()
    assert task.prompt in shown
    assert shown.count("0.500 off") == 1
    assert "structure_mismatch" in shown
    env.reset(options={"task": task})
    env.step("[[1, 2, 3]]")
    assert "composition_mismatch" in env.render()
    assert env.render().isprintable() is False  # lines, and nothing that steers a terminal
    assert "\x1b" not in env.render()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "reference"}, "leave engine out"),
        ({"tolerance": 0}, "positive number"),
        ({"tolerance": float("nan")}, "positive number"),
        ({"profile": "both", "reward_scheme": "paper"}, "no paper profile"),
        ({"reward_scheme": "best"}, "unknown reward scheme"),
        ({"split": "dev"}, "unknown split"),
        ({"actions": "swap"}, "unknown action"),
        ({"min_points": 5, "max_points": 3}, "2 to 16 points"),
        ({"render_mode": "rgb_array"}, "render mode"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode:UserWarning", "ignore:.*render mode:UserWarning")
def test_options_that_do_not_exist_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(**options)


def test_a_wide_tolerance_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="the unchanged input is wrong by 0.15"):
        made(tolerance=0.2)


def test_the_suite_through_the_environment() -> None:
    env = made(suite="coordinates", actions=["point_insert_between"])
    _, info = env.reset(seed=1)
    assert info["action"] == "point_insert_between"
    assert len(env.unwrapped.suite.tasks) == 250
    twin = made(suite="coordinates", actions=["point_insert_between"])
    assert twin.reset(seed=1)[1]["task_id"] == info["task_id"]


def test_strict_tags_take_tags_alone() -> None:
    env = made(strict_tags=True)
    env.reset(seed=2)
    assert env.step(env.unwrapped.task.target)[4]["verdict_strict"] == "no_cif"
