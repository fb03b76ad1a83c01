"""Verification in worker processes that can be killed: where the time limit on an answer is kept."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from types import TracebackType
from typing import Any

from pebble import ProcessExpired, ProcessPool

from rewards.cif_reading import ENGINES
from rewards.extraction import extract_cif
from rewards.stages import Stage
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict
from rewards.verification import PROFILES, PreparedTarget, prepare_target, verify

Job = tuple[Any, ...]

# Answers handed out ahead of the one that is waited for: enough to keep workers busy behind a slow one.
_AHEAD_PER_WORKER = 16


class VerifierPool:
    """Worker processes that verify answers; one that stalls is killed and replaced, the others go on.

    Workers are spawned, not forked, so that they are safe beside CUDA and threads, and are warmed up before
    any clock starts. As with every spawned process, a script that opens a pool needs the ``__main__`` guard.

    Args:
        workers: number of processes; by default one per processor that this process may use.
        profile, tolerance, strict_tags, engine: as for :func:`rewards.verify`.
        timeout: seconds for one answer, from when a worker takes it up.

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
        timeout: float = 300.0,
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
        self.workers = workers or _processors()
        self.profile = profile
        self.timeout = timeout
        self._options = {"profile": profile, "tolerance": tolerance, "strict_tags": strict_tags, "engine": engine}
        self._pool: ProcessPool | None = None

    def __enter__(self) -> VerifierPool:
        self._pool = ProcessPool(
            max_workers=self.workers, initializer=_warm_up, context=multiprocessing.get_context("spawn")
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            jobs: tuples (answer, target) or (answer, target, structure), with CIF text or prepared targets;
                drawn only a little ahead of the verdicts.

        Yields:
            One verdict per job. An answer that ran past the limit has stage ``timeout``, one whose worker
            died has ``worker_lost``.

        Raises:
            RuntimeError: outside the ``with`` block.
            TargetError: at the verdict of a job whose target or structure cannot be read.
        """
        if self._pool is None:
            raise RuntimeError("a VerifierPool works inside its with block")
        waiting: deque[tuple[Any, Any]] = deque()
        for job in jobs:
            waiting.append((job[0], self._schedule(job)))
            if len(waiting) >= self.workers * _AHEAD_PER_WORKER:
                yield self._collect(*waiting.popleft())
        while waiting:
            yield self._collect(*waiting.popleft())

    def _schedule(self, job: Job) -> Any:
        assert self._pool is not None
        answer, target, *rest = job
        # What is no text is a no_cif whatever it is, and might not survive the way to another process.
        sent = answer if isinstance(answer, str) else None
        structure = _text(rest[0]) if rest else None
        arguments = (sent, _text(target), structure, self._options)
        return self._pool.schedule(_verify_texts, args=arguments, timeout=self.timeout)

    def _collect(self, answer: Any, future: Any) -> Verdict:
        try:
            verdict: Verdict = future.result()
            return verdict
        except FutureTimeout:
            return self._ended(answer, Stage.TIMEOUT, f"verification took longer than {self.timeout:g} s")
        except (ProcessExpired, BrokenProcessPool, MemoryError) as error:
            return self._ended(answer, Stage.WORKER_LOST, f"the worker process ended: {type(error).__name__}")

    def _ended(self, answer: Any, stage: Stage, message: str) -> Verdict:
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


def _text(target: str | PreparedTarget | None) -> str | None:
    # The text is a hundredth of the parsed structure, and a worker keeps the targets that it has read.
    return target.cif if isinstance(target, PreparedTarget) else target


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_prepared = lru_cache(maxsize=256)(prepare_target)


def _warm_up() -> None:
    """Import the reader and the matcher, so that their second is not counted against the first answer."""
    import pymatgen.core.structure_matcher
    import pymatgen.io.cif  # noqa: F401


def _verify_texts(answer: str | None, target: str, structure: str | None, options: dict[str, Any]) -> Verdict:
    engine = options["engine"]
    before = None if structure is None else _prepared(structure, engine=engine)
    return verify(answer, _prepared(target, engine=engine), structure=before, **options)
