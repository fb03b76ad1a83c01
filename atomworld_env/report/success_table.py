"""The tables of a report: success by kind of task of runs, published models and the unchanged input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomworld_env.actions import ACTIONS
from atomworld_env.evaluation.intervals import Rate
from atomworld_env.evaluation.statistics import GroupStatistics
from atomworld_env.families.registry import FAMILIES
from atomworld_env.report.published import PublishedModel
from atomworld_env.report.stored_run import StoredRun

ALL = "all"
"""Column of all tasks together."""

FLOOR_LABEL = "unchanged input (floor)"


@dataclass(frozen=True)
class SuccessRow:
    """One row.

    Attributes:
        label: of the run or the model.
        kind: ``run``, ``published`` or ``floor``.
        run: number of the run, from 0; for a floor that of the run it was taken from; None for a published model.
        rates: by edit, and under :data:`ALL`; an edit that was not asked is missing.
    """

    label: str
    kind: str
    run: int | None
    rates: dict[str, Rate]


@dataclass(frozen=True)
class SuccessTable:
    """Success under one profile.

    Attributes:
        profile: ``strict`` or ``paper``.
        columns: the edits, and :data:`ALL` in the end.
        rows: published models, then the floor, then the runs; under ``strict`` the runs only.
    """

    profile: str
    columns: tuple[str, ...]
    rows: tuple[SuccessRow, ...]

    @property
    def runs(self) -> list[SuccessRow]:
        """The rows of the runs."""
        return [row for row in self.rows if row.kind == "run"]


def success_tables(runs: Sequence[StoredRun], published: Sequence[PublishedModel]) -> list[SuccessTable]:
    """Of the runs of edits the table of the paper profile, if any was judged by it, and that of the strict profile.

    Args:
        runs: those of edits come first, as :func:`~atomworld_env.report.stored_run.read_runs` gives them.
    """
    runs = [run for run in runs if run.family == "edits"]
    columns = (*edits_of(runs), ALL)
    tables: list[SuccessTable] = []
    if not runs:
        return tables
    if any(run.with_paper for run in runs):
        rows = [_published_row(model, columns[:-1]) for model in published]
        rows += floor_rows(runs)
        rows += [_run_row(number, run, "paper") for number, run in enumerate(runs) if run.with_paper]
        tables.append(SuccessTable("paper", columns, tuple(rows)))
    strict = [_run_row(number, run, "strict") for number, run in enumerate(runs)]
    tables.append(SuccessTable("strict", columns, tuple(strict)))
    return tables


def kind_table(family: str, runs: Sequence[tuple[int, StoredRun]]) -> SuccessTable:
    """The runs of one family under the strict profile: its kinds of task, and all of them together.

    Args:
        runs: each with its number among all runs.
    """
    asked = {group.name for _, run in runs for group in run.statistics.of_kind("action")}
    kinds = tuple(name for name in FAMILIES[family].actions if name in asked)
    return SuccessTable("strict", (*kinds, ALL), tuple(_run_row(number, run, "strict") for number, run in runs))


def edits_of(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """The edits that occur in any run, in the order of the ten."""
    found = {group.name for run in runs for group in run.statistics.of_kind("action")}
    return tuple([name for name in ACTIONS if name in found] + sorted(found - set(ACTIONS)))


def floor_rows(runs: Sequence[StoredRun]) -> list[SuccessRow]:
    """One floor for each suite: that of the run that knows it for most tasks."""
    best: dict[str, int] = {}
    for number, run in enumerate(runs):
        if run.overall.floor.of == 0:
            continue
        suite = str(run.config["fingerprint"])
        if suite not in best or run.overall.floor.of > runs[best[suite]].overall.floor.of:
            best[suite] = number
    return [
        SuccessRow(
            FLOOR_LABEL if len(best) == 1 else f"{FLOOR_LABEL}, tasks of {runs[number].label}",
            "floor",
            number,
            {group.name: group.floor for group in _groups(runs[number]) if group.floor.of},
        )
        for number in best.values()
    ]


def _run_row(number: int, run: StoredRun, profile: str) -> SuccessRow:
    rates = {group.name: group.paper if profile == "paper" else group.strict for group in _groups(run)}
    return SuccessRow(run.label, "run", number, {name: rate for name, rate in rates.items() if rate.of})


def _groups(run: StoredRun) -> list[GroupStatistics]:
    return [*run.statistics.of_kind("action"), run.overall]


def _published_row(model: PublishedModel, edits: Sequence[str]) -> SuccessRow:
    rates = {name: model.rates[name] for name in edits if name in model.rates}
    mean = model.mean(edits)
    return SuccessRow(model.name, "published", None, rates if mean is None else {**rates, ALL: mean})
