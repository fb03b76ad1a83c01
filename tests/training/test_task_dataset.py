"""Tasks as data sets: columns, nulls, files, prompts that are too long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomworld_env.families.edits import CrystalEdits
from atomworld_env.tasks.task import Task

pytest.importorskip("datasets")

from rewards.trl import AtomWorldReward
from training.oracle_answers import oracle_answer
from training.task_dataset import (
    Overflow,
    grpo_row,
    grpo_rows,
    prompt_length,
    read_rows,
    sft_rows,
    to_dataset,
    without_overflow,
    write_rows,
)


class Words:
    """A tokenizer whose tokens are words."""

    chat_template = "there is one"

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [0 for message in messages for _ in message["content"].split()]}


def test_the_columns_of_grpo(compact_tasks: list[Task]) -> None:
    family = CrystalEdits()
    row = grpo_row(compact_tasks[0], family)
    assert set(row) == {
        "prompt", "task_id", "action", "difficulty", "level", "n_sites", "structure_id", "family", "split",
        "target", "structure", "baseline",
    }  # fmt: skip
    assert row["prompt"] == family.messages(compact_tasks[0])
    assert row["family"] in row["structure_id"]


def test_the_reward_reads_what_a_dataset_gives_back(compact_tasks: list[Task]) -> None:
    # Of edits that change the composition first: their baseline has nulls where the later ones have numbers.
    tasks = sorted(compact_tasks[::3], key=lambda task: task.baseline.sum_displacement is not None)
    dataset = to_dataset(grpo_rows(tasks, CrystalEdits()))
    columns = {name: list(dataset[name]) for name in ("target", "structure", "baseline", "task_id")}
    reward = AtomWorldReward(workers=1)
    try:
        right = reward(completions=[oracle_answer(task) for task in tasks], **columns)
        copied = reward(completions=[f"<cif>\n{task.structure}</cif>" for task in tasks], **columns)
    finally:
        reward.close()
    assert right == [1.0] * len(tasks)
    assert copied == pytest.approx([0.05] * len(tasks))


def test_supervised_rows_answer_with_the_truth(compact_tasks: list[Task]) -> None:
    dataset = to_dataset(sft_rows(compact_tasks[:3], CrystalEdits()))
    assert dataset[0]["completion"] == [{"role": "assistant", "content": oracle_answer(compact_tasks[0])}]
    assert "target" not in dataset.column_names


def test_a_file_gives_the_same_rows(tmp_path: Path, compact_tasks: list[Task]) -> None:
    from datasets import load_dataset

    rows = list(grpo_rows(compact_tasks, CrystalEdits()))
    path = tmp_path / "rows.jsonl"
    assert write_rows(rows, path) == len(rows)
    assert read_rows(path).to_list() == rows
    loaded = load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.to_list() == rows
    path.write_text(json.dumps(rows[0]) + "\n{broken\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rows\.jsonl, line 2"):
        read_rows(path)


def test_prompts_that_are_too_long_are_left_out_and_counted(compact_tasks: list[Task]) -> None:
    rows = list(grpo_rows(compact_tasks, CrystalEdits()))
    lengths = sorted(prompt_length(Words())(row["prompt"]) for row in rows)
    counts = Overflow()
    kept = list(without_overflow(rows, Words(), lengths[len(lengths) // 2], counts))
    assert 0 < len(kept) < len(rows)
    assert all(prompt_length(Words())(row["prompt"]) <= lengths[len(lengths) // 2] for row in kept)
    assert counts.kept.total() == len(kept)
    assert counts.dropped.total() == len(rows) - len(kept)
    assert f"{len(rows) - len(kept)} of {len(rows)} prompts too long" in str(counts)


def test_no_task_left_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no task is left"):
        to_dataset([])
