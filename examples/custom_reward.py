"""A reward of your own, made from the verdict on an answer. Needs neither torch nor TRL.

    python examples/custom_reward.py

It pays by steps: the nearer the farthest atom is to its place, the more. Where `stepwise_reward` stands here, TRL takes
it as it is: `GRPOTrainer(..., reward_funcs=[stepwise_reward])`, with a data set of `training.task_dataset.grpo_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import atomworld_env
from atomworld_env.tasks.task import Task
from rewards import Verdict, VerifierPool
from rewards.completions import answer_text

STEPS = ((0.05, 1.0), (0.1, 0.8), (0.25, 0.4), (0.5, 0.2))
"""Å up to which the farthest atom may be off, and what that earns."""

PARSABLE = 0.02
"""For a crystal that can be read. More than nothing, so that an untrained model learns the form first."""

# One pool for the whole run. Its workers start with the first answers and end with the process. One that stalls is
# killed at the time limit, and its answer earns nothing.
POOL = VerifierPool(timeout=60)


def stepwise(verdict: Verdict, unchanged: float | None) -> float:
    """What one verdict earns, from 0 to 1.

    Args:
        verdict: with a distance only where composition and cell are the target's.
        unchanged: distance of the unchanged input in Å; None where the edit changes composition or cell. An answer
            that is no nearer than the input has made no progress, and copying must not pay.
    """
    if not verdict.parsable:
        return 0.0
    distance = verdict.max_displacement
    if distance is None or (unchanged is not None and distance >= unchanged):
        return PARSABLE
    return next((paid for limit, paid in STEPS if distance <= limit), PARSABLE)


def stepwise_reward(
    completions: Sequence[Any],
    target: Sequence[str],
    structure: Sequence[str],
    log_metric: Callable[[str, float], None] | None = None,
    **_: Any,
) -> list[float]:
    """The reward as TRL calls it, with one value for each completion.

    Args:
        completions: texts, or lists of messages.
        target, structure: columns of the data set, repeated for each completion.
        log_metric: TRL's; takes a name and a number for the curves.
    """
    POOL.open()  # does nothing when it is open
    answers = [answer_text(completion) or "" for completion in completions]
    verdicts = list(POOL.verify_many(zip(answers, target, strict=True)))
    inputs = POOL.verify_many(zip(structure, target, strict=True))  # equal ones are verified once
    rewards = [
        stepwise(verdict, unchanged.max_displacement) for verdict, unchanged in zip(verdicts, inputs, strict=True)
    ]
    if log_metric is not None and verdicts:
        log_metric("stepwise/success", sum(bool(verdict.success_strict) for verdict in verdicts) / len(verdicts))
    return rewards


def rewards_of(answers: Sequence[str], tasks: Sequence[Task]) -> list[float]:
    """What answers to tasks earn, asked for as TRL does it."""
    return stepwise_reward(
        completions=[[{"role": "assistant", "content": answer}] for answer in answers],
        target=[task.target for task in tasks],
        structure=[task.structure for task in tasks],
    )


def main() -> None:
    """Right answers, copies and nonsense; run this before a reward trains anything."""
    tasks = [atomworld_env.sample_task(action, seed=7) for action in ("change", "swap", "move", "rotate_around")]
    right = rewards_of([f"<cif>\n{task.target}</cif>" for task in tasks], tasks)
    copied = rewards_of([f"<cif>\n{task.structure}</cif>" for task in tasks], tasks)
    nonsense = rewards_of(["I would rather not." for _ in tasks], tasks)
    for task, *earned in zip(tasks, right, copied, nonsense, strict=True):
        print(f"{task.action:14s} right {earned[0]:.2f}   copy of the input {earned[1]:.2f}   nonsense {earned[2]:.2f}")
    assert right == [1.0] * len(tasks)
    assert copied == [PARSABLE] * len(tasks)
    assert nonsense == [0.0] * len(tasks)
    POOL.close()


if __name__ == "__main__":
    main()
