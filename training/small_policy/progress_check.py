"""Success of a policy on fresh tasks of one split, stepped through AtomWorld-v0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import gymnasium
import numpy as np

import atomworld_env
from atomworld_env.errors import UsageError
from atomworld_env.policies.policy import Policy, Question
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task

CHECK_STREAM = 23


def held_out_tasks(
    split: str, actions: Sequence[str], *, sites: tuple[int, int], per_action: int, seed: int = 0
) -> list[Task]:
    """Compact-style tasks of a split, the same for the same arguments.

    An edit that the split's small cells do not admit (``move_towards`` where all are too symmetric) is left out.
    """
    config = SamplerConfig(
        split=split, actions=tuple(actions), min_sites=sites[0], max_sites=sites[1], cif_style="compact"
    )
    sampler = TaskSampler(config)
    tasks = []
    for number, action in enumerate(actions):
        seeds = np.random.SeedSequence([seed, CHECK_STREAM, number]).generate_state(per_action)
        with suppress(UsageError):
            tasks += [sampler.sample(int(each), action) for each in seeds]
    return tasks


@dataclass(frozen=True)
class Check:
    """What a policy's answers were worth.

    Attributes:
        success: share of strictly right answers by edit.
        reward: mean shaped reward.
        parsable: share of answers read as a crystal.
    """

    success: Mapping[str, float]
    reward: float
    parsable: float


def check(policy: Policy, tasks: Sequence[Task], template: PromptTemplate) -> Check:
    """Ask the policy every task and step the environment with its answers."""
    environment = gymnasium.make(atomworld_env.ENV_ID, prompt=template)
    questions = [Question(task, template.messages(task.structure, task.prompt)) for task in tasks]
    success: dict[str, list[bool]] = {task.action: [] for task in tasks}
    rewards, parsable = [], []
    for task, answer in zip(tasks, policy.answers(questions), strict=True):
        environment.reset(options={"task": task})
        _, reward, _, _, info = environment.step(answer)
        success[task.action].append(bool(info["success"]))
        rewards.append(float(reward))
        parsable.append(info["verdict_strict"] not in ("no_cif", "cif_invalid"))
    environment.close()
    return Check(
        {action: float(np.mean(values)) for action, values in success.items()},
        float(np.mean(rewards)),
        float(np.mean(parsable)),
    )
