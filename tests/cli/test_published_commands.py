"""`atomworld import`, `atomworld export`, `atomworld table --published`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.cli.published import PROBLEMS
from atomworld_env.errors import UsageError
from atomworld_env.tasks.suite import load_suite


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def exported(small_suite_folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "records.json"
    run("export", str(small_suite_folder), "--out", str(path), "--actions", "move,add", "--per-action", "2")
    return path


def test_a_suite_goes_out_and_comes_back(exported: Path, small_suite_folder: Path, tmp_path: Path) -> None:
    assert "4 tasks of 4 records" in run("import", str(exported), "--out", str(tmp_path / "back"), "--no-paper")
    back, ours = load_suite(tmp_path / "back"), load_suite(small_suite_folder).restricted(["move", "add"], 2)
    assert [(task.prompt, task.target) for task in back.tasks] == [(task.prompt, task.target) for task in ours.tasks]
    assert (tmp_path / "back" / PROBLEMS).read_text(encoding="utf-8") == ""


def test_problems_are_counted_and_written(exported: Path, tmp_path: Path) -> None:
    records = json.loads(exported.read_text(encoding="utf-8"))
    records[0]["output"] = "no CIF"
    exported.write_text(json.dumps(records), encoding="utf-8")
    shown = json.loads(run("import", str(exported), "--out", str(tmp_path / "back"), "--no-paper", "--json"))
    assert (shown["records"], shown["problems"]) == (4, {"target_unreadable": 1})
    (line,) = (tmp_path / "back" / PROBLEMS).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["left_out"] is True


def test_an_imported_suite_is_evaluated_and_set_beside_the_published_models(exported: Path, tmp_path: Path) -> None:
    suite, folder = str(tmp_path / "back"), str(tmp_path / "run")
    run("import", str(exported), "--out", suite, "--no-paper")
    run("evaluate", "--policy", "oracle", "--suite", suite, "--out", folder, "--workers", "1", "--json")
    rows = {row["name"]: row for row in json.loads(run("table", folder, "--published", "--json"))}
    assert rows["oracle"]["success"]["all"]["rate"] == 1.0
    assert rows["oracle: unchanged input"]["success"]["add"]["rate"] == 0.0
    assert "Claude Opus 4.6" in run("table", folder, "--published")


def test_records_of_which_none_can_be_used_are_refused(tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text("[{}]", encoding="utf-8")
    done = CliRunner().invoke(app, ["import", str(tmp_path / "records.json"), "--out", str(tmp_path / "back")])
    assert isinstance(done.exception, UsageError)
    assert "none of the 1 records can be used" in str(done.exception)


def test_nothing_to_import_is_one_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["import", str(tmp_path / "nowhere"), "--out", str(tmp_path / "back")])
    assert isinstance(done.exception, UsageError)


def test_what_was_never_answered_is_in_the_tables(small_suite_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["--suite", str(small_suite_folder), "--actions", "add,remove", "--out", str(folder), "--workers", "1"]
    run("evaluate", "--policy", "oracle", *words, "--json")
    results = folder / "results.jsonl"
    first = results.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    results.write_text(first, encoding="utf-8")
    action = json.loads(first)["action"]
    shown = json.loads(run("table", str(folder), "--json"))["oracle"]
    assert {row["action"]: (row["strict"]["right"], row["strict"]["of"], row["unanswered"]) for row in shown} == {
        "add": (int(action == "add"), 3, 3 - (action == "add")),
        "remove": (int(action == "remove"), 3, 3 - (action == "remove")),
        "all": (1, 6, 5),
    }
    beside = json.loads(run("table", str(folder), "--published", "--json"))
    assert beside[-2]["success"]["all"]["of"] == 6
