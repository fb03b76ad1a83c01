"""The list of hostile answers of one attack: how many of each kind, to which task.

Equal seeds give equal answers: the text of an answer depends on nothing but its kind, task, number and the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hostile_answers import KINDS, Bound, Scene, uncut

from atomworld_env.tasks.task import Task

_CUT, _CUT_LATE, _ON_TRUTH, _ON_INPUT, _LOOSE = list(KINDS)[:5]
_SHARES = {_ON_TRUTH: 0.15, _ON_INPUT: 0.10, _LOOSE: 0.05}
_SHARE_CUT, _DEAR_PER_ANSWER = 0.25, 1 / 3000
_LEAST_SITES_OF_SUITES = 10


@dataclass(frozen=True)
class Job:
    """One answer of an attack: kind, index of the task, number within the kind."""

    kind: str
    task: int
    number: int


def last_digit(text: str) -> int:
    """How many characters of an answer there are before its last digit."""
    return max(k for k, character in enumerate(text) if character.isdigit())


def answer_of(job: Job, tasks: Sequence[Task], seed: int) -> object:
    """The answer of a job."""
    task = tasks[job.task]
    word = hashlib.sha256(f"{seed} {job.kind} {task.task_id} {job.number}".encode()).digest()
    return KINDS[job.kind].write(Scene(task, Random(int.from_bytes(word[:8], "big")), job.number))


def plan(answers: int, tasks: Sequence[Task], seed: int) -> list[Job]:
    """At least this many answers over all kinds, in random order.

    A quarter are right answers cut after every single character, whole answers at a time; three tenths are stacked
    attacks and loose texts; of each dear kind there are a few, 20 in an attack of 60,000 answers. Small structures
    come most often; spoiled truths, whose mean is bounded for the sites that suites have, are never of the smallest.
    """
    rng = Random(seed)
    jobs: list[Job] = []
    small = [k for k, task in enumerate(tasks) if len(task.target_crystal) <= 12]
    style = 0
    while len(jobs) < _SHARE_CUT * answers:
        k = small[style % len(small)]
        whole = uncut(tasks[k], style)
        late = last_digit(whole)
        jobs += [Job(_CUT if n < late else _CUT_LATE, k, style * 10**6 + n) for n in range(len(whole))]
        style += 1
    counts = {name: int(share * answers) for name, share in _SHARES.items()}
    counts |= {name: max(1, int(_DEAR_PER_ANSWER * answers)) for name, kind in KINDS.items() if kind.dear}
    rest = [name for name in KINDS if name not in counts and name not in (_CUT, _CUT_LATE)]
    left = max(0, answers - len(jobs) - sum(counts.values()))
    counts |= {name: -(-left // len(rest)) for name in rest}
    every = range(len(tasks))
    weights = [1 / task.n_sites for task in tasks]
    usual = [k for k in every if tasks[k].n_sites >= _LEAST_SITES_OF_SUITES]
    for name, count in counts.items():
        if KINDS[name].bound is Bound.SPOILED:
            chosen = [usual[n % len(usual)] for n in range(count)]
        else:
            chosen = rng.choices(every, weights, k=count)
        jobs += [Job(name, k, number) for number, k in enumerate(chosen)]
    return rng.sample(jobs, len(jobs))
