"""How long one turn of the loop takes: import, first reset, sampling, reset and step with a right answer.

    python benchmarks/loop_speed.py
    python benchmarks/loop_speed.py --episodes 100 --markdown

Everything runs in one process on one core, except import and first reset, each measured in fresh interpreters.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from time import perf_counter
from typing import Annotated

import gymnasium
import typer
from rich.console import Console
from rich.table import Table

import atomworld_env
from atomworld_env.actions import ACTIONS
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig

FRESH = """
import time
start = time.perf_counter()
import gymnasium, atomworld_env
imported = time.perf_counter()
env = gymnasium.make("AtomWorld-v0")
env.reset(seed=0)
print(imported - start, time.perf_counter() - imported)
"""

Row = tuple[str, str, str]


def main(
    episodes: Annotated[int, typer.Option(min=1, help="Tasks of each edit.")] = 40,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Print the times of one turn of the loop."""
    rows = [*_fresh_process(), *_sampling(episodes), *_episodes("strict", episodes), *_episodes("both", episodes)]
    where = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, {episodes} tasks per edit"
    )
    if markdown:
        print(f"{where}\n\n| what | mean | worst |\n|---|---|---|")
        for row in rows:
            print(f"| {' | '.join(row)} |")
        return
    table = Table("what", "mean", "worst", title=where, title_justify="left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _fresh_process() -> list[Row]:
    times = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
        times.append([1000 * float(word) for word in done.stdout.split()])
    imports, resets = zip(*times, strict=True)
    return [
        _row("import atomworld_env, fresh process (5 runs)", imports),
        _row("make and first reset, fresh process (5 runs)", resets),
    ]


def _sampling(episodes: int) -> list[Row]:
    sampler = TaskSampler(SamplerConfig())
    rows, everything = [], []
    for action in ACTIONS:
        times = []
        for seed in range(episodes):
            start = perf_counter()
            sampler.sample(seed, action)
            times.append(1000 * (perf_counter() - start))
        everything += times
        rows.append(_row(f"sample {action}, 10–100 sites", times))
    return [*rows, _row("sample any edit, 10–100 sites", everything)]


def _episodes(profile: str, episodes: int) -> list[Row]:
    env = gymnasium.make(atomworld_env.ENV_ID, max_sites=40, profile=profile)
    env.reset(seed=0)
    env.step("")
    times = []
    for seed in range(episodes):
        for action in ACTIONS:
            start = perf_counter()
            env.reset(seed=seed, options={"action": action})
            answer = BASELINES["oracle"].answer(env.unwrapped.task)  # type: ignore[attr-defined]
            env.step(answer)
            times.append(1000 * (perf_counter() - start))
    return [_row(f"reset and step, right answer, 10–40 sites, profile {profile}", times)]


def _row(what: str, milliseconds: list[float] | tuple[float, ...]) -> Row:
    return what, f"{statistics.mean(milliseconds):.1f} ms", f"{max(milliseconds):.1f} ms"


if __name__ == "__main__":
    typer.run(main)
