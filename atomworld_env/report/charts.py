"""The figures of a report, made from the figures of its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atomworld_env.evaluation.distances import TOLERANCES
from atomworld_env.evaluation.statistics import GroupStatistics
from atomworld_env.report.chart_kinds import Chart, DistanceChart, RateChart, RateSeries, VerdictChart
from atomworld_env.report.palette import UNANSWERED, VERDICT_WORDS
from atomworld_env.report.stored_run import StoredRun, by_family
from atomworld_env.report.success_table import SuccessTable

PROFILE_WORDS = {"strict": "strict profile", "paper": "paper profile"}


def report_charts(runs: Sequence[StoredRun], tables: Sequence[SuccessTable]) -> list[Chart]:
    """The figures over the runs of edits, in order, or over those of another family if there are no others.

    Those without data are left out. Runs of other families beside edits are in
    :func:`~atomworld_env.report.skills.skills_of`.
    """
    families = list(by_family(runs))
    if not families or (len(families) > 1 and families[0] != "edits"):
        return []
    runs = [run for run in runs if run.family == families[0]]
    charts: list[Chart] = [_by_edit(table) for table in tables]
    charts += [_verdicts(runs, profile) for profile in ("strict", "paper") if profile == "strict" or _any_paper(runs)]
    distances = _distances(runs)
    charts += distances
    if distances:
        charts.append(_tolerance(runs))
    charts += _by_group(runs, "sites", "Success by number of sites", "sites of the input")
    charts += _by_group(runs, "level", "Success by difficulty", "level, 1 is the easiest")
    charts += _cells(runs)
    charts += _pass_at_k(runs)
    return charts


def _any_paper(runs: Sequence[StoredRun]) -> bool:
    return any(run.with_paper for run in runs)


def _by_edit(table: SuccessTable) -> RateChart:
    notes = {
        "paper": "Scored as published. Ticks: what the unchanged input passes. Grey: published models.",
        "strict": "Right in the frame given, every atom within the tolerance. An unchanged input is never right.",
    }
    series = tuple(RateSeries(row.label, row.kind, row.run, row.rates) for row in table.rows)
    return RateChart(
        f"success_{table.profile}",
        f"Success by edit, {PROFILE_WORDS[table.profile]}",
        notes[table.profile],
        "",
        table.columns,
        series,
        "dots",
    )


def _verdicts(runs: Sequence[StoredRun], profile: str) -> VerdictChart:
    chosen = [run for run in runs if profile == "strict" or run.with_paper]
    counts: dict[str, tuple[int, ...]] = {}
    for verdict in VERDICT_WORDS:
        numbers = tuple(_verdict_count(run.overall, profile, verdict) for run in chosen)
        if any(numbers):
            counts[verdict] = numbers
    return VerdictChart(
        f"verdicts_{profile}",
        f"What became of the answers, {PROFILE_WORDS[profile]}",
        "Share of all attempts, unanswered ones among them. The first test that fails names the verdict.",
        tuple(run.label for run in chosen),
        counts,
    )


def _verdict_count(group: GroupStatistics, profile: str, verdict: str) -> int:
    if verdict == UNANSWERED:
        # The paper profile may have been asked for some of the tasks only.
        asked = group.attempts if profile == "strict" else group.paper.of
        return max(0, asked - sum(group.verdicts[profile].values()))
    return group.verdicts[profile].get(verdict, 0)


def _distances(runs: Sequence[StoredRun]) -> list[Chart]:
    charts: list[Chart] = []
    for name, which, title in (
        ("distance_all", None, "Distance from the target, all answers that have one"),
        ("distance_right", "success", "Distance from the target, right answers"),
    ):
        curves = []
        for number, run in enumerate(runs):
            values = [
                record["max_displacement"]
                for record in run.records
                if record["max_displacement"] is not None and (which is None or record[which])
            ]
            if values:
                curves.append((number, run.label, tuple(np.sort(values).tolist())))
        if curves:
            note = (
                "Largest displacement of any atom, in Å. It exists where composition and cell are the target's."
                if which is None
                else "Largest displacement of any atom, in Å, over the answers that are right under the strict profile."
            )
            tolerance = float(runs[0].config.get("tolerance") or 0.1)
            charts.append(DistanceChart(name, title, note, "largest displacement, Å", tolerance, tuple(curves)))
    return charts


def _tolerance(runs: Sequence[StoredRun]) -> RateChart:
    series = tuple(
        RateSeries(run.label, "run", number, {f"{key:g}": rate for key, rate in run.overall.tolerance.items()})
        for number, run in enumerate(runs)
    )
    return RateChart(
        "tolerance",
        "Success by tolerance, strict profile",
        "How near every atom has to be. A gap between 0.1 and 0.5 Å is geometry that is nearly right.",
        "tolerance, Å",
        tuple(f"{tolerance:g}" for tolerance in TOLERANCES),
        series,
        "lines",
    )


def _by_group(runs: Sequence[StoredRun], kind: str, title: str, axis: str) -> list[Chart]:
    names = list(dict.fromkeys(group.name for run in runs for group in run.statistics.of_kind(kind)))
    names.sort(key=_first_number)
    if len(names) < 2:
        return []
    series = tuple(
        RateSeries(run.label, "run", number, {group.name: group.strict for group in run.statistics.of_kind(kind)})
        for number, run in enumerate(runs)
    )
    note = "Strict profile, all kinds of task together."
    return [RateChart(kind, title, note, axis, tuple(names), series, "lines")]


def _first_number(name: str) -> tuple[int, str]:
    digits = "".join(character if character.isdigit() else " " for character in name).split()
    return (int(digits[0]) if digits else 0, name)


def _cells(runs: Sequence[StoredRun]) -> list[Chart]:
    names = list(dict.fromkeys(group.name for run in runs for group in run.statistics.of_kind("cell")))
    if not names:
        return []
    series = tuple(
        RateSeries(run.label, "run", number, {group.name: group.strict for group in run.statistics.of_kind("cell")})
        for number, run in enumerate(runs)
    )
    note = (
        "Strict profile, all kinds of task together. Dividing Cartesian coordinates by the cell lengths is right in "
        "cells with three right angles and wrong in the others."
    )
    return [RateChart("cells", "Orthogonal and oblique cells", note, "", tuple(names), series, "dots")]


def _pass_at_k(runs: Sequence[StoredRun]) -> list[Chart]:
    most = max((len(run.overall.pass_at["strict"]) for run in runs), default=0)
    if most < 2:
        return []
    series = tuple(
        RateSeries(
            run.label,
            "run",
            number,
            {str(k): rate for k, rate in enumerate(run.overall.pass_at["strict"], start=1)},
        )
        for number, run in enumerate(runs)
    )
    note = "Strict profile. Chance that at least one of k answers is right, by the unbiased estimator."
    names = tuple(str(k) for k in range(1, most + 1))
    return [RateChart("pass_at_k", "pass@k", note, "k", names, series, "lines")]
