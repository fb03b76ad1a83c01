"""What a worker of `attack_verifier.py` does with one hostile answer: verify it, measure, compare, check.

The strict profile with the fast engine, as users run it, is timed and its memory measured. The reference engine and,
for a share, the paper profile under both engines follow, and the independent check where the answer could be read.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from time import perf_counter

from attack_plan import Job, answer_of
from hostile_answers import KINDS, Bound
from independent_check import is_right, rows_of_sites

from atomworld_env.tasks.task import Task
from rewards import PreparedTarget, Stage, Verdict, extract_cif, prepare_target, reward, verify
from rewards.worker_process import guard_worker

PAPER_SITES, PAPER_MOST_SITES = 12, 60
"""Answers to targets of so many sites are all compared under the paper profile, every tenth up to the second number."""

MOST_OF_A_FAILURE = 0.50

_NEAR = {"max_displacement": 1e-6, "sum_displacement": 1e-5, "rmsd": 1e-3, "max_dist": 1e-3, "length_scale": 1e-9}
_EQUAL = tuple(field.name for field in fields(Verdict) if field.name not in (*_NEAR, "seconds"))


@dataclass(frozen=True)
class Outcome:
    """What came of one answer.

    Attributes:
        job: which answer.
        stage: of the strict profile, "" if it raised.
        displacement: in Å, None where there is none.
        seconds: wall time of the strict verification with the fast engine.
        memory: bytes by which that raised the peak of the resident memory.
        rewards: under ``shaped`` and ``strict``.
        paper: whether the paper profile was compared too.
        right: by the independent check; None where it was not asked or rounding decides.
        printed: bytes that came to standard output or error.
        problems: what is wrong: pairs of a class and a sentence.
    """

    job: Job
    stage: str
    displacement: float | None
    seconds: float
    memory: int
    rewards: tuple[float, float]
    paper: bool
    right: bool | None
    printed: int
    problems: tuple[tuple[str, str], ...]

    @classmethod
    def without_verdict(cls, job: Job, kind: str, text: str) -> Outcome:
        """Of an answer whose verification raised, hung or took its worker with it."""
        return cls(job, "", None, 0.0, 0, (0.0, 0.0), False, None, 0, ((kind, text),))


@dataclass
class _Worker:
    """What a worker keeps from answer to answer."""

    tasks: Sequence[Task]
    seed: int
    limit: float
    prepared: dict[tuple[str, str], PreparedTarget] = field(default_factory=dict)

    def target(self, cif: str, engine: str) -> PreparedTarget:
        if (cif, engine) not in self.prepared:
            self.prepared[cif, engine] = prepare_target(cif, engine=engine)
        return self.prepared[cif, engine]


_worker: _Worker


def begin(tasks: Sequence[Task], seed: int, limit: float, memory_limit: int) -> None:
    """Start a worker: tasks, limits, every warning on, both streams into a file whose growth is measured."""
    global _worker
    _worker = _Worker(tasks, seed, limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verify(tasks[0].target, tasks[0].target, profile="both", engine="reference")  # imports what all answers need
    guard_worker(memory_limit)
    warnings.simplefilter("always")
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def attack(jobs: Sequence[Job]) -> tuple[list[Outcome], int]:
    """The outcomes of some answers, and the peak of this worker's resident memory in bytes."""
    outcomes, peak = [], 0
    for job in jobs:
        outcomes.append(_outcome(job, _worker))
        peak = max(peak, _resident("VmHWM"))  # since the verification began, the reference and the check included
    return outcomes, peak


def _outcome(job: Job, worker: _Worker) -> Outcome:
    task = worker.tasks[job.task]
    answer = answer_of(job, worker.tasks, worker.seed)
    target, given = worker.target(task.target, "fast"), worker.target(task.structure, "fast")
    printed, before = _printed(), _resident("VmRSS")
    _forget_peak()
    started = perf_counter()
    try:
        verdict = verify(answer, target, structure=given)
    except BaseException as error:  # whatever it raises, the answer did it
        return Outcome.without_verdict(job, "exception", f"{type(error).__name__}: {str(error)[:200]}")
    seconds, memory = perf_counter() - started, _resident("VmHWM") - before
    problems = [("hang", f"{seconds:.1f} s")] if seconds > worker.limit else []

    found = extract_cif(answer).cif
    paper = found is not None and _is_compared_under_paper(job, len(task.target_crystal))
    try:
        problems += _compared(answer, task, verdict, worker, paper)
    except BaseException as error:
        problems.append(("exception", f"{type(error).__name__}: {str(error)[:200]}"))
    printed = _printed() - printed
    if printed:
        problems.append(("output", f"{printed} bytes on the terminal"))

    right = None
    if verdict.parsable and found is not None:
        right = is_right(found, task.target)
        rows = rows_of_sites(found)
        if verdict.success_strict and rows is not None and rows > len(task.target_crystal):
            problems.append(("wrong reward", f"right with {rows} rows for {len(task.target_crystal)} sites"))
    shaped, strict, distance = (reward(verdict, scheme) for scheme in ("shaped", "strict", "distance"))
    bound = KINDS[job.kind].bound
    problems += [("wrong reward", text) for text in wrong_rewards(verdict, bound, shaped, strict, distance, right)]
    return Outcome(
        job,
        str(verdict.stage),
        verdict.max_displacement,
        seconds,
        max(0, memory),
        (shaped, strict),
        paper,
        right,
        printed,
        tuple(problems),
    )


def _is_compared_under_paper(job: Job, sites: int) -> bool:
    return sites <= PAPER_SITES or (sites <= PAPER_MOST_SITES and job.number % 10 == 0)


def _compared(answer: object, task: Task, verdict: Verdict, worker: _Worker, paper: bool) -> list[tuple[str, str]]:
    """How the verdict of the reference engine differs, under strict and, if asked, under both profiles."""
    given = worker.target(task.structure, "fast")
    fast, slow = (worker.target(task.target, engine) for engine in ("fast", "reference"))
    problems = differences(verdict, verify(answer, slow, engine="reference", structure=given))
    if paper:
        both = verify(answer, fast, profile="both", structure=given)
        problems += differences(both, verify(answer, slow, profile="both", engine="reference", structure=given))
        if (both.verdict_strict, both.max_displacement) != (verdict.verdict_strict, verdict.max_displacement):
            problems.append(("engine difference", "strict differs between the profiles strict and both"))
        if reward(both, "paper") != float(both.verdict_paper is Stage.CORRECT):
            problems.append(("wrong reward", f"{both.verdict_paper} earns {reward(both, 'paper')} under paper"))
    return problems


def wrong_rewards(
    verdict: Verdict, bound: Bound, shaped: float, strict: float, distance: float, right: bool | None
) -> list[str]:
    """What is wrong with one reward; the bounds on means are held over all answers."""
    wrong = []
    success = verdict.stage is Stage.CORRECT
    if not all(isfinite(value) and 0 <= value <= 1 for value in (shaped, strict, distance)):
        wrong.append(f"rewards {shaped}, {strict}, {distance} are not within 0 and 1")
    if (strict, shaped == 1) != (float(success), success):
        wrong.append(f"{verdict.stage} earns {shaped} and {strict}")
    if not success and shaped > MOST_OF_A_FAILURE + 1e-9:
        wrong.append(f"a failure earns {shaped}")
    if verdict.parsable and right is not None and right != success:
        wrong.append(f"{verdict.stage}, but the independent check says {'right' if right else 'wrong'}")
    if bound is Bound.RIGHT and not success:
        wrong.append(f"the truth is {verdict.stage}: {verdict.message}")
    if bound is Bound.NOTHING and shaped > 0:
        wrong.append(f"{verdict.stage} earns {shaped} where nothing is due")
    return wrong


def differences(fast: Verdict, reference: Verdict) -> list[tuple[str, str]]:
    """The fields in which two verdicts on one answer differ."""
    differing = [name for name in _EQUAL if getattr(fast, name) != getattr(reference, name)]
    for name, tolerance in _NEAR.items():
        one, other = getattr(fast, name), getattr(reference, name)
        if (one is None) != (other is None) or (one is not None and abs(one - other) > tolerance):
            differing.append(name)
    return [
        ("engine difference", f"{name}: {getattr(fast, name)!r} and {getattr(reference, name)!r}") for name in differing
    ]


def _printed() -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    return os.fstat(2).st_size


def _resident(name: str) -> int:
    """A figure of this process in bytes: VmRSS, memory resident now, or VmHWM, its peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


def _forget_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
