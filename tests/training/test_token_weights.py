"""What counts in the loss: atoms everywhere, and of worked-out coordinates the decimals that can be learnt."""

from __future__ import annotations

from typing import Any

import pytest

from atomworld_env.tasks.task import Task

pytest.importorskip("torch")
pytest.importorskip("transformers")

from training.oracle_answers import oracle_answer
from training.small_policy.token_weights import TokenWeights, Weigher
from training.small_policy.tokenizer import ASSISTANT, END, build_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(max_length=2048)


def weights_by_row(task: Task, tokenizer: Any) -> dict[str, list[float]]:
    """Weights of the tokens of each row of the answer."""
    answer = tokenizer(oracle_answer(task) + END)["input_ids"]
    prompt = tokenizer(task.structure.rstrip("\n") + END + ASSISTANT)["input_ids"]
    weighed = Weigher(tokenizer, TokenWeights(atom=4.0, coarse=2.0, fine=0.5)).weigh(prompt, answer)
    assert len(weighed) == len(answer)
    rows: dict[str, list[float]] = {}
    line: list[int] = []
    for place, token in enumerate(answer):
        if tokenizer.decode([token]).startswith("\n"):
            rows[tokenizer.decode(line)] = [weighed[k] for k in range(place - len(line), place)]
            line = []
        else:
            line.append(token)
    return rows


COPIED = [4.0] * 3 + [1.0] * 15
MADE = [4.0] * 3 + [2.0, 2.0, 2.0, 0.5, 0.5] * 3


@pytest.mark.parametrize("action", ["move", "add", "change", "remove"])
def test_rows_are_weighed_by_what_the_edit_did(action: str, compact_tasks: list[Task], tokenizer: Any) -> None:
    task = next(task for task in compact_tasks if task.action == action and task.n_sites < 10)
    rows = weights_by_row(task, tokenizer)
    known = set(task.structure.splitlines())
    sites = [row for row in oracle_answer(task).splitlines() if row.count(" ") == 4]
    assert {row: rows[row] for row in sites} == {row: COPIED if row in known else MADE for row in sites}
    assert sum(row not in known for row in sites) == (action != "remove")


def test_all_else_counts_once(compact_tasks: list[Task], tokenizer: Any) -> None:
    rows = weights_by_row(compact_tasks[0], tokenizer)
    assert {weight for row, weights in rows.items() if row.count(" ") != 4 for weight in weights} == {1.0}
