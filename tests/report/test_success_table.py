from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.report.published import published_models
from atomworld_env.report.stored_run import read_runs
from atomworld_env.report.success_table import FLOOR_LABEL, success_tables


def test_the_paper_table_has_models_floor_and_runs_in_this_order(run_folders: dict[str, Path]) -> None:
    runs = read_runs([run_folders["oracle"], run_folders["noop"]])
    paper, strict = success_tables(runs, published_models())
    assert (paper.profile, strict.profile) == ("paper", "strict")
    assert paper.columns == (*ACTIONS, "all")
    assert [row.kind for row in paper.rows] == ["published"] * 12 + ["floor", "run", "run"]
    assert [row.label for row in paper.runs] == ["oracle", "noop"]
    assert [row.kind for row in strict.rows] == ["run", "run"]


def test_the_floor_is_what_the_noop_policy_gets(run_folders: dict[str, Path]) -> None:
    runs = read_runs([run_folders["noop"], run_folders["oracle"]])
    (paper, _) = success_tables(runs, [])
    floor, noop, _ = paper.rows
    assert floor.label == FLOOR_LABEL
    assert {name: rate.rate for name, rate in floor.rates.items()} == {
        name: rate.rate for name, rate in noop.rates.items()
    }


def test_a_published_model_has_the_mean_of_the_edits_that_are_shown() -> None:
    opus = published_models()[0]
    assert opus.rates["change"].rate == 0.992
    mean = opus.mean(["change", "rotate_around"])
    assert mean is not None
    assert mean.rate == pytest.approx((0.992 + 0.12) / 2)
    assert mean.interval is None
    assert opus.mean(["change", "an edit of tomorrow"]) is None


def test_runs_over_other_tasks_have_a_floor_of_their_own(
    run_folders: dict[str, Path], changed_run: Callable[..., Path]
) -> None:
    runs = read_runs([run_folders["oracle"], changed_run(fingerprint="another")])
    paper, _ = success_tables(runs, [])
    floors = [row for row in paper.rows if row.kind == "floor"]
    assert [row.label for row in floors] == [
        f"{FLOOR_LABEL}, tasks of oracle",
        f"{FLOOR_LABEL}, tasks of noop",
    ]
    assert [row.run for row in floors] == [0, 1]
