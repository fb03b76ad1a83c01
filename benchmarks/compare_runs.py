"""Compare the verdicts of two stored runs of one policy, for example of the two engines.

    atomworld evaluate --policy noop --engine fast      --suite runs/atommotor --out runs/noop
    atomworld evaluate --policy noop --engine reference --suite runs/atommotor --out runs/noop-reference
    python benchmarks/compare_runs.py runs/noop runs/noop-reference

Exit status 1 if a verdict differs or max_dist does so by more than 0.001.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.evaluation.records import stored_results

MOST_DIFFERENCE = 1e-3
"""Of max_dist on accepted answers, in units of (V/N)^(1/3)."""


def main(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run on the same tasks.")],
) -> None:
    """Print how many verdicts differ, and the largest difference of max_dist and max_displacement."""
    ours = {record["task_id"]: record for record in stored_results(first)}
    theirs = {record["task_id"]: record for record in stored_results(second)}
    shared = [(ours[name], theirs[name]) for name in ours if name in theirs]
    differing = [
        (one, other)
        for one, other in shared
        if any(one[key] != other[key] for key in ("verdict_strict", "verdict_paper"))
    ]
    distance, displacement = _largest(shared, "max_dist"), _largest(shared, "max_displacement")
    print(
        f"{len(shared)} answers in both runs ({len(ours)} and {len(theirs)}), {len(differing)} verdicts differ; "
        f"max_dist differs by {distance:.1e} at most, max_displacement by {displacement:.1e} Å"
    )
    for one, other in differing:
        verdicts = [f"{record['verdict_strict']}/{record['verdict_paper']}" for record in (one, other)]
        print(f"{one['task_id']}: {' against '.join(verdicts)}")
    raise typer.Exit(bool(differing) or distance > MOST_DIFFERENCE)


def _largest(pairs: list[tuple[dict[str, float], dict[str, float]]], key: str) -> float:
    return max(
        (abs(one[key] - other[key]) for one, other in pairs if one[key] is not None and other[key] is not None),
        default=0.0,
    )


if __name__ == "__main__":
    typer.run(main)
