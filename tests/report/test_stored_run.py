from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atomworld_env.errors import UsageError
from atomworld_env.report.stored_run import LONGEST_LABEL, read_runs, run_labels, same_tasks


def test_a_run_is_read_with_its_tasks_and_figures(run_folders: dict[str, Path]) -> None:
    oracle, noop = read_runs([run_folders["oracle"], run_folders["noop"]])
    assert oracle.label == "oracle"
    assert len(oracle.records) == len(oracle.suite.tasks) == oracle.overall.attempts == 20
    assert oracle.overall.strict.rate == 1.0
    assert oracle.with_paper
    assert oracle.suite is noop.suite
    assert same_tasks([oracle, noop])


@pytest.mark.parametrize(
    ("policies", "labels"),
    [
        pytest.param(["noop", "oracle"], ["noop", "oracle"], id="policies"),
        pytest.param(["noop", "noop"], ["noop (a)", "noop (b)"], id="one policy twice"),
        pytest.param(["no\nop\x00", "x"], ["no op", "x"], id="characters that cannot be seen"),
    ],
)
def test_labels(policies: list[str], labels: list[str]) -> None:
    assert run_labels(policies, [Path("/runs/a"), Path("/runs/b")]) == labels


def test_labels_are_short_and_different() -> None:
    folders = [Path("/one/run"), Path("/two/run")]
    long = f"hf:{'/deep' * 40}/Qwen3-1.7B"
    labels = run_labels([long, long], folders)
    assert len(set(labels)) == 2
    assert "Qwen3-1.7B" in labels[0]
    assert len(run_labels([long], folders[:1])[0]) == LONGEST_LABEL


def test_a_run_that_was_stopped_keeps_its_denominator(changed_run: Callable[..., Path]) -> None:
    (run,) = read_runs([changed_run(lambda lines: lines[:7])])
    assert len(run.records) == 7
    assert (run.overall.attempts, run.overall.unanswered) == (20, 13)


def test_a_run_without_an_answer_is_a_run(changed_run: Callable[..., Path]) -> None:
    folder = changed_run(lambda lines: [])
    for _ in range(2):
        (run,) = read_runs([folder])
        assert (run.overall.unanswered, run.overall.strict.rate) == (20, 0.0)
        (folder / "results.jsonl").unlink(missing_ok=True)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no run"):
        read_runs([tmp_path])
