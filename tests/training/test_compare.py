"""`python -m training.compare`: two policies over the same tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from training.compare import app

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def compared(small_suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("compared")
    options = ["--suite", str(small_suite_folder), "--per-action", "2", "--workers", "1", "--out", str(out)]
    done = RUNNER.invoke(app, ["noop", "oracle", *options])
    assert done.exit_code == 0, done.output
    return out, done.stdout


def test_both_profiles_are_shown_and_stored(compared: tuple[Path, str]) -> None:
    out, printed = compared
    assert "strict profile, %: noop → oracle" in printed
    assert "paper profile" in printed
    rows = json.loads((out / "comparison.json").read_text())
    strict = next(row for row in rows if (row["profile"], row["action"]) == ("strict", "all"))
    assert (strict["before"]["right"], strict["after"]["right"], strict["gained"]) == (0, 20, 20)
    assert strict["p_value"] == pytest.approx(2 / 2**20)


def test_a_stored_run_stands_for_its_policy(
    compared: tuple[Path, str], small_suite_folder: Path, tmp_path: Path
) -> None:
    out, _ = compared
    options = ["--suite", str(small_suite_folder), "--per-action", "2", "--json", "--out", str(tmp_path)]
    done = RUNNER.invoke(app, [str(out / "base"), str(out / "tuned"), *options])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((out / "comparison.json").read_text())


def test_an_unknown_policy_is_one_line(small_suite_folder: Path, tmp_path: Path) -> None:
    done = RUNNER.invoke(app, ["nope", "oracle", "--suite", str(small_suite_folder), "--out", str(tmp_path)])
    assert "unknown policy" in str(done.exception)
