"""Attack the verifier with hostile answers, and hold every verdict against the reference and a second opinion.

    python benchmarks/attack_verifier.py --answers 100000 --seed 0 --workers 2 --out attack.json

Every answer is verified in a worker under the strict profile by the fast engine: timed, its memory measured, anything
it prints counted. The reference engine must give the same verdict; so must both engines under the paper profile for
all targets of at most 12 sites and every tenth answer up to 60. An independent check by pymatgen must agree on what
is right, and what is not right may earn no more than its bound (`hostile_answers.Bound`). A share of the answers then
goes through `rewards.VerifierPool`, whose verdicts must be the same. Exit status: 0 if all this holds, 1 otherwise.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from attack_findings import Findings, table
from attack_plan import Job, answer_of, plan
from attack_worker import Outcome
from attack_workers import outcomes_of
from hostile_answers import KINDS
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import SuiteRecipe, make_suite
from atomworld_env.tasks.task import Task
from rewards import VerifierPool

_EVERY = 10_000  # answers, a line in a log
_WIDTH = 150  # characters of the table, whatever the terminal
# Smallest and largest number of sites, and tasks of each edit: mostly small, so that two engines are affordable.
_TASKS = ((2, 12, 6), (13, 40, 8), (41, 100, 2))
_POOL_SHARE = 20  # every such answer, and the first of each dear kind, goes through the pool too


def tasks_attacked() -> list[Task]:
    """Tasks of all edits, each size in its share."""
    recipes = [
        SuiteRecipe("attack", SamplerConfig(split="all", min_sites=low, max_sites=high), per_action=count, seed=0)
        for low, high, count in _TASKS
    ]
    return [task for recipe in recipes for task in make_suite(recipe).tasks]


def through_the_pool(
    jobs: list[Job], outcomes: dict[Job, Outcome], tasks: list[Task], seed: int, workers: int, limit: float, memory: int
) -> tuple[int, int, list[tuple[Job, str, str]]]:
    """Verify a share as users do.

    Returns:
        How many answers, the peak of resident memory of a worker in bytes, and what is wrong.
    """
    seen: set[str] = set()
    share = []
    for number, job in enumerate(jobs):
        if number % _POOL_SHARE == 0 or (KINDS[job.kind].dear and job.kind not in seen):
            share.append(job)
            seen.add(job.kind)
    problems, peak = [], 0
    with VerifierPool(workers, timeout=6 * limit, memory_limit=memory) as pool:
        texts = ((answer_of(job, tasks, seed), tasks[job.task].target, tasks[job.task].structure) for job in share)
        for job, verdict in zip(share, pool.verify_iter(texts), strict=True):
            expected = outcomes[job]
            if (str(verdict.stage), verdict.max_displacement) != (expected.stage, expected.displacement):
                problems.append((job, "pool difference", f"{verdict.stage} in the pool, {expected.stage} in a worker"))
        peak = max(map(_peak, _children()), default=0)
    return len(share), peak, problems


def _children() -> list[str]:
    """Numbers of the processes that this one has started and that still run."""
    mine = f"PPid:\t{os.getpid()}\n"
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/status") if mine in _status(path.parent.name)]


def _peak(process: str) -> int:
    """Peak of the resident memory of a process in bytes."""
    lines = _status(process).splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def _status(process: str) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return ""


def main(
    answers: Annotated[int, typer.Option(min=200, help="How many hostile answers, at least.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    limit: Annotated[float, typer.Option(min=0.1, help="Seconds above which one answer is a hang.")] = 10.0,
    memory: Annotated[float, typer.Option(min=0.5, help="GiB that a worker may take once warm.")] = 2.0,
    out: Annotated[Path | None, typer.Option(help="File for the figures; reproducers go beside it.")] = None,
) -> None:
    """Attack the verifier."""
    console = Console(width=_WIDTH)
    started = perf_counter()
    tasks = tasks_attacked()
    jobs = plan(answers, tasks, seed)
    memory_limit = int(memory * 2**30)
    findings = Findings(tasks, seed, memory_limit)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with tempfile.TemporaryFile() as terminal, Progress(*columns, console=console) as progress:
        kept = os.dup(2)
        os.dup2(terminal.fileno(), 2)  # what the processes of the pool print is counted as well
        try:
            bar = progress.add_task("answers", total=len(jobs))
            for found, peak in outcomes_of(jobs, tasks, seed, workers, limit, memory_limit):
                findings.add(found, peak)
                progress.update(bar, advance=len(found), description=f"answers, {findings.total} problems")
                done = len(findings.outcomes)
                if not console.is_terminal and done // _EVERY > (done - len(found)) // _EVERY:
                    console.print(f"{done:,} of {len(jobs):,} answers, {findings.total} problems")
            progress.update(bar, description="pool")
            through = through_the_pool(jobs, findings.outcomes, tasks, seed, workers, limit, memory_limit)
        finally:
            os.dup2(kept, 2)
        findings.add_pool(*through, printed=terminal.seek(0, os.SEEK_END))
        terminal.seek(0)
        sys.stderr.write(terminal.read(2_000).decode("utf-8", "replace"))
    findings.hold_means()
    seconds = perf_counter() - started
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        options = {"answers": answers, "seed": seed, "workers": workers, "limit": limit, "memory": memory}
        out.write_text(
            json.dumps({**options, "seconds": seconds, **findings.to_json()}, indent=1) + "\n", encoding="utf-8"
        )
        findings.keep_reproducers(out.with_suffix(""))
    console.print(table(findings))
    for line in findings.lines(seconds):
        console.print(line, highlight=False, markup=False)
    sys.exit(1 if findings.total else 0)


if __name__ == "__main__":
    typer.run(main)
