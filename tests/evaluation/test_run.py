from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from atomworld_env.errors import UsageError
from atomworld_env.evaluation import stepping
from atomworld_env.evaluation.records import RESULTS, drop_cut_line, stored_results
from atomworld_env.evaluation.run import evaluate
from atomworld_env.evaluation.stepping import Attempt, step, step_all
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import default_template
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task

VOLATILE = ("seconds",)


def run(suite: Suite, folder: Path, policy: str = "noop", **arguments: object) -> list[dict]:
    settings = {"profile": "strict", "template": default_template(), "workers": 2} | arguments
    return evaluate(load_policy(policy), suite, folder, **settings)


def stable(records: list[dict]) -> list[dict]:
    return [{key: value for key, value in record.items() if key not in VOLATILE} for record in records]


def test_every_task_has_one_line_that_says_what_happened(small_suite: Suite, tmp_path: Path) -> None:
    records = run(small_suite, tmp_path, "oracle", profile="both")
    assert [record["task_id"] for record in records] == [task.task_id for task in small_suite.tasks]
    assert all(record["success"] and record["success_paper"] and record["reward"] == 1.0 for record in records)
    assert records == list(stored_results(tmp_path))
    assert records[0]["answer"] == f"<cif>\n{small_suite.tasks[0].target}</cif>"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["config"]["fingerprint"] == small_suite.fingerprint
    assert manifest["versions"]["pymatgen"]


def test_the_paper_profile_can_be_kept_to_a_few_tasks_of_each_edit(small_suite: Suite, tmp_path: Path) -> None:
    records = run(small_suite, tmp_path, profile="both", paper_per_action=1)
    judged = [record for record in records if record["success_paper"] is not None]
    assert sorted(record["action"] for record in judged) == sorted(small_suite.actions)
    assert all(record["verdict_strict"] for record in records)


def test_a_folder_with_a_run_is_not_written_over(small_suite: Suite, tmp_path: Path) -> None:
    few = small_suite.restricted(["remove"], 1)
    run(few, tmp_path)
    with pytest.raises(UsageError, match=r"already holds a run.*--resume"):
        run(few, tmp_path)


def test_resume_refuses_another_configuration_and_names_it(small_suite: Suite, tmp_path: Path) -> None:
    few = small_suite.restricted(["remove"], 1)
    run(few, tmp_path)
    with pytest.raises(UsageError, match=r"tolerance was 0\.1, is 0\.2; policy|policy was 'noop', is 'oracle'"):
        run(few, tmp_path, "oracle", resume=True, tolerance=0.2)
    with pytest.raises(UsageError, match="fingerprint was"):
        run(small_suite.restricted(["remove"], 2), tmp_path, resume=True)


def test_resume_asks_only_what_has_no_whole_line(small_suite: Suite, tmp_path: Path) -> None:
    whole = run(small_suite, tmp_path / "whole")
    run(small_suite, tmp_path / "cut")
    path = tmp_path / "cut" / RESULTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:12]) + lines[12][:40])
    resumed = run(small_suite, tmp_path / "cut", resume=True)
    assert stable(resumed) == stable(whole)
    assert len(path.read_bytes().splitlines()) == len(small_suite.tasks)
    assert path.read_bytes().startswith(b"".join(lines[:12]))


def test_a_cut_line_is_dropped_and_whole_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for content, left in ((b"a\nb\nc", b"a\nb\n"), (b"a\n", b"a\n"), (b"abc", b""), (b"", b"")):
        path.write_bytes(content)
        drop_cut_line(path)
        assert path.read_bytes() == left


def test_a_broken_line_in_the_middle_is_named(small_suite: Suite, tmp_path: Path) -> None:
    few = small_suite.restricted(["remove"], 3)
    run(few, tmp_path)
    path = tmp_path / RESULTS
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "{broken\n" + lines[2])
    with pytest.raises(UsageError, match=r"results\.jsonl, line 2: not JSON.*--resume"):
        run(few, tmp_path, resume=True)


def test_an_unwritable_folder_is_named(small_suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write.*--out"):
        run(small_suite, tmp_path / "file" / "run")


def test_an_answer_that_outlasts_the_limit_is_a_timeout_and_the_rest_go_on(small_suite: Suite) -> None:
    # The target of the largest task, judged by the slow protocol, does not fit in a hundredth of a second; the limit
    # is put on every answer, so only the kind of ending is looked at.
    tasks = small_suite.restricted(["super_cell"], 2).tasks
    attempts = [Attempt(k, task, f"<cif>{task.target}</cif>", True) for k, task in enumerate(tasks)]
    outcomes = list(step_all(attempts, workers=1, time_limit=0.005, arguments={"engine": "reference"}))
    assert len(outcomes) == len(tasks)
    assert {outcome["verdict_strict"] for _, outcome in outcomes} == {"timeout"}
    assert all(outcome["reward"] == 0.0 and outcome["success"] is False for _, outcome in outcomes)


def test_an_outcome_is_not_held_back_until_many_answers_are_there(small_suite: Suite) -> None:
    handed_over = 0

    def slowly() -> Iterator[Attempt]:
        nonlocal handed_over
        for index, task in enumerate(small_suite.tasks):
            handed_over += 1
            yield Attempt(index, task, "", False)
            time.sleep(0.1)

    outcomes = step_all(slowly(), workers=1, time_limit=60, arguments={}, with_paper=False)
    with closing(outcomes):
        attempt, outcome = next(outcomes)
    assert (attempt.index, outcome["verdict_strict"]) == (0, "no_cif")
    assert handed_over < stepping.IN_FLIGHT_PER_WORKER


def test_a_script_without_a_main_guard_can_evaluate(small_suite: Suite, tmp_path: Path) -> None:
    small_suite.restricted(["remove"], 2).write(tmp_path / "suite")
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from atomworld_env.evaluation.run import evaluate\n"
        "from atomworld_env.policies.baselines import load_policy\n"
        "from atomworld_env.prompts.prompt import default_template\n"
        "from atomworld_env.tasks.suite import load_suite\n"
        "print('begun')\n"
        "suite = load_suite('suite')\n"
        "records = evaluate(load_policy('oracle'), suite, Path('run'), profile='strict', template=default_template())\n"
        "print([record['success'] for record in records])\n"
    )
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("begun\n[True, True]\n", "")


@pytest.mark.slow
def test_kill_minus_nine_loses_no_finished_line(small_suite_folder: Path, small_suite: Suite, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "atomworld_env.cli.app", "evaluate", "--policy", "oracle", "--suite",
        str(small_suite_folder), "--profile", "both", "--workers", "2", "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    path = tmp_path / "killed" / RESULTS
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (path.exists() and path.read_bytes().count(b"\n") >= 5):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = path.read_bytes()
    kept = finished[: finished.rfind(b"\n") + 1]
    assert kept.count(b"\n") >= 5
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    assert path.read_bytes().startswith(kept)
    whole = run(small_suite, tmp_path / "whole", "oracle", profile="both")
    assert stable(list(stored_results(tmp_path / "killed"))) == stable(whole)


@pytest.mark.slow
def test_killed_in_the_middle_of_2500_tasks_and_resumed_it_is_the_same_run(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "atomworld_env.cli.app"]
    subprocess.run([*line, "generate", "--out", tmp_path / "suite"], check=True, capture_output=True)
    arguments = ["evaluate", "--policy", "random_edit", "--suite", tmp_path / "suite", "--profile", "strict", "--out"]
    killed = [*line, *arguments, tmp_path / "killed"]
    path = tmp_path / "killed" / RESULTS
    for lines in (400, 1100):
        resume = ["--resume"] if path.exists() else []
        process = subprocess.Popen([*killed, *resume], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") >= lines):
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert lines <= path.read_bytes().count(b"\n") < 2500
    subprocess.run([*killed, "--resume"], check=True, capture_output=True)
    subprocess.run([*line, *arguments, tmp_path / "whole"], check=True, capture_output=True)
    assert len(path.read_bytes().splitlines()) == 2500
    assert stable(stored_results(tmp_path / "killed")) == stable(stored_results(tmp_path / "whole"))


def test_a_worker_that_dies_or_runs_out_of_memory_is_named_and_the_rest_go_on(
    small_suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepping, "step", die_or_grow)
    task = small_suite.tasks[0]
    answers = [f"<cif>{task.target}</cif>", "die", "grow", "", "die"]
    attempts = [Attempt(k, task, answer, True) for k, answer in enumerate(answers)]
    outcomes = {
        attempt.index: outcome for attempt, outcome in step_all(attempts, workers=2, time_limit=60, arguments={})
    }
    assert [outcomes[k]["verdict_strict"] for k in range(5)] == [
        "correct", "worker_lost", "worker_lost", "no_cif", "worker_lost",
    ]  # fmt: skip
    assert "exit code 3" in outcomes[1]["message"]
    assert "memory" in outcomes[2]["message"]
    assert outcomes[1]["success_paper"] is False


def die_or_grow(task: Task, answer: str, with_paper: bool, **arguments: object) -> dict:
    """Stands in for a step in a worker."""
    if answer == "die":
        os._exit(3)
    if answer == "grow":
        raise MemoryError
    return step(task, answer, with_paper, **arguments)
