"""Verification in worker processes that can be killed: where the limits on one answer are kept."""

from __future__ import annotations

import multiprocessing
import os
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from importlib import import_module
from types import TracebackType
from typing import Any

from pebble import ProcessExpired, ProcessPool

from rewards.cif_reading import ENGINES
from rewards.extraction import extract_cif
from rewards.stages import Stage
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict
from rewards.verification import PROFILES, PreparedTarget, prepare_target, verify
from rewards.worker_process import DEFAULT_MEMORY_LIMIT, guard_worker

Job = tuple[Any, ...]
_Key = tuple[str, str, str | None]

DEFAULT_TIMEOUT = 300.0
"""Seconds for one answer. A right answer of 512 sites takes the reference engine 14-22 s under the paper profile."""

# Answers handed out ahead of the one that is waited for: enough to keep workers busy behind a slow one.
_AHEAD_PER_WORKER = 64
# Verdicts kept, so that equal answers to one task are verified once; a GRPO step has a few thousand answers.
_VERDICTS_KEPT = 8192


class VerifierPool:
    """Worker processes that verify answers; one that stalls or dies is replaced, the others go on.

    Workers are spawned, not forked, so that they are safe beside CUDA and threads; they never import torch, are warmed
    up before any clock starts, and end by themselves when their parent is killed. As with every spawned process, a
    script that opens a pool needs the ``__main__`` guard. Equal answers to one target are verified once.

    Args:
        workers: number of processes; by default the processors that this process may use, shared among the ranks of a
            distributed run on this machine (``LOCAL_WORLD_SIZE``).
        profile, tolerance, strict_tags, engine: as for :func:`rewards.verify`.
        timeout: seconds for one answer, from when a worker takes it up.
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
        self._options = {"profile": profile, "tolerance": tolerance, "strict_tags": strict_tags, "engine": engine}
        self._pool: ProcessPool | None = None
        self._verdicts: OrderedDict[_Key, Verdict] = OrderedDict()

    def __enter__(self) -> VerifierPool:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Start the workers and wait until all are warm. Opening an open pool does nothing."""
        if self._pool is not None:
            return
        self._pool = ProcessPool(
            max_workers=self.workers,
            initializer=_warm_up,
            initargs=[self.memory_limit],
            context=multiprocessing.get_context("spawn"),
        )
        # A short sleep each, so that no worker takes two of them and all have started when the last is done.
        for future in [self._pool.schedule(_wait_a_moment) for _ in range(self.workers)]:
            future.result()

    def close(self) -> None:
        """End the workers. Closing a closed pool does nothing."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()

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
            RuntimeError: outside the ``with`` block.
            TargetError: at the verdict of a job whose target or structure cannot be read.
        """
        if self._pool is None:
            raise RuntimeError("a VerifierPool works inside its with block")
        running: dict[_Key, Any] = {}
        waiting: deque[tuple[_Key, Any]] = deque()
        for job in jobs:
            key = _key(job)
            pending = self._verdicts.get(key) or running.get(key)
            if pending is None:
                pending = running[key] = self._schedule(key)
            waiting.append((key, pending))
            if len(waiting) >= self.workers * _AHEAD_PER_WORKER:
                yield self._next(waiting, running)
        while waiting:
            yield self._next(waiting, running)

    def _schedule(self, key: _Key) -> Any:
        assert self._pool is not None
        return self._pool.schedule(_verify_texts, args=(*key, self._options), timeout=self.timeout)

    def _next(self, waiting: deque[tuple[_Key, Any]], running: dict[_Key, Any]) -> Verdict:
        key, pending = waiting.popleft()
        if isinstance(pending, Verdict):
            return pending
        running.pop(key, None)
        verdict = self._collect(key[0], pending)
        # How a verification ended that had no verdict says nothing about the next time.
        if verdict.stage not in (Stage.TIMEOUT, Stage.WORKER_LOST):
            self._verdicts[key] = verdict
            if len(self._verdicts) > _VERDICTS_KEPT:
                self._verdicts.popitem(last=False)
        return verdict

    def _collect(self, answer: str, future: Any) -> Verdict:
        try:
            verdict: Verdict = future.result()
            return verdict
        except FutureTimeout:
            return self._ended(answer, Stage.TIMEOUT, f"verification took longer than {self.timeout:g} s")
        except MemoryError:
            limit = "its limit" if self.memory_limit is None else f"{self.memory_limit / 2**30:g} GiB"
            return self._ended(answer, Stage.WORKER_LOST, f"verification took more memory than {limit}")
        except (ProcessExpired, BrokenProcessPool) as error:
            code = getattr(error, "exitcode", None)
            return self._ended(answer, Stage.WORKER_LOST, f"the worker process ended (exit code {code})")

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
    return target.cif if isinstance(target, PreparedTarget) else target


_prepared = lru_cache(maxsize=256)(prepare_target)


def _warm_up(memory_limit: int | None) -> None:
    """Import the readers and the matcher, so that their second is not counted against the first answer."""
    for module in ("ase.geometry", "gemmi", "pymatgen.core.structure_matcher", "pymatgen.io.cif", "scipy.optimize"):
        import_module(module)
    guard_worker(memory_limit)


def _wait_a_moment() -> None:
    import time

    time.sleep(0.05)


def _verify_texts(answer: str, target: str, structure: str | None, options: dict[str, Any]) -> Verdict:
    engine = options["engine"]
    before = None if structure is None else _prepared(structure, engine=engine)
    return verify(answer, _prepared(target, engine=engine), structure=before, **options)
