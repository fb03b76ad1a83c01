"""Token lengths by edit and style."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.task import Task

pytest.importorskip("torch")
pytest.importorskip("transformers")

from training.lengths import app, load_tokenizer, measure
from training.oracle_answers import oracle_answer


def test_lengths_are_those_of_the_texts(compact_tasks: list[Task]) -> None:
    tokenizer = load_tokenizer("small")
    tasks = [task for task in compact_tasks if task.action == "move"]
    found, everything = measure(tasks, tokenizer, load_template("short"), "compact")
    answers = sorted(len(tokenizer(oracle_answer(task))["input_ids"]) + 1 for task in tasks)
    assert (found.action, found.tasks, everything.action) == ("move", len(tasks), "all")
    assert found.answer == (answers[len(answers) // 2], answers[-1], answers[-1])
    assert found.prompt[0] <= found.prompt[1] <= found.prompt[2]


def test_the_command_prints_a_table_and_json() -> None:
    arguments = ["--tokenizer", "small", "--actions", "remove", "--max-sites", "12", "--per-action", "2"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert "remove" in shown.output
    assert "compact" in shown.output
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    full, compact = (next(row for row in told["rows"] if row["style"] == style) for style in ("full", "compact"))
    assert full["answer"][0] > 1.5 * compact["answer"][0]


def test_a_tokenizer_that_is_not_there_is_named(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="cannot load the tokenizer"):
        load_tokenizer(f"{tmp_path}/nothing")
