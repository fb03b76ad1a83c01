"""How long it takes to verify the answers of a stored run again, and to write its report.

    atomworld evaluate --policy oracle --suite atommotor --out runs/oracle
    atomworld evaluate --policy hf:small --prompt short --max-new-tokens 224 --batch-size 50 --out runs/small
    python benchmarks/evaluation_speed.py runs/oracle runs/small --out runs/evaluation-speed

Prints a line for each run: answers, seconds for both profiles, verdicts that differ from the stored ones, seconds for
the report and its size.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated

import typer

from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.rescore import rescore


def main(
    runs: Annotated[list[Path], typer.Argument(help="Folders written by `atomworld evaluate`.")],
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("runs/evaluation-speed"),
    workers: Annotated[int, typer.Option(min=1, help="Processes that verify.")] = 2,
) -> None:
    """Measure rescoring and reporting of stored runs."""
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), {workers} workers")
    for run in runs:
        name = read_manifest(run)["config"]["policy"]
        with TemporaryDirectory() as scratch:
            begun = perf_counter()
            done = rescore(run, Path(scratch) / "run", profile="both", workers=workers)
            verified = perf_counter() - begun
        folder = out / run.name
        begun = perf_counter()
        # In a process of its own, as a user starts it: its imports are a part of the time.
        line = [sys.executable, "-m", "atomworld_env.cli.app", "report", str(run), "--out", str(folder)]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        reported = perf_counter() - begun
        (page,) = folder.glob("*.html")
        print(
            f"{name}: {len(done.after)} answers verified in {verified:.1f} s, {len(done.changed)} verdicts differ; "
            f"report in {reported:.1f} s, {page.stat().st_size / 1e6:.1f} MB"
        )


if __name__ == "__main__":
    typer.run(main)
