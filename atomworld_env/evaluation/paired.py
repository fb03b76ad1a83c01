"""Two runs over the same tasks, compared task by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import binomtest
from scipy.stats import t as student

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.intervals import Rate, rate_of
from atomworld_env.evaluation.records import Record

PROFILES = {"strict": "success", "paper": "success_paper"}
"""Key of the outcome in a record, by profile."""


@dataclass(frozen=True)
class PairedRow:
    """One edit (or all) under one profile, before and after.

    Attributes:
        action: name of the edit, or "all".
        profile: ``strict`` or ``paper``.
        before, after: success rates over the tasks that both runs have a verdict for; with several samples of each
            task over all of them.
        gained, lost: tasks right more often after; tasks right more often before. With one sample of each: right only
            after, right only before.
        difference: after minus before.
        interval: 95 % interval of the difference, the tasks on one structure counted as one cluster; None with one
            cluster.
        p_value: of McNemar's exact test that gains and losses are equally likely (McNemar 1947); with several samples
            this is the sign test over tasks.
    """

    action: str
    profile: str
    before: Rate
    after: Rate
    gained: int
    lost: int
    difference: float
    interval: tuple[float, float] | None
    p_value: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "before": self.before.to_json(), "after": self.after.to_json()}


def compare_runs(before: Sequence[Record], after: Sequence[Record]) -> list[PairedRow]:
    """A row for each edit and one for all, under each profile that both runs have.

    With several samples of a task its share of right ones is compared; samples that were never answered are wrong.

    Raises:
        UsageError: if the runs are not over the same tasks.
    """
    earlier, later = _by_task(before), _by_task(after)
    if earlier.keys() != later.keys():
        apart = len(earlier.keys() ^ later.keys())
        raise UsageError(f"the two runs differ in {apart} tasks; run both on the same suite with the same --per-action")
    samples = tuple(max(map(len, run.values()), default=1) for run in (earlier, later))
    rows = []
    for profile, key in PROFILES.items():
        pairs = [(records, later[name]) for name, records in earlier.items()]
        pairs = [pair for pair in pairs if all(record[key] is not None for records in pair for record in records)]
        actions = list(dict.fromkeys(records[0]["action"] for records, _ in pairs))
        for action in actions:
            of_action = [pair for pair in pairs if pair[0][0]["action"] == action]
            rows.append(_row(action, profile, of_action, samples))
        if pairs:
            rows.append(_row("all", profile, pairs, samples))
    return rows


_Pair = tuple[list[Record], list[Record]]


def _by_task(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record["task_id"], []).append(record)
    return found


def _row(action: str, profile: str, pairs: Sequence[_Pair], samples: tuple[int, ...]) -> PairedRow:
    structures = [records[0]["structure_id"] for records, _ in pairs]
    right = [[sum(bool(record[PROFILES[profile]]) for record in pair[side]) for pair in pairs] for side in (0, 1)]
    before, after = (rate_of(right[side], [samples[side]] * len(pairs), structures) for side in (0, 1))
    changes = [new / samples[1] - old / samples[0] for old, new in zip(*right, strict=True)]
    gained, lost = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    return PairedRow(
        action,
        profile,
        before,
        after,
        gained,
        lost,
        float(np.mean(changes)),
        clustered_interval(changes, structures),
        float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0,
    )


def clustered_interval(values: Sequence[float], clusters: Sequence[str]) -> tuple[float, float] | None:
    """95 % interval of a mean whose values are independent between clusters only.

    By the cluster-robust standard error with Student's t at one less than the number of clusters (Cameron and Miller,
    J. Human Resources 50, 317, 2015). None with fewer than two clusters.
    """
    mean = float(np.mean(values))
    sums: dict[str, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    count = len(sums)
    if count < 2:
        return None
    error = sqrt(count / (count - 1) * sum(total**2 for total in sums.values())) / len(values)
    reach = float(student.ppf(0.975, count - 1)) * error
    return mean - reach, mean + reach


def paired_table(rows: Sequence[PairedRow], profile: str, before: str, after: str) -> Table:
    """The rows of one profile for the terminal."""
    title = f"Right under the {profile} profile, %: {before} → {after}"
    table = Table(title=title, title_justify="left", caption=CAPTION, caption_justify="left")
    table.add_column("edit", no_wrap=True)
    for heading in ("n", "before", "after", "difference", "+", "-", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row.profile != profile:
            continue
        if row.action == "all":
            table.add_section()
        shares = (_with_interval(row.before), _with_interval(row.after))
        table.add_row(row.action, str(row.before.of), *shares, _difference(row), str(row.gained), str(row.lost),
                      f"{row.p_value:.2g}")  # fmt: skip
    return table


CAPTION = (
    "n attempts; rates with 95 % intervals (Wilson, clustered where a structure occurs more than once); difference "
    "with a 95 % interval clustered by structure; + gained, - lost; p of McNemar's exact test."
)


def _with_interval(share: Rate) -> str:
    low, high = share.interval or (0.0, 0.0)
    return f"{100 * (share.rate or 0):.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def _difference(row: PairedRow) -> str:
    if row.interval is None:
        return f"{100 * row.difference:+.1f}"
    low, high = row.interval
    return f"{100 * row.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
