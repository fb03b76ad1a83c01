"""The published results of twelve models, and a run set beside them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from atomworld_env.actions import ACTIONS
from atomworld_env.evaluation.intervals import Rate, rate_of
from atomworld_env.evaluation.statistics import RunStatistics

SOURCE = "arXiv:2510.04704"
"""Where the published results are from; see ``data/README.md``."""


@dataclass(frozen=True)
class PublishedResult:
    """One model on one edit.

    Attributes:
        model, action: names; the action as in this package.
        success: share of the questions that pass the published protocol.
        max_dist: mean over the passed ones, in units of (V/N)^(1/3), though printed as Å.
        n: questions.
    """

    model: str
    action: str
    success: float
    max_dist: float
    n: int

    @property
    def rate(self) -> Rate:
        """The success with a Wilson interval, the questions taken as independent."""
        right = round(self.success * self.n)
        return rate_of([1] * right + [0] * (self.n - right), [1] * self.n, range(self.n))


@cache
def published_results() -> tuple[PublishedResult, ...]:
    """Every model and edit of the published table, in its order."""
    text = files("atomworld_env.evaluation").joinpath("data", "published_results.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedResult(
            row["model"],
            row["action"],
            float(row["success_rate"]),
            float(row["mean_max_dist_normalised"]),
            int(row["n"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


@dataclass(frozen=True)
class BesideRow:
    """One line of the table: a model, a run or a floor.

    Attributes:
        name: of it.
        kind: ``published``, ``run`` or ``floor``.
        success: by edit, and ``all``.
        max_dist: mean over successes by edit, in units of (V/N)^(1/3); empty for a floor.
    """

    name: str
    kind: str
    success: dict[str, Rate]
    max_dist: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        success = {action: rate.to_json() for action, rate in self.success.items()}
        return {"name": self.name, "kind": self.kind, "success": success, "max_dist": self.max_dist}


def beside_published(runs: Mapping[str, RunStatistics]) -> list[BesideRow]:
    """Published models, then the runs, each followed by its floor: what the unchanged input of its tasks passes.

    ``all`` of a published model is the mean over the ten edits, as each has the same weight there; it has no interval.
    """
    rows = [_published(model) for model in dict.fromkeys(result.model for result in published_results())]
    for name, statistics in runs.items():
        groups = {group.name: group for group in (*statistics.of_kind("action"), statistics.overall)}
        distances = {action: group.distances["max_dist_paper_right"].mean for action, group in groups.items()}
        known = {action: distance for action, distance in distances.items() if distance is not None}
        rows.append(BesideRow(name, "run", {action: group.paper for action, group in groups.items()}, known))
        floors = {action: group.floor for action, group in groups.items()}
        rows.append(BesideRow(f"{name}: unchanged input", "floor", floors, {}))
    return rows


def _published(model: str) -> BesideRow:
    results = [result for result in published_results() if result.model == model]
    success = {result.action: result.rate for result in results}
    questions = sum(result.n for result in results)
    mean = sum(result.success for result in results) / len(results)
    success["all"] = Rate(mean * questions, questions, 0, None, None)
    return BesideRow(model, "published", success, {result.action: result.max_dist for result in results})


CAPTION = (
    "n attempts; under a run stands what its unchanged inputs pass. The published models answered the benchmark's own "
    f"questions with its own prompt ({SOURCE}): compare trends, not digits, unless the run was over those questions "
    "(`atomworld import`)."
)


def beside_tables(rows: Sequence[BesideRow]) -> list[Table]:
    """The rows for the terminal, an edit a column: success, and mean distance over the successes."""

    def percent(row: BesideRow, action: str) -> str:
        rate = row.success[action].rate if action in row.success else None
        return "–" if rate is None else f"{100 * rate:.1f}"

    def distance(row: BesideRow, action: str) -> str:
        if action not in row.max_dist:
            return "–"
        return "<.001" if row.max_dist[action] < 0.001 else f"{row.max_dist[action]:.3f}"

    answered = [row for row in rows if row.kind != "floor"]
    return [
        _table("Right under the paper profile, %", rows, [*ACTIONS, "all"], percent),
        _table("Mean max_dist of those, in (V/N)^(1/3)", answered, list(ACTIONS), distance),
    ]


def _table(
    title: str, rows: Sequence[BesideRow], actions: Sequence[str], cell: Callable[[BesideRow, str], str]
) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption=CAPTION,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("model", overflow="fold", max_width=28)
    for heading in ("n", *(action.replace("_", "\n") for action in actions)):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        if row.kind == "run" and rows[number - 1].kind == "published":
            table.add_section()
        name = "  unchanged input" if row.kind == "floor" else row.name
        table.add_row(name, str(row.success["all"].of), *(cell(row, action) for action in actions))
    return table
