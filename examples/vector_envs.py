"""Many environments at once, in one process and in several.

    python examples/vector_envs.py

Two things have to be said to Gymnasium. `shared_memory=False`: text of any length has no fixed place in shared memory,
and the asynchronous vector environment refuses to start with it. `SAME_STEP`: every episode is one step, and the
default autoreset mode would spend every second step on resetting.
"""

from __future__ import annotations

import gymnasium
from gymnasium.vector import AutoresetMode

import atomworld_env  # registers AtomWorld-v0


def copy_the_input(observations: dict[str, tuple[str, ...]]) -> list[str]:
    """Where a model would answer `observations["prompt"]`, this one repeats the structure."""
    return [f"<cif>\n{structure}</cif>" for structure in observations["structure"]]


def play(mode: str, **vector_kwargs: object) -> list[float]:
    """Two rounds in four environments; the mean reward of each round."""
    envs = gymnasium.make_vec(
        atomworld_env.ENV_ID,
        num_envs=4,
        vectorization_mode=mode,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP, **vector_kwargs},
        max_sites=20,
    )
    observations, _ = envs.reset(seed=0)
    means = []
    for _ in range(2):
        observations, rewards, _, _, infos = envs.step(copy_the_input(observations))
        # The observations are already those of the next tasks; what was answered stands in final_info.
        print(mode, list(infos["final_info"]["action"]), rewards.round(2).tolist())
        means.append(float(rewards.mean()))
    envs.close()
    return means


if __name__ == "__main__":
    in_one_process = play("sync")
    in_four_processes = play("async", shared_memory=False, context="spawn")
    assert in_one_process == in_four_processes  # the same seeds give the same tasks
