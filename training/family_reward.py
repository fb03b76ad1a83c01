"""The reward of any family: answers stepped through its environment in worker processes that can be killed.

It stands where :class:`rewards.trl.AtomWorldReward` stands for the edits, and logs under the same names: after
``atomworld/`` the means ``success_strict``, ``no_cif``, ``parsable``, ``composition``, ``copied``,
``max_displacement``, ``timeout``, ``worker_lost`` and ``seconds``; for each completion ``task_id``, ``verdict``,
``max_displacement`` and ``copied``. What a stage and a distance mean in a family, its environment says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.stepping import Outcome, ended_step, step, warm_up
from atomworld_env.families.registry import FAMILIES, family_of
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.task import Task
from rewards import Stage
from rewards.completions import answer_text
from rewards.pool import processors_per_rank
from rewards.trl import FARTHEST
from rewards.worker_process import DEFAULT_MEMORY_LIMIT
from rewards.workers import Workers

UNREAD = (Stage.NO_CIF, Stage.CIF_INVALID, Stage.TIMEOUT, Stage.WORKER_LOST)
"""Stages at which nothing could be read."""


class FamilyReward:
    """A reward function for TRL, named ``<family>_<scheme>`` in its logs.

    Args:
        family: key of :data:`~atomworld_env.families.registry.FAMILIES`.
        scheme: of :data:`rewards.SCHEMES`.
        template: the prompt; the environment is made with it.
        actions: kinds of task that are asked; all of the family when None.
        workers: processes; by default the processors that the ranks on this machine share, divided among them.
        timeout: seconds for one answer; more where the family's own limit is longer.

    Raises:
        UsageError: if the environment refuses the scheme, workers or timeout are not positive, or answers cannot be
            verified with what is installed.
    """

    def __init__(
        self,
        family: str,
        scheme: str,
        *,
        template: PromptTemplate,
        actions: Sequence[str] | None = None,
        workers: int | None = None,
        timeout: float = 60.0,
    ) -> None:
        if (workers is not None and workers < 1) or not timeout > 0:
            raise UsageError(f"workers and timeout must be positive, got {workers} and {timeout}")
        self._entry = FAMILIES[family]
        self._arguments: dict[str, Any] = {"reward_scheme": scheme, "prompt": template}
        self._entry.load("env")(**self._arguments)  # refuses bad options now and not on the first call
        if self._entry.needs is not None:
            self._entry.load("needs")(self._entry.actions if actions is None else actions, "training")
        self._name = f"{family}_{scheme}"
        self._count, self._timeout = workers or processors_per_rank(), max(timeout, self._entry.slowest)
        self._workers: Workers | None = None

    @property
    def __name__(self) -> str:
        return self._name

    def __call__(
        self,
        prompts: Any = None,
        completions: Sequence[Any] = (),
        completion_ids: Any = None,
        *,
        task: Sequence[str] = (),
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Rewards in [0, 1], one for each completion; equal answers to a task are stepped once.

        Args:
            completions: texts or lists of messages.
            task: column of the data set, records of tasks as JSON text, repeated for each completion.
        """
        begun = time.perf_counter()
        workers = self._open()
        answers = [answer_text(completion) or "" for completion in completions]
        asked = list(zip((_task(record) for record in task), answers, strict=True))
        handed = {(each.task_id, answer): (each, answer) for each, answer in asked}
        steps = {key: workers.submit(*pair, False) for key, pair in handed.items()}
        ended = {key: ended_step(workers, submitted, False, self._timeout) for key, submitted in steps.items()}
        outcomes = [ended[each.task_id, answer] for each, answer in asked]
        copied = [
            not outcome["success"] and repeats_input(answer, each)
            for (each, answer), outcome in zip(asked, outcomes, strict=True)
        ]
        if log_metric is not None:
            metrics = {**_metrics(outcomes, copied), "seconds": time.perf_counter() - begun}
            for name, value in metrics.items():
                log_metric(f"atomworld/{name}", value)
        if log_extra is not None:
            columns: dict[str, list[Any]] = {
                "task_id": [each.task_id for each, _ in asked],
                "verdict": [outcome["verdict_strict"] for outcome in outcomes],
                "max_displacement": [outcome["max_displacement"] for outcome in outcomes],
                "copied": copied,
            }
            for name, values in columns.items():
                log_extra(f"{self.__name__}/{name}", values)
        return [outcome["reward"] for outcome in outcomes]

    def close(self) -> None:
        """End the worker processes; a later call starts others."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _open(self) -> Workers:
        if self._workers is None or not self._workers.is_open:
            self._workers = Workers(
                self._count,
                partial(step, **self._arguments),
                warm_up=partial(warm_up, self._entry.env_id, False, **self._arguments),
                timeout=self._timeout,
                memory_limit=DEFAULT_MEMORY_LIMIT,
            )
        return self._workers


def _metrics(outcomes: Sequence[Outcome], copied: Sequence[bool]) -> dict[str, float]:
    verdicts = [outcome["verdict_strict"] for outcome in outcomes]
    distances = [min(o["max_displacement"], FARTHEST) for o in outcomes if o["max_displacement"] is not None]
    return {
        "success_strict": _mean([bool(outcome["success"]) for outcome in outcomes]),
        "no_cif": _mean([verdict == Stage.NO_CIF for verdict in verdicts]),
        "parsable": _mean([verdict not in UNREAD for verdict in verdicts]),
        "composition": _mean([verdict in (Stage.STRUCTURE_MISMATCH, Stage.CORRECT) for verdict in verdicts]),
        "timeout": _mean([verdict == Stage.TIMEOUT for verdict in verdicts]),
        "worker_lost": _mean([verdict == Stage.WORKER_LOST for verdict in verdicts]),
        "copied": _mean(copied),
        "max_displacement": _mean(distances) if distances else FARTHEST,
    }


def repeats_input(answer: str, task: Task) -> bool:
    """Whether an answer holds the input as it was shown between the family's tags, blank space apart."""
    opening, closing = family_of(task.action).tags
    inside = answer.rpartition(closing)[0].rpartition(opening)[2]
    return bool(task.structure) and inside.split() == task.structure.split()


@lru_cache(maxsize=4096)  # the tasks of a step come again in every completion of their group
def _task(record: str) -> Task:
    return Task.from_json(json.loads(record))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
