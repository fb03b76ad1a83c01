"""Each run of a report against the first, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.paired import PairedRow, compare_runs
from atomworld_env.report.stored_run import StoredRun, same_tasks


@dataclass(frozen=True)
class Comparison:
    """The paired test of one run against the first, or why there is none.

    Attributes:
        before, after: labels of the runs.
        rows: by edit and profile; empty if they were not compared.
        refusal: why they were not, in one sentence; "" if they were.
    """

    before: str
    after: str
    rows: tuple[PairedRow, ...]
    refusal: str


def comparisons(runs: Sequence[StoredRun]) -> list[Comparison]:
    """Each run against the first, over the tasks both have."""
    first, found = runs[0], []
    for run in runs[1:]:
        if not same_tasks([first, run]):
            words = (
                f"not compared: it is over other tasks ({run.config['suite']}, fingerprint {run.config['fingerprint']})"
            )
            found.append(Comparison(first.label, run.label, (), words))
            continue
        try:
            rows = tuple(compare_runs(first.records, run.records))
            found.append(Comparison(first.label, run.label, rows, "" if rows else "not compared: no answers"))
        except UsageError as error:
            found.append(Comparison(first.label, run.label, (), f"not compared: {error}"))
    return found
