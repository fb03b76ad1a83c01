"""`AtomWorld-StructProp-v0` as a Gymnasium environment."""

from __future__ import annotations

import pickle
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import atomworld_env  # noqa: F401  (registers the ids)
from atomworld_env.envs.structprop import StructPropEnv
from atomworld_env.errors import UsageError
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.properties.oracle import Noise, PropertyValue
from atomworld_env.structures.cif import write_cif
from atomworld_env.tasks.suite import load_suite
from rewards import Arrangement

ENV_ID = "AtomWorld-StructProp-v0"


@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_check_env_passes_without_a_warning(render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ENV_ID, render_mode=render_mode).unwrapped)


def test_the_stored_solution_of_every_kind_is_right_and_the_input_is_not() -> None:
    env = gymnasium.make(ENV_ID)
    for action in env.unwrapped.family.actions:
        observation, info = env.reset(seed=2, options={"action": action})
        assert info["action"] == action
        assert env.unwrapped.task.prompt in observation["prompt"]
        _, reward, terminated, truncated, info = env.step(BASELINES["oracle"].answer(env.unwrapped.task))
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
        env.reset(options={"task": env.unwrapped.task})
        _, reward, _, _, info = env.step(observation["structure"])
        assert (reward, info["verdict_strict"]) == (0.05, "unchanged")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"profile": "paper"}, "no paper profile"),
        ({"reward_scheme": "paper"}, "no paper profile"),
        ({"render_mode": "rgb_array"}, "render mode"),
        ({"engine": "warp"}, "unknown engine"),
        ({"tolerance": 0.1}, "no tolerance"),
        ({"actions": "swap"}, "unknown action 'swap'"),
        ({"actions": ()}, "no action"),
        ({"split": "holdout"}, "unknown split"),
        ({"oracle": "vasp"}, "unknown oracle"),
        ({"oracle": "command:no-such-program"}, "not found"),
        ({"suite": "coordinates"}, "make that environment"),
        ({"prompt": "nothing.txt"}, "cannot read"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StructPropEnv(**arguments)  # type: ignore[arg-type]


def test_a_program_of_the_users_judges_the_answers(tmp_path: Path) -> None:
    """A program that counts atoms of an element: the crystal shown has none, and the answer has one."""
    env = gymnasium.make(ENV_ID, actions="raise_bulk_modulus")
    env.reset(seed=1)
    task = env.unwrapped.task
    element = next(symbol for symbol in task.params["elements"] if symbol not in task.crystal.species)
    program = tmp_path / "count.py"
    program.write_text(
        "import sys\n"
        "rows = [line.split() for line in open(sys.argv[2])]\n"
        "print(1000 * sum(row[:1] == [sys.argv[1]] for row in rows), 'GPa')\n",
        encoding="utf-8",
    )
    env = gymnasium.make(ENV_ID, oracle=f"command:{sys.executable} {program} {element}")
    env.reset(options={"task": task})
    changed = replace(task.crystal, species=(element, *task.crystal.species[1:]))
    _, reward, _, _, info = env.step(write_cif(changed))
    assert reward == 1.0
    assert "is 1000 GPa, the structure's is 0 GPa" in info["message"]


class Density:
    """A user's oracle, in place of a modulus: atomic mass over volume; it fails where there is lithium."""

    property, unit, version, noise = "bulk_modulus", "GPa", "density-1", Noise(0.1)
    cost, deterministic = "seconds", True

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        from ase.data import atomic_masses, atomic_numbers

        if "Li" in crystal.elements:
            raise ArithmeticError("too light\nby far")
        mass = sum(atomic_masses[atomic_numbers[symbol]] for symbol in crystal.elements)
        return PropertyValue(float(mass / crystal.volume), "GPa")


def test_an_oracle_of_the_users_judges_the_answers() -> None:
    moduli = ("raise_bulk_modulus", "lower_bulk_modulus")
    with pytest.raises(UsageError, match="computes bulk_modulus in GPa, not band_gap"):
        gymnasium.make(ENV_ID, oracle=Density())
    env = gymnasium.make(ENV_ID, oracle=Density(), actions=moduli, suite="structprop")
    with pytest.raises(UsageError, match="computes bulk_modulus"):
        env.unwrapped.reset(options={"task": load_suite("structprop").restricted(["raise_band_gap"]).tasks[0]})
    task = next(
        task
        for task in env.unwrapped.suite.restricted(["raise_bulk_modulus"]).tasks
        if "Li" in task.params["elements"] and "Li" not in task.crystal.species
    )
    heaviest = task.params["elements"][-1]
    for element, reward, verdict in ((heaviest, 1.0, "correct"), ("Li", 0.0, "worker_lost")):
        env.reset(options={"task": task})
        species = task.crystal.species
        first = next(site for site, symbol in enumerate(species) if symbol != element)
        changed = replace(task.crystal, species=(*species[:first], element, *species[first + 1 :]))
        _, earned, _, _, info = env.step(write_cif(changed))
        assert (earned, info["verdict_strict"]) == (reward, verdict), info["message"]
    assert "ArithmeticError too light" in info["message"]


def test_an_environment_can_be_pickled_and_run_side_by_side() -> None:
    env = gymnasium.make(ENV_ID).unwrapped
    twin = pickle.loads(pickle.dumps(env))
    assert env.reset(seed=4)[1] == twin.reset(seed=4)[1]
    vector = gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode="sync")
    vector.reset(seed=1)
    _, rewards, *_ = vector.step(("", "<cif>"))
    assert rewards.tolist() == [0.0, 0.0]
    vector.close()


def test_nothing_that_is_written_raises() -> None:
    env = gymnasium.make(ENV_ID, actions="raise_bulk_modulus")
    observation, _ = env.reset(seed=3)
    answers = ("", "\0", "<cif>", "é" * 100_000, "<cif>data_x\n_cell_length_a nan</cif>", "data_\nloop_\n" * 2000)
    for answer in (*answers, observation["prompt"], observation["structure"][:200]):
        env.reset(seed=3)
        _, reward, terminated, _, info = env.step(answer)
        assert (reward <= 0.05, terminated, info["success"]) == (True, True, False)
