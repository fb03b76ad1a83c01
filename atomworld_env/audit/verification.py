"""Answers of an audit, verified in worker processes that can be killed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from atomworld_env.audit.answers import AnswerKind
from atomworld_env.families.edits import prepared
from atomworld_env.families.family import Family
from atomworld_env.families.registry import FAMILIES, family_of
from atomworld_env.tasks.task import Task
from rewards import Stage, Verdict, VerifierPool, verify, worker
from rewards.worker_process import DEFAULT_MEMORY_LIMIT
from rewards.worker_verification import warm_up
from rewards.workers import TaskTimeout, WorkerLost, Workers

TIME_LIMIT = 300.0  # seconds for one verdict
IN_FLIGHT_PER_WORKER = 8


@dataclass(frozen=True)
class Item:
    """One answer to one task."""

    task: Task
    kind: AnswerKind
    text: str


def verdicts_on_edits(items: Iterable[Item], profile: str, workers: int) -> Iterator[tuple[Item, Verdict]]:
    """Verdicts in the order of the answers.

    Args:
        profile: strict or paper.
        workers: processes; 0 verifies in this process, where nothing slow is killed.
    """
    if workers == 0:
        for item in items:
            yield item, verify(item.text, prepared(item.task.target), profile=profile)
        return
    waiting: deque[Item] = deque()

    def jobs() -> Iterator[tuple[str, str]]:
        for item in items:
            waiting.append(item)
            yield item.text, item.task.target

    with VerifierPool(workers, profile=profile, timeout=TIME_LIMIT) as pool:
        for verdict in pool.verify_iter(jobs()):
            yield waiting.popleft(), verdict


def verdicts_on_tasks(items: Iterable[Item], profile: str, workers: int) -> Iterator[tuple[Item, Verdict]]:
    """The same for tasks of any family, each verified by its own."""
    if workers == 0:
        for item in items:
            yield item, family_verdict(item.task, item.text, profile)
        return
    ready = partial(warm_up, profile=profile, engine="fast")
    pool = Workers(workers, family_verdict, warm_up=ready, timeout=TIME_LIMIT, memory_limit=DEFAULT_MEMORY_LIMIT)
    waiting: deque[tuple[Item, worker.Task]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(item.task, item.text, profile)))
            if len(waiting) >= workers * IN_FLIGHT_PER_WORKER:
                yield _ended(pool, *waiting.popleft())
        while waiting:
            yield _ended(pool, *waiting.popleft())
    finally:
        pool.close()


def family_verdict(task: Task, text: str, profile: str) -> Verdict:
    """The verdict of a task's own family."""
    return _family(family_of(task.action).name).verify(task, text, profile=profile)


@cache
def _family(name: str) -> Family:
    family: Family = FAMILIES[name].load("make")("test")
    return family


def _ended(pool: Workers, item: Item, running: worker.Task) -> tuple[Item, Verdict]:
    try:
        verdict: Verdict = pool.result(running)
        return item, verdict
    except TaskTimeout:
        stage, message = Stage.TIMEOUT, f"no verdict within {TIME_LIMIT:g} s"
    except MemoryError:
        stage, message = Stage.WORKER_LOST, "verification took more memory than its limit"
    except WorkerLost as error:
        stage, message = Stage.WORKER_LOST, str(error)
    return item, Verdict(stage=stage, message=message, verdict_strict=stage)
