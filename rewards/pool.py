"""Verification in worker processes that can be killed: where the limits on one answer are kept."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Any

from rewards.cif_reading import ENGINES, one_line
from rewards.extraction import extract_cif
from rewards.stages import Stage
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict
from rewards.verification import PROFILES, PreparedTarget, TargetError
from rewards.worker import Task
from rewards.worker_process import DEFAULT_MEMORY_LIMIT
from rewards.worker_verification import verify_texts, warm_up
from rewards.workers import NoWorkersError, TaskTimeout, WorkerLost, Workers

Job = tuple[Any, ...]
_Key = tuple[str, str, str | None]
_Waiting = tuple[_Key, Task | Verdict]

DEFAULT_TIMEOUT = 300.0
"""Seconds for one answer. A right answer of 512 sites takes the reference engine 14-22 s under the paper profile."""

# Answers handed out ahead of the one that is waited for: enough to keep workers busy behind a slow one.
_AHEAD_PER_WORKER = 64
# Verdicts kept, so that equal answers to one task are verified once; a GRPO step has a few thousand answers.
_VERDICTS_KEPT = 8192


class VerifierPool:
    """Worker processes that verify answers; one that stalls or dies is replaced, the others go on.

    Workers are fresh processes, safe beside CUDA and threads. They import neither torch nor the script that opens the
    pool, are warmed up before any clock starts, and end by themselves when their parent is killed. Equal answers to one
    target are verified once. After a fork the child needs a pool of its own; several threads may share one.

    Args:
        workers: number of processes; by default the processors that this process may use, shared among the ranks of a
            distributed run on this machine (``LOCAL_WORLD_SIZE``).
        profile, tolerance, strict_tags, engine: as for :func:`rewards.verify`.
        timeout: seconds for one answer, from when a worker takes it up; kept while verdicts are being asked for.
        memory_limit: bytes that a worker may take beyond what it has once warm; None sets no limit.

    Raises:
        ValueError: if profile or engine is unknown, or workers or timeout are not positive.

    >>> with VerifierPool(4, timeout=60) as pool:                     # doctest: +SKIP
    ...     verdicts = pool.verify_many((answer, target) for answer in answers)
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        profile: str = "strict",
        timeout: float = DEFAULT_TIMEOUT,
        memory_limit: int | None = DEFAULT_MEMORY_LIMIT,
        tolerance: float = DEFAULT_TOLERANCE,
        strict_tags: bool = False,
        engine: str = "fast",
    ) -> None:
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
        if engine not in ENGINES:
            raise ValueError(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")
        if (workers is not None and workers < 1) or not timeout > 0:
            raise ValueError(f"workers and timeout must be positive, got {workers} and {timeout}")
        self.workers = workers or processors_per_rank()
        self.profile = profile
        self.timeout = timeout
        self.memory_limit = memory_limit
        self._options: dict[str, Any] = {
            "profile": profile,
            "tolerance": tolerance,
            "strict_tags": strict_tags,
            "engine": engine,
        }
        self._workers: Workers | None = None
        self._verdicts: OrderedDict[_Key, Verdict] = OrderedDict()

    def __enter__(self) -> VerifierPool:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Start the workers and wait until all are warm. Opening an open pool does nothing.

        After a fork, or a Ctrl-C while verdicts were asked for, the pool may be opened again.

        Raises:
            RuntimeError: if workers cannot be started.
        """
        if not self.is_open:
            self.close()
            self._workers = Workers(
                self.workers,
                partial(verify_texts, **self._options),
                warm_up=partial(warm_up, **self._options),
                timeout=self.timeout,
                memory_limit=self.memory_limit,
            )

    def close(self) -> None:
        """End the workers. Closing a closed pool does nothing."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    @property
    def is_open(self) -> bool:
        """Whether this process can verify with it; what a fork inherits is not open."""
        return self._workers is not None and self._workers.is_open

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that run now."""
        return [] if self._workers is None else self._workers.process_ids

    def verify_many(self, jobs: Iterable[Job]) -> list[Verdict]:
        """The verdicts of all jobs, in order; see :meth:`verify_iter`."""
        return list(self.verify_iter(jobs))

    def verify_iter(self, jobs: Iterable[Job]) -> Iterator[Verdict]:
        """Verdicts in the order of the jobs, each as soon as it and all before it are done.

        Args:
            jobs: tuples (answer, target) or (answer, target, structure), with CIF text or prepared targets; drawn only
                a little ahead of the verdicts.

        Yields:
            One verdict per job. An answer that ran past the limit has stage ``timeout``, one whose worker died has
            ``worker_lost``.

        Raises:
            RuntimeError: outside the ``with`` block, in the child after a fork, or if there are no workers any more.
            TargetError: at the verdict of a job whose target or structure cannot be read.
        """
        workers = self._workers
        if workers is None:
            raise RuntimeError("a VerifierPool works inside its with block")
        if not workers.is_mine:
            raise RuntimeError("this VerifierPool was opened by the parent process; open it in this process")
        running: dict[_Key, Task] = {}
        waiting: deque[_Waiting] = deque()
        try:
            for job in jobs:
                key = _key(job)
                pending = self._verdicts.get(key) or running.get(key)
                if pending is None:
                    pending = running[key] = workers.submit(*key)
                waiting.append((key, pending))
                if len(waiting) >= self.workers * _AHEAD_PER_WORKER:
                    yield self._next(workers, waiting, running)
            while waiting:
                yield self._next(workers, waiting, running)
        finally:  # whoever stops asking does not want the rest
            for task in running.values():
                task.wanted = False

    def _next(
        self, workers: Workers, waiting: deque[tuple[_Key, Task | Verdict]], running: dict[_Key, Task]
    ) -> Verdict:
        key, pending = waiting.popleft()
        if isinstance(pending, Verdict):
            return pending
        verdict = self._verdict(workers, key[0], pending)
        running.pop(key, None)
        # How a verification ended that had no verdict says nothing about the next time.
        if verdict.stage not in (Stage.TIMEOUT, Stage.WORKER_LOST):
            self._verdicts[key] = verdict
            if len(self._verdicts) > _VERDICTS_KEPT:
                self._verdicts.popitem(last=False)
        return verdict

    def _verdict(self, workers: Workers, answer: str, task: Task) -> Verdict:
        try:
            verdict: Verdict = workers.result(task)
            return verdict
        except TaskTimeout:
            return self._ended(answer, Stage.TIMEOUT, f"verification took longer than {self.timeout:g} s")
        except MemoryError:
            limit = "its limit" if self.memory_limit is None else f"{self.memory_limit / 2**30:g} GiB"
            return self._ended(answer, Stage.WORKER_LOST, f"verification took more memory than {limit}")
        except (TargetError, NoWorkersError):
            raise
        except WorkerLost as error:
            return self._ended(answer, Stage.WORKER_LOST, str(error))
        except Exception as error:  # not known to happen; a verdict is due even so
            return self._ended(answer, Stage.WORKER_LOST, f"verification failed: {one_line(error)}")

    def _ended(self, answer: str, stage: Stage, message: str) -> Verdict:
        """The verdict when the verifier ended and not the answer."""
        found = extract_cif(answer, strict_tags=bool(self._options["strict_tags"]))
        strict, paper = self.profile != "paper", self.profile != "strict"
        return Verdict(
            stage,
            message,
            extraction=found.rule,
            tags_ok=found.tags_ok,
            verdict_strict=stage if strict else None,
            success_strict=False if strict else None,
            verdict_paper=stage if paper else None,
            success_paper=False if paper else None,
            seconds=self.timeout if stage is Stage.TIMEOUT else 0.0,
        )


def processors_per_rank() -> int:
    """Processors that this process may use, divided by the ranks that torchrun started on this machine."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        ranks = 1
    return max(1, usable // max(1, ranks))


def _key(job: Job) -> _Key:
    answer, target, *rest = job
    # What is no text is a no_cif whatever it is, and might not survive the way to another process; nor might the
    # methods of a subclass of str.
    return (
        str.__str__(answer) if issubclass(type(answer), str) else "",
        _text(target),
        _text(rest[0]) if rest and rest[0] else None,
    )


def _text(target: str | PreparedTarget) -> str:
    # The text is a hundredth of the parsed structure, and a worker keeps the targets that it has read.
    if isinstance(target, PreparedTarget):
        return target.cif
    if not isinstance(target, str):
        raise TargetError(f"a target is CIF text, not {type(target).__name__}")
    return str.__str__(target)
