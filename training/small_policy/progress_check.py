"""Success of a policy on fresh tasks of one split, stepped through AtomWorld-v0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import gymnasium
import numpy as np

import atomworld_env
from atomworld_env.errors import UsageError
from atomworld_env.evaluation.summary import Share
from atomworld_env.policies.policy import Policy, Question
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from rewards import verify

CHECK_STREAM = 23


DRAWS_PER_TASK = 20


def held_out_tasks(
    split: str, actions: Sequence[str], *, sites: tuple[int, int], per_action: int, seed: int = 0
) -> list[Task]:
    """Compact-style tasks of a split, all different, the same for the same arguments.

    An edit that the split's small cells do not admit (``move_towards`` where all are too symmetric) is left out; one
    that they admit in few ways gives fewer tasks.
    """
    config = SamplerConfig(
        split=split, actions=tuple(actions), min_sites=sites[0], max_sites=sites[1], cif_style="compact"
    )
    sampler = TaskSampler(config)
    tasks: list[Task] = []
    for number, action in enumerate(actions):
        found: dict[str, Task] = {}
        with suppress(UsageError):
            for draw in range(DRAWS_PER_TASK * per_action):
                if len(found) == per_action:
                    break
                words = np.random.SeedSequence([seed, CHECK_STREAM, number, draw]).generate_state(1)
                task = sampler.sample(int(words[0]), action)
                found.setdefault(task.task_id, task)
        tasks += found.values()
    return tasks


@dataclass(frozen=True)
class Check:
    """What a policy's answers were worth.

    Attributes:
        success: strictly right answers by edit.
        reward: mean shaped reward.
        parsable: share of answers read as a crystal.
        copied: share of wrong answers that are strictly right as an answer to "change nothing".
    """

    success: Mapping[str, Share]
    reward: float
    parsable: float
    copied: float

    @property
    def rates(self) -> dict[str, float]:
        """Share of right answers by edit."""
        return {action: share.right / share.of for action, share in self.success.items()}


def check(policy: Policy, tasks: Sequence[Task], template: PromptTemplate) -> Check:
    """Ask the policy every task and step the environment with its answers."""
    environment = gymnasium.make(atomworld_env.ENV_ID, prompt=template)
    questions = [Question(task, template.messages(task.structure, task.prompt)) for task in tasks]
    success: dict[str, list[bool]] = {task.action: [] for task in tasks}
    rewards, parsable, copied = [], [], []
    for task, answer in zip(tasks, policy.answers(questions), strict=True):
        environment.reset(options={"task": task})
        _, reward, _, _, info = environment.step(answer)
        right = bool(info["success"])
        success[task.action].append(right)
        rewards.append(float(reward))
        parsable.append(info["verdict_strict"] not in ("no_cif", "cif_invalid"))
        copied.append(parsable[-1] and not right and bool(verify(answer, task.structure).success_strict))
    environment.close()
    return Check(
        {action: Share(sum(values), len(values)) for action, values in success.items()},
        float(np.mean(rewards)),
        float(np.mean(parsable)),
        float(np.mean(copied)),
    )
