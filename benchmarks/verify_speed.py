"""Verification beside the published protocol, on the same answers in one run.

    OPENBLAS_NUM_THREADS=1 python benchmarks/verify_speed.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/verify_speed.py --answers 120 --most-sites 100 --out runs/verify_speed.json

One thread each: a matrix product that waits for a second core which something else is using takes ten times as long.

The answers are those of `benchmarks/timed_answers.py`. Each is scored by the published protocol (pymatgen, the target
parsed anew; in a process of its own, so that one that takes too long can be ended), and by `rewards.verify` with the
profiles strict and both, once with the target's text and once with a prepared target (read, and for `both` reduced
and laid on itself, which holds for every answer to the task). Then all go through a `VerifierPool`, and the costliest
through one with a short limit.
"""

from __future__ import annotations

import os
import platform
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from published_protocol import Published, score, warm_up
from rich.console import Console
from rich.progress import track
from timed_answers import SIZES, TimedAnswer, timed_answers
from verify_speed_report import Row, Times, plot, print_report, write_json

from atomworld_env.policies.baselines import BASELINES
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from rewards import Verdict, VerifierPool, prepare_target, verify
from rewards.matcher.prepared import NotPlainError, prepare_once
from rewards.minimum_image import reduced_lattice
from rewards.workers import TaskTimeout, Workers

LIMIT_SECONDS = 1.0
LIMITED_ANSWERS = 6
POOL_ANSWERS = 1024


@dataclass(frozen=True)
class PoolFigures:
    """Seconds through the pool: all answers under both profiles and the worst one of them; of many small answers under
    strict; the longest that an answer with a limit took, and how many of these ran into it."""

    everything: float
    worst: float
    small: float
    limited: float
    timeouts: int


def main(
    answers: Annotated[int, typer.Option(min=48, help="About how many answers.")] = 624,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    most_sites: Annotated[int, typer.Option(min=40, help="Leave larger targets out.")] = SIZES[-1][1],
    plain_limit: Annotated[float, typer.Option(min=1, help="Seconds after which the protocol is ended.")] = 900.0,
    workers: Annotated[int, typer.Option(min=1, help="Of the pool.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Write every time as JSON.")] = None,
    picture: Annotated[Path | None, typer.Option("--plot", help="Write a plot.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Time verification beside the published protocol."""
    mix = [answer for answer in timed_answers(answers, seed) if answer.sites <= most_sites]
    for profile in ("strict", "both"):  # imports and compiled code
        for answer in mix[:12]:
            verify(answer.text, answer.task.target, profile=profile)
    rows = []
    with closing(Workers(1, score, warm_up=warm_up, timeout=plain_limit, memory_limit=None)) as beside:
        for answer in track(mix, "answers", console=Console(stderr=True)):
            rows.append(Row(answer, _plain(beside, answer), *_ours(answer)))
    figures = _through_pool(rows, workers)
    where = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, {len(rows)} answers, seed {seed}"
    )
    agree = print_report(rows, where, markdown=markdown)
    _print_pool(figures, workers)
    if out is not None:
        write_json(rows, where, out)
    if picture is not None:
        plot(rows, where, picture)
    raise typer.Exit(0 if agree else 1)


def _plain(beside: Workers, answer: TimedAnswer) -> Published | None:
    """None where the protocol took longer than the limit."""
    try:
        scored: Published = beside.result(beside.submit(answer.text, answer.task.target))
    except TaskTimeout:
        return None
    return scored


def _ours(answer: TimedAnswer) -> tuple[Times, Verdict]:
    target = prepare_target(answer.task.target)
    target.arrangement  # noqa: B018
    times = {}
    for profile in ("strict", "both"):
        reduced_lattice.cache_clear()  # what is kept of a cell belongs to the target
        started = perf_counter()
        verify(answer.text, answer.task.target, profile=profile)
        times[profile, "anew"] = perf_counter() - started
        if profile == "both":
            with suppress(NotPlainError):
                prepare_once(target.structure).onto_itself  # noqa: B018
        reduced_lattice(target.arrangement.cell)
        started = perf_counter()
        verdict = verify(answer.text, target, profile=profile)
        times[profile, "prepared"] = perf_counter() - started
    return Times(*times.values()), verdict


def _through_pool(rows: list[Row], workers: int) -> PoolFigures:
    jobs = [(row.answer.text, row.answer.task.target) for row in rows]
    with VerifierPool(workers, profile="both") as pool:
        started = perf_counter()
        verdicts = pool.verify_many(jobs)
        everything = perf_counter() - started
    with VerifierPool(workers) as pool:
        small = _small_answers()
        pool.verify_many(small[: 4 * workers])
        started = perf_counter()
        pool.verify_many(small[4 * workers :])
        seconds = perf_counter() - started
    costliest = sorted(rows, key=lambda row: row.plain_seconds)[-LIMITED_ANSWERS:]
    longest, timeouts = 0.0, 0
    with VerifierPool(1, profile="paper", engine="reference", timeout=LIMIT_SECONDS) as pool:
        for row in costliest:
            pool.verify_many([(f"is a worker up? {row.answer.task.task_id}", row.answer.task.target)])
            started = perf_counter()
            (verdict,) = pool.verify_many([(row.answer.text, row.answer.task.target)])
            longest = max(longest, perf_counter() - started)
            timeouts += verdict.stage == "timeout"
    return PoolFigures(everything, max(verdict.seconds for verdict in verdicts), seconds, longest, timeouts)


def _small_answers() -> list[tuple[str, str]]:
    """Different right and wrong answers to tasks of some 30 sites, four to each task as in a group of GRPO."""
    sampler = TaskSampler(SamplerConfig(min_sites=26, max_sites=34))
    jobs: list[tuple[str, str]] = []
    seed = 0
    while len(jobs) < POOL_ANSWERS + 8:
        task = sampler.sample(seed)
        seed += 1
        if not 26 <= len(task.target_crystal) <= 36:
            continue
        for policy in ("oracle", "noop", "wrong_site", "random_edit"):
            jobs.append((BASELINES[policy].answer(task), task.target))
    return jobs[: POOL_ANSWERS + 8]


def _print_pool(figures: PoolFigures, workers: int) -> None:
    print(f"\nPool of {workers} workers:")
    print(f"  all answers, both profiles: {figures.everything:.1f} s, the longest {figures.worst:.2f} s")
    print(f"  {POOL_ANSWERS} answers of some 30 sites, strict, warm: {figures.small:.2f} s")
    print(
        f"  the {LIMITED_ANSWERS} costliest by the reference engine under a limit of {LIMIT_SECONDS:g} s: "
        f"{figures.timeouts} timeouts, the longest {figures.limited:.2f} s"
    )


if __name__ == "__main__":
    typer.run(main)
