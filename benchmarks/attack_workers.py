"""The processes of `attack_verifier.py`: killed when they do not answer, so that a hang is one answer's and counted."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic

from attack_plan import Job
from attack_worker import Outcome, attack, begin

from atomworld_env.tasks.task import Task

_AT_ONCE = 50  # answers
_PATIENCE_FOR_MANY, _PATIENCE_FOR_ONE = 30.0, 6.0  # times the limit: other engines and the check come with an answer


@dataclass
class _Process:
    process: multiprocessing.process.BaseProcess
    connection: Connection
    jobs: list[Job]
    deadline: float


def outcomes_of(
    jobs: Sequence[Job], tasks: Sequence[Task], seed: int, workers: int, limit: float, memory_limit: int
) -> Iterator[tuple[list[Outcome], int]]:
    """The outcomes of all answers as they come, a few at a time, each time with the peak memory of the worker.

    The answers of a worker that stalls or dies are tried again one by one; one that still does is a ``hang`` or an
    ``exception``.
    """
    waiting = deque(list(jobs[k : k + _AT_ONCE]) for k in range(0, len(jobs), _AT_ONCE))
    busy: list[_Process] = []
    idle: list[_Process] = []
    options = (list(tasks), seed, limit, memory_limit)
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker = idle.pop() if idle else _started(options)
                worker.jobs = waiting.popleft()
                patience = _PATIENCE_FOR_MANY if len(worker.jobs) > 1 else _PATIENCE_FOR_ONE
                worker.deadline = monotonic() + patience * limit
                worker.connection.send(worker.jobs)
                busy.append(worker)
            ready = wait([worker.connection for worker in busy], timeout=1.0)
            for worker in list(busy):
                if worker.connection not in ready and monotonic() < worker.deadline:
                    continue
                busy.remove(worker)
                try:
                    if worker.connection not in ready:
                        raise TimeoutError
                    yield worker.connection.recv()
                    idle.append(worker)
                except (EOFError, OSError, TimeoutError) as error:
                    worker.process.kill()
                    worker.process.join()
                    if len(worker.jobs) > 1:
                        waiting.extend([job] for job in worker.jobs)
                    else:
                        yield [_lost(worker.jobs[0], error, worker.process.exitcode)], 0
    finally:
        for worker in (*busy, *idle):
            worker.process.kill()
            worker.process.join()


def _lost(job: Job, error: Exception, code: int | None) -> Outcome:
    if isinstance(error, TimeoutError):
        return Outcome.without_verdict(job, "hang", "killed")
    return Outcome.without_verdict(job, "exception", f"the worker ended with exit code {code}")


def _started(options: tuple[list[Task], int, float, int]) -> _Process:
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, *options), daemon=True)
    process.start()
    there.close()
    here.recv()  # warm
    return _Process(process, here, [], 0.0)


def _serve(connection: Connection, tasks: list[Task], seed: int, limit: float, memory_limit: int) -> None:
    begin(tasks, seed, limit, memory_limit)
    connection.send(None)
    while True:
        try:
            jobs = connection.recv()
        except EOFError:
            return
        connection.send(attack(jobs))
