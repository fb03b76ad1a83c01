"""What the machinery failed at is never scored, never lost and asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atomworld_env.evaluation.journal import FAILURES, UNVERIFIED, failures_left, stored_failures
from atomworld_env.evaluation.records import RESULTS, place, stored_results, stored_tasks
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.prompts.prompt import default_template
from atomworld_env.tasks.suite import Suite

Script = Callable[[Question, int], Reply | Failure | Exception]


@dataclass
class Scripted:
    """Answers in reverse order, as a script says for each question and the number of times it was asked."""

    script: Script
    name: str = "scripted"
    settings: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0.7, "stop": ["x"]})
    asked: list[tuple[str, int]] = field(default_factory=list)

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        for number in reversed(range(len(questions))):
            question = questions[number]
            key = (question.task.task_id, question.sample)
            self.asked.append(key)
            said = self.script(question, self.asked.count(key))
            if isinstance(said, Exception):
                raise said
            yield number, said


def right(question: Question, _: int = 1) -> Reply:
    return Reply(f"<cif>\n{question.task.target}</cif>", False, 10, 20, 1.23456)


def run(policy: Scripted, suite: Suite, folder: Path, **arguments: Any) -> list[dict[str, Any]]:
    return evaluate(policy, suite, folder, template=default_template(), profile="strict", **arguments)


@pytest.fixture
def few(small_suite: Suite) -> Suite:
    return small_suite.restricted(["remove", "change"], 3)


def test_a_failure_is_asked_once_more_and_then_left_out(few: Suite, tmp_path: Path) -> None:
    bad, shaky = few.tasks[0].task_id, few.tasks[1].task_id

    def script(question: Question, times: int) -> Reply | Failure:
        if question.task.task_id == bad or (question.task.task_id == shaky and times == 1):
            return Failure(FailureKind.NETWORK, "connection refused", 0.5)
        return right(question)

    policy = Scripted(script)
    records = run(policy, few, tmp_path)
    assert [record["task_id"] for record in records] == [task.task_id for task in few.tasks[1:]]
    assert all(record["success"] for record in records)
    assert policy.asked.count((bad, 0)) == 2
    lines = stored_failures(tmp_path)
    assert [line["task_id"] for line in lines] == [shaky, bad, bad]  # asked in reverse order
    assert lines[0] | {"time": ""} == {
        "index": 1, "sample": 0, "task_id": shaky, "kind": "network", "message": "connection refused", "seconds": 0.5,
        "time": "",
    }  # fmt: skip
    assert failures_left(tmp_path, {place(record) for record in records}) == {"network": 1}
    assert not (tmp_path / UNVERIFIED).exists()

    policy = Scripted(right)
    records = run(policy, few, tmp_path, resume=True)
    assert policy.asked == [(bad, 0)]
    assert len(records) == len(few.tasks)
    assert failures_left(tmp_path, {place(record) for record in records}) == {}


def test_what_is_known_of_a_reply_stands_in_its_line(few: Suite, tmp_path: Path) -> None:
    record = run(Scripted(right), few, tmp_path)[0]
    assert [record[key] for key in ("sample", "truncated", "prompt_tokens", "completion_tokens", "latency")] == [
        0, False, 10, 20, 1.235,
    ]  # fmt: skip
    assert (record["extraction"], record["floor_paper"]) == ("tags", None)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["config"]["settings"] == {"temperature": 0.7, "stop": ["x"]}
    assert manifest["prompt"]["text"] == default_template().text
    run(Scripted(right), few, tmp_path, resume=True)  # the settings compare equal after a turn through JSON


def test_several_answers_to_a_task(few: Suite, tmp_path: Path) -> None:
    def script(question: Question, _: int) -> Reply:
        return right(question) if question.sample == 2 else Reply("no idea")

    policy = Scripted(script)
    records = run(policy, few, tmp_path, samples=3)
    assert [(record["index"], record["sample"]) for record in records] == [
        (index, sample) for index in range(len(few.tasks)) for sample in range(3)
    ]
    assert [record["success"] for record in records] == [False, False, True] * len(few.tasks)
    assert records == stored_results(tmp_path)


def test_the_floor_is_what_the_unchanged_input_gets(small_suite: Suite, tmp_path: Path) -> None:
    moves = small_suite.restricted(["move_towards"], 4)
    arguments = {"template": default_template(), "profile": "both"}
    records = evaluate(Scripted(right), moves, tmp_path / "right", samples=2, **arguments)
    copies = Scripted(lambda question, _: Reply(f"<cif>{question.task.structure}</cif>"))
    unchanged = evaluate(copies, moves, tmp_path / "copies", **arguments)
    floor = [record["success_paper"] for record in unchanged]
    assert any(floor)
    assert [record["floor_paper"] for record in records] == [passes for passes in floor for _ in range(2)]
    assert all(record["length_scale"] > 1 for record in records)


def test_a_reply_that_came_before_the_kill_is_not_asked_for_again(few: Suite, tmp_path: Path) -> None:
    def script(question: Question, _: int) -> Reply | Exception:
        return KeyboardInterrupt() if question.task is few.tasks[0] else right(question)  # type: ignore[return-value]

    policy = Scripted(script)
    policy.replies = lambda questions: interrupted(policy, questions)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(policy, few, tmp_path)
    kept = (tmp_path / UNVERIFIED).read_text().splitlines()
    assert len(kept) == len(few.tasks) - 1
    with (tmp_path / UNVERIFIED).open("a") as file:
        file.write('{"index": 0, "sam')  # the line that was being written
    (tmp_path / RESULTS).write_text("")  # killed before any verdict was there
    again = Scripted(right)
    records = run(again, few, tmp_path, resume=True)
    assert again.asked == [(few.tasks[0].task_id, 0)]
    assert all(record["success"] and record["latency"] == 1.235 for record in records)
    assert not (tmp_path / UNVERIFIED).exists()


def interrupted(policy: Scripted, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
    for number in reversed(range(len(questions))):
        if number == 0:
            raise KeyboardInterrupt
        yield number, right(questions[number])


def test_the_tasks_of_a_run_are_kept_with_it(few: Suite, tmp_path: Path) -> None:
    run(Scripted(right), few, tmp_path)
    assert stored_tasks(tmp_path, few.name).fingerprint == few.fingerprint
    assert (tmp_path / FAILURES).read_text() == ""
