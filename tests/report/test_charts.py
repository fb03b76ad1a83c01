from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atomworld_env.report.chart_kinds import SMALLEST_DISTANCE, DistanceChart, RateChart, VerdictChart, cumulative
from atomworld_env.report.charts import report_charts
from atomworld_env.report.palette import RUN_STYLES, VERDICT_COLOURS, VERDICT_WORDS
from atomworld_env.report.pictures import write_pictures
from atomworld_env.report.plotly_charts import plotly_figure
from atomworld_env.report.published import published_models
from atomworld_env.report.stored_run import StoredRun, read_runs
from atomworld_env.report.success_table import success_tables
from rewards import Stage


def charts_of(runs: list[StoredRun]) -> dict[str, RateChart | VerdictChart | DistanceChart]:
    return {chart.name: chart for chart in report_charts(runs, success_tables(runs, published_models()))}


def test_every_figure_has_every_run(run_folders: dict[str, Path]) -> None:
    runs = read_runs(list(run_folders.values()))
    charts = charts_of(runs)
    assert {"success_paper", "success_strict", "verdicts_strict", "distance_all", "tolerance", "sites", "cells"} <= set(
        charts
    )
    for chart in charts.values():
        if isinstance(chart, RateChart):
            assert [series.run for series in chart.series if series.kind == "run"] == [0, 1, 2, 3]
        elif isinstance(chart, VerdictChart):
            assert chart.runs == tuple(run_folders)
            assert [sum(numbers) for numbers in zip(*chart.counts.values(), strict=True)] == [20] * 4


def test_the_paper_figure_has_floor_and_published_models(run_folders: dict[str, Path]) -> None:
    chart = charts_of(read_runs([run_folders["oracle"]]))["success_paper"]
    assert isinstance(chart, RateChart)
    assert [series.kind for series in chart.series] == ["published"] * 12 + ["floor", "run"]


def test_unanswered_attempts_are_stacked_with_the_verdicts(changed_run: Callable[..., Path]) -> None:
    chart = charts_of(read_runs([changed_run(lambda lines: lines[:7])]))["verdicts_strict"]
    assert isinstance(chart, VerdictChart)
    assert chart.counts["unanswered"] == (13,)
    assert sum(numbers[0] for numbers in chart.counts.values()) == 20


def test_several_answers_to_a_task_give_pass_at_k(changed_run: Callable[..., Path]) -> None:
    folder = changed_run(lambda lines: [line | {"sample": k} for line in lines for k in range(3)], samples=3)
    chart = charts_of(read_runs([folder]))["pass_at_k"]
    assert isinstance(chart, RateChart)
    assert chart.categories == ("1", "2", "3")


def test_a_run_without_an_answer_can_be_drawn(changed_run: Callable[..., Path], tmp_path: Path) -> None:
    charts = charts_of(read_runs([changed_run(lambda lines: [])]))
    assert "distance_all" not in charts
    for chart in charts.values():
        json.dumps(plotly_figure(chart), allow_nan=False)
    assert write_pictures(list(charts.values()), tmp_path / "figures")


def test_a_cumulative_curve_starts_with_what_is_exact_and_ends_at_one() -> None:
    x, y = cumulative((0.0, 0.0, 0.2, 0.5), 10.0)
    assert x == [SMALLEST_DISTANCE, 0.2, 0.5, 10.0]
    assert y == [0.5, 0.75, 1.0, 1.0]
    many = tuple(k / 10_000 + 0.01 for k in range(10_000))
    assert len(cumulative(many, 10.0)[0]) < 500
    assert cumulative((0.0,), 1.0) == ([SMALLEST_DISTANCE, 1.0], [1.0, 1.0])


def test_names_are_no_markup_for_plotly_nor_formulas_for_matplotlib(
    changed_run: Callable[..., Path], tmp_path: Path
) -> None:
    (run,) = read_runs([changed_run(policy="<a href='x'>$\\frac$</a>")])
    charts = charts_of([run])
    text = json.dumps([plotly_figure(chart) for chart in charts.values()])
    assert "<a" not in text
    assert "&lt;a" in text
    paths = write_pictures(list(charts.values()), tmp_path / "figures")
    assert [path.suffix for path in paths[:2]] == [".png", ".svg"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_every_verdict_has_words_and_a_colour() -> None:
    assert set(VERDICT_WORDS) == set(VERDICT_COLOURS) == {*map(str, Stage), "unanswered"}
    assert len(set(VERDICT_COLOURS.values())) == len(VERDICT_COLOURS)


@pytest.mark.parametrize("attribute", ["colour", "symbol", "marker", "glyph"])
def test_runs_are_told_apart_by_shape_as_well_as_colour(attribute: str) -> None:
    assert len({getattr(style, attribute) for style in RUN_STYLES}) == len(RUN_STYLES) == 8
