from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.errors import UsageError


def report(*words: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_it_says_where_everything_is(run_folders: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = report(run_folders["oracle"], run_folders["noop"], "--out", out, "--title", "Two runs")
    assert str(out / "report.html") in printed
    assert {path.name for path in out.iterdir()} == {
        "figures", "report.html", "statistics.json", "table.csv", "table.md",
    }  # fmt: skip
    names = {path.stem for path in (out / "figures").iterdir()}
    assert {"success_paper", "success_strict", "tolerance"} <= names
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}
    assert "<h1>Two runs</h1>" in (out / "report.html").read_text(encoding="utf-8")
    statistics = json.loads((out / "statistics.json").read_text(encoding="utf-8"))
    assert [run["label"] for run in statistics["runs"]] == ["oracle", "noop"]
    assert statistics["paired"][0]["rows"][-1]["gained"] == 0


def test_json_for_machines(run_folders: dict[str, Path], tmp_path: Path) -> None:
    found = json.loads(report(run_folders["oracle"], "--out", tmp_path, "--no-answers", "--json"))
    assert found["page"] == str(tmp_path / "report.html")
    assert found["runs"][0]["strict"]["rate"] == 1.0
    assert found["not_compared"] == []


def test_it_lies_in_the_folder_of_the_run_when_no_other_is_given(changed_run: Callable[..., Path]) -> None:
    folder = changed_run(lambda lines: lines[:3])
    report(folder, "--no-answers")
    assert (folder / "report" / "report.html").is_file()


def test_runs_over_other_tasks_are_shown_but_not_compared(
    run_folders: dict[str, Path], changed_run: Callable[..., Path], tmp_path: Path
) -> None:
    other = changed_run(fingerprint="another", policy="other")
    printed = report(run_folders["oracle"], other, "--out", tmp_path / "out", "--no-answers")
    assert "other: not compared: it is over other tasks" in printed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<sup>b</sup>" in page
    assert "The runs are over different tasks" in page


def test_a_folder_without_a_run_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no run .*make one with `atomworld evaluate`"):
        report(tmp_path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_run_beside_runs_is_left_out(run_folders: dict[str, Path], tmp_path: Path) -> None:
    words = ["report", run_folders["oracle"], tmp_path, "--out", tmp_path / "out", "--no-answers"]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert f"left out, no run: {tmp_path}" in done.stderr
    assert (tmp_path / "out" / "report.html").is_file()
