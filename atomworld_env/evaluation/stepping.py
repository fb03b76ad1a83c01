"""Answers stepped through the environment in worker processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pebble import ProcessExpired, ProcessPool

from atomworld_env.tasks.task import Task
from rewards.worker_process import guard_worker

IN_FLIGHT_PER_WORKER = 8
"""Answers handed over ahead of time; more would only hold memory."""


@dataclass(frozen=True)
class Attempt:
    """One answer to one task.

    Attributes:
        index: place of the task in the run.
        task: the question.
        answer: the text that is stepped with.
        with_paper: whether the paper profile is computed too.
    """

    index: int
    task: Task
    answer: str
    with_paper: bool


Outcome = dict[str, Any]
"""What one step gave: reward, verdicts, distances; null where a number does not exist."""

_environments: dict[bool, Any] = {}
_arguments: dict[str, Any] = {}


def _start_worker(arguments: dict[str, Any]) -> None:
    _arguments.update(arguments)
    guard_worker()


def step(task: Task, answer: str, with_paper: bool) -> Outcome:
    """Reset the environment to the task and step with the answer."""
    import gymnasium

    import atomworld_env

    if with_paper not in _environments:
        profile = "both" if with_paper else "strict"
        _environments[with_paper] = gymnasium.make(atomworld_env.ENV_ID, profile=profile, **_arguments)
    environment = _environments[with_paper]
    environment.reset(options={"task": task})
    _, reward, _, _, info = environment.step(answer)
    return outcome(
        reward=float(reward),
        seconds=environment.unwrapped.verdict.seconds,
        **{key: info.get(key) for key in _INFO_KEYS},
    )


_INFO_KEYS = (
    "verdict_strict", "success", "max_displacement", "verdict_paper", "success_paper", "rmsd", "max_dist", "message",
)  # fmt: skip

OUTCOME_KEYS = ("reward", *_INFO_KEYS, "seconds")
"""The keys of every outcome."""


def outcome(**values: Any) -> Outcome:
    """An outcome with every key, numbers that do not exist as None."""
    return {key: _jsonable(values.get(key)) for key in OUTCOME_KEYS}


def _jsonable(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


def lost(with_paper: bool, verdict: str, message: str) -> Outcome:
    """The outcome of an answer whose verification ended before the verdict."""
    paper = {"verdict_paper": verdict, "success_paper": False} if with_paper else {}
    return outcome(reward=0.0, verdict_strict=verdict, success=False, message=message, **paper)


def step_all(
    attempts: Iterable[Attempt], *, workers: int, time_limit: float, arguments: dict[str, Any]
) -> Iterator[tuple[Attempt, Outcome]]:
    """Step every attempt, each as soon as it is done, in any order.

    Args:
        workers: processes; they are spawned, so that they share nothing with the parent.
        time_limit: seconds; a worker that needs longer for one answer is killed and replaced, and the answer's verdict
            is ``timeout``. A worker that dies gives ``worker_lost``.
        arguments: of the environment.
    """
    running: dict[Future[Outcome], Attempt] = {}
    with ProcessPool(
        max_workers=workers,
        context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=[arguments],
    ) as pool:
        try:
            for attempt in attempts:
                future = pool.schedule(
                    step, args=[attempt.task, attempt.answer, attempt.with_paper], timeout=time_limit
                )
                running[future] = attempt
                if len(running) >= workers * IN_FLIGHT_PER_WORKER:
                    yield from _finished(running, time_limit)
            while running:
                yield from _finished(running, time_limit)
        finally:
            pool.stop()  # type: ignore[no-untyped-call]


def _finished(running: dict[Future[Outcome], Attempt], time_limit: float) -> Iterator[tuple[Attempt, Outcome]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        attempt = running.pop(future)
        try:
            yield attempt, future.result()
        except TimeoutError:
            yield attempt, lost(attempt.with_paper, "timeout", f"no verdict within {time_limit:g} s")
        except MemoryError:
            yield attempt, lost(attempt.with_paper, "worker_lost", "verification took more memory than its limit")
        except ProcessExpired as error:
            yield (
                attempt,
                lost(attempt.with_paper, "worker_lost", f"the worker died (exit code {error.exitcode})"),
            )


Notify = Callable[[int, int], None]
"""Called with the number of attempts done and the number there are."""
