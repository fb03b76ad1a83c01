"""Each run of a report against the first of its family, task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.paired import PairedRow, compare_runs
from atomworld_env.report.stored_run import StoredRun, by_family, same_tasks


@dataclass(frozen=True)
class Comparison:
    """The paired test of one run against the first of its family, or why there is none.

    Attributes:
        before, after: numbers of the runs.
        rows: by kind of task and profile; empty if they were not compared.
        refusal: why they were not, in one sentence; "" if they were.
    """

    before: int
    after: int
    rows: tuple[PairedRow, ...]
    refusal: str


def comparisons(runs: Sequence[StoredRun]) -> list[Comparison]:
    """Each run against the first of its family, over the tasks both have."""
    found: list[Comparison] = []
    for members in by_family(runs).values():
        found += _against_first(members)
    return found


def _against_first(members: Sequence[tuple[int, StoredRun]]) -> Iterator[Comparison]:
    (before, first), *others = members
    for after, run in others:
        if not same_tasks([first, run]):
            words = (
                f"not compared: it is over other tasks ({run.config['suite']}, fingerprint {run.config['fingerprint']})"
            )
            yield Comparison(before, after, (), words)
            continue
        try:
            rows = tuple(compare_runs(first.records, run.records))
        except UsageError as error:
            unfinished = [each for each in (first, run) if each.overall.unanswered]
            words = "; ".join(
                f"{each.overall.unanswered} questions of {each.label} have no answer" for each in unfinished
            )
            mend = f"{words}; go on with --resume" if unfinished else str(error)
            yield Comparison(before, after, (), f"not compared: {mend}")
        else:
            yield Comparison(before, after, rows, "" if rows else "not compared: no answers")
