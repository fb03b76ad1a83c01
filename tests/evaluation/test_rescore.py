from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.records import RESULTS, TASKS, stored_results
from atomworld_env.evaluation.rescore import rescore
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.suite import Suite


@pytest.fixture
def stored(small_suite: Suite, tmp_path: Path) -> Path:
    template = load_template("short")
    folder = tmp_path / "stored"
    evaluate(load_policy("noop"), small_suite.restricted(None, 2), folder, profile="strict", template=template)
    return folder


def stable(folder: Path) -> list[dict]:
    return [record | {"seconds": 0} for record in stored_results(folder)]


def test_the_same_settings_give_the_same_lines(stored: Path, tmp_path: Path) -> None:
    done = rescore(stored, tmp_path / "again")
    assert done.changed == []
    assert stable(tmp_path / "again") == stable(stored)
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (stored, tmp_path / "again")]
    assert manifests[0] == manifests[1]


@pytest.mark.filterwarnings("ignore:tasks are made so")
def test_other_settings_judge_the_answers_anew(stored: Path, tmp_path: Path) -> None:
    done = rescore(stored, tmp_path / "wide", profile="both", tolerance=1.5)
    assert done.changed
    assert all(one["success"] is False and other["success"] is True for one, other in done.changed)
    assert all(record["success_paper"] is not None for record in stored_results(tmp_path / "wide"))


def test_an_answer_that_was_changed_is_found(stored: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (stored / RESULTS).read_text().splitlines()]
    lines[3]["success"] = True
    (stored / RESULTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (pair,) = rescore(stored, tmp_path / "again").changed
    assert pair[0]["task_id"] == lines[3]["task_id"]


def test_unanswered_questions_stay_unanswered(stored: Path, tmp_path: Path) -> None:
    lines = (stored / RESULTS).read_text().splitlines(keepends=True)
    (stored / RESULTS).write_text("".join(lines[:-2]))
    done = rescore(stored, tmp_path / "again")
    assert len(done.after) == len(lines) - 2


def test_what_is_missing_is_named(stored: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        rescore(tmp_path, tmp_path / "again")
    (stored / TASKS).unlink()
    with pytest.raises(UsageError, match=r"has no tasks\.parquet"):
        rescore(stored, tmp_path / "again")
