"""Answers stepped through the environment in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import isfinite
from typing import Any

from atomworld_env.families.registry import FAMILIES, family_of
from atomworld_env.policies.policy import Reply
from atomworld_env.tasks.task import Task
from rewards import verify, worker
from rewards.worker_process import DEFAULT_MEMORY_LIMIT
from rewards.worker_verification import warm_up as warm_up_verification
from rewards.workers import TaskTimeout, WorkerLost, Workers

ENV_ID = FAMILIES["edits"].env_id

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
        sample: which of the answers to this task it is.
        reply: the answer with what is known about it; None where it is a text and no more.
    """

    index: int
    task: Task
    answer: str
    with_paper: bool
    sample: int = 0
    reply: Reply | None = None


Outcome = dict[str, Any]
"""What one step gave: reward, verdicts, distances; null where a number does not exist."""


def step(task: Task, answer: str, with_paper: bool, **arguments: Any) -> Outcome:
    """Reset the environment to the task and step with the answer.

    Args:
        arguments: of the environment.
    """
    environment = _environment(family_of(task.action).env_id, with_paper, **arguments)
    environment.reset(options={"task": task})
    _, reward, _, _, info = environment.step(answer)
    verdict = environment.unwrapped.verdict
    engine = arguments.get("engine", "fast")
    return outcome(
        reward=float(reward),
        extraction=verdict.extraction,
        length_scale=verdict.length_scale,
        seconds=verdict.seconds,
        floor_paper=_copy_passes(task.structure, task.target, engine) if with_paper else None,
        **{key: info.get(key) for key in _INFO_KEYS},
    )


@lru_cache(maxsize=64)
def _copy_passes(structure: str, target: str, engine: str) -> bool:
    """Whether the unchanged input passes the paper profile; kept, as a task may have many answers."""
    return bool(verify(f"<cif>\n{structure}\n</cif>", target, profile="paper", engine=engine).success_paper)


def warm_up(env_id: str, with_paper: bool, **arguments: Any) -> None:
    """Import, read and compile all that a step needs, so that no answer pays for it."""
    warm_up_verification(profile="both" if with_paper else "strict", engine=arguments.get("engine", "fast"))
    for paper in {False, with_paper}:
        _environment(env_id, paper, **arguments)


@cache
def _environment(env_id: str, with_paper: bool, **arguments: Any) -> Any:
    import gymnasium

    import atomworld_env  # noqa: F401  (registers the ids)

    return gymnasium.make(env_id, profile="both" if with_paper else "strict", **arguments)


_INFO_KEYS = (
    "verdict_strict", "success", "max_displacement", "verdict_paper", "success_paper", "rmsd", "max_dist", "message",
)  # fmt: skip

OUTCOME_KEYS = ("reward", *_INFO_KEYS, "length_scale", "extraction", "floor_paper", "seconds")
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
    attempts: Iterable[Attempt],
    *,
    workers: int,
    time_limit: float,
    arguments: dict[str, Any],
    with_paper: bool = True,
    env_id: str = ENV_ID,
) -> Generator[tuple[Attempt, Outcome]]:
    """Step every attempt, each as soon as it is done, in any order.

    Args:
        workers: processes; fresh ones, that share nothing with the parent and import none of its scripts.
        time_limit: seconds; a worker that needs longer for one answer is killed and replaced, and the answer's verdict
            is ``timeout``. A worker that dies or runs out of memory gives ``worker_lost``.
        arguments: of the environment.
        with_paper: whether an attempt may ask for the paper profile, so that workers warm up for it.
        env_id: of the environment that workers warm up for; a task is stepped through its family's in any case.

    Raises:
        RuntimeError: if workers cannot be started.
    """
    pool = Workers(
        workers,
        partial(step, **arguments),
        warm_up=partial(warm_up, env_id, with_paper, **arguments),
        timeout=time_limit,
        memory_limit=DEFAULT_MEMORY_LIMIT,
    )
    running: dict[worker.Task, Attempt] = {}
    try:
        for attempt in attempts:
            running[pool.submit(attempt.task, attempt.answer, attempt.with_paper)] = attempt
            # Where answers come slowly, nothing is held back until there are many.
            seconds = 0.0 if len(running) < workers * IN_FLIGHT_PER_WORKER else None
            yield from _finished(pool, running, time_limit, seconds)
        while running:
            yield from _finished(pool, running, time_limit)
    finally:
        pool.close()


def _finished(
    pool: Workers, running: dict[worker.Task, Attempt], time_limit: float, seconds: float | None = None
) -> Iterator[tuple[Attempt, Outcome]]:
    for task in pool.wait_any(running, seconds):
        attempt = running.pop(task)
        yield attempt, ended_step(pool, task, attempt.with_paper, time_limit)


def ended_step(pool: Workers, task: worker.Task, with_paper: bool, time_limit: float) -> Outcome:
    """The outcome of a step that was handed to the workers; that of a lost one where there is none."""
    try:
        ended: Outcome = pool.result(task)
        return ended
    except TaskTimeout:
        return lost(with_paper, "timeout", f"no verdict within {time_limit:g} s")
    except MemoryError:
        return lost(with_paper, "worker_lost", "verification took more memory than its limit")
    except WorkerLost as error:
        return lost(with_paper, "worker_lost", str(error))


Notify = Callable[[int, int], None]
"""Called with the number of attempts done and the number there are."""
