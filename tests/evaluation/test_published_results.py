"""The published table, and runs beside it."""

from __future__ import annotations

import pytest
from rich.console import Console
from test_statistics import CONFIG, record

from atomworld_env.actions import ACTIONS
from atomworld_env.evaluation.intervals import wilson_interval
from atomworld_env.evaluation.published_results import beside_published, beside_tables, published_results
from atomworld_env.evaluation.statistics import run_statistics


def test_every_model_has_every_edit() -> None:
    results = published_results()
    models = dict.fromkeys(result.model for result in results)
    assert len(models) == 12
    for model in models:
        assert {result.action for result in results if result.model == model} == set(ACTIONS)
    assert all(0 <= result.success <= 1 <= result.n for result in results)


def test_a_published_figure_and_its_interval() -> None:
    (result,) = [each for each in published_results() if (each.model, each.action) == ("o3", "rotate_around")]
    assert (result.success, result.max_dist, result.n) == (0.128, 0.0933, 250)
    assert result.rate.interval == pytest.approx(wilson_interval(0.128, 250))


def test_a_run_stands_below_the_models_with_its_floor() -> None:
    records = [record(0, right=True, floor_paper=True), record(1, right=True), record(2), record(3)]
    rows = beside_published({"mine": run_statistics(records, CONFIG)})
    assert [row.kind for row in rows] == ["published"] * 12 + ["run", "floor"]
    run, floor = rows[-2:]
    assert (run.success["move"].rate, floor.success["move"].rate, floor.success["all"].rate) == (0.5, 0.25, 0.25)
    assert run.max_dist["move"] == pytest.approx(0.04)
    assert run.to_json()["success"]["all"]["of"] == 4


def test_the_mean_of_a_published_model_gives_each_edit_the_same_weight() -> None:
    (row,) = [row for row in beside_published({}) if row.name == "DeepSeek Chat"]
    assert row.success["all"].rate == pytest.approx(0.61)
    assert row.success["all"].interval is None


def test_the_tables_fit_110_columns() -> None:
    console = Console(width=110, record=True)
    for table in beside_tables(beside_published({"a-policy-with-a-long-name": run_statistics([record(0)], CONFIG)})):
        console.print(table)
    text = console.export_text()
    assert "…" not in text
    assert "\n   unchanged input" in text
