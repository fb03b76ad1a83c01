"""Tasks as rows for TRL: in memory as a `datasets.Dataset`, or as JSON Lines on disk.

    >>> rows = grpo_rows(suite.tasks, CrystalEdits())                     # doctest: +SKIP
    >>> GRPOTrainer(..., train_dataset=to_dataset(rows))                  # doctest: +SKIP

Every row has the columns ``prompt`` (chat messages), ``task_id``, ``action``, ``difficulty`` (score, 0 … 1), ``level``
(1 … 5), ``n_sites``, ``structure_id``, ``family`` and ``split``. Rows for GRPO add what the reward reads: ``target``,
``structure`` and ``baseline``. Rows for SFT add ``completion``, the right answer as a message.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.families.registry import family_of
from atomworld_env.structures.cif import CifStyle
from atomworld_env.structures.pool import StructurePool, load_pool
from atomworld_env.tasks.task import Task, dump_line
from training.oracle_answers import oracle_answer

Row = dict[str, Any]


def grpo_row(task: Task, family: Family, pool: StructurePool | None = None) -> Row:
    """The columns of GRPO with `rewards.trl.AtomWorldReward`.

    ``baseline`` is JSON text: `datasets` gives a column of dicts one type, and a distance that is null in all rows of a
    first batch would get the type null and refuse the numbers that come later. Tasks of other families than the edits
    have one column more, ``task``: the whole record as JSON text, with which the answer is stepped through their
    environment.
    """
    row = {
        **_description(task, family, pool),
        "target": task.target,
        "structure": task.structure,
        "baseline": json.dumps(task.baseline.to_json()),
    }
    return row if family.name == "edits" else {**row, "task": dump_line(task)}


def sft_row(task: Task, family: Family, pool: StructurePool | None = None, *, style: CifStyle = "compact") -> Row:
    """The columns of SFT: prompt and completion, both as messages.

    Args:
        style: of the CIF in the answer.
    """
    answer = oracle_answer(task, style=style)
    return {**_description(task, family, pool), "completion": [{"role": "assistant", "content": answer}]}


def _description(task: Task, family: Family, pool: StructurePool | None) -> Row:
    return {
        "prompt": family.messages(task),
        "task_id": task.task_id,
        "action": task.action,
        "difficulty": float(task.difficulty["score"]),
        "level": int(task.difficulty["level"]),
        "n_sites": task.n_sites,
        "structure_id": task.structure_id,
        "family": structure_family(task, pool),
        "split": task.split,
    }


def structure_family(task: Task, pool: StructurePool | None = None) -> str:
    """Family of the structure a task was made from; a structure the pool does not have is a family of its own."""
    if family_of(task.action).crystal_in is None:
        return task.structure_id
    try:
        return (load_pool("aflow") if pool is None else pool).entry(task.structure_id).family
    except UsageError:
        return task.structure_id


def grpo_rows(tasks: Iterable[Task], family: Family, pool: StructurePool | None = None) -> Iterator[Row]:
    """A row of :func:`grpo_row` for each task, in order."""
    return (grpo_row(task, family, pool) for task in tasks)


def sft_rows(
    tasks: Iterable[Task], family: Family, pool: StructurePool | None = None, *, style: CifStyle = "compact"
) -> Iterator[Row]:
    """A row of :func:`sft_row` for each task, in order."""
    return (sft_row(task, family, pool, style=style) for task in tasks)


@dataclass
class Overflow:
    """Counts rows whose prompt is too long, by edit.

    Attributes:
        kept, dropped: rows of each edit.
    """

    kept: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        total = self.kept.total() + self.dropped.total()
        by_action = ", ".join(f"{action} {count}" for action, count in self.dropped.most_common())
        return f"{self.dropped.total()} of {total} prompts too long" + (f": {by_action}" if by_action else "")


def without_overflow(rows: Iterable[Row], tokenizer: Any, most_tokens: int, counts: Overflow) -> Iterator[Row]:
    """The rows whose prompt has at most so many tokens, chat markup and the start of the answer included.

    GRPO has no limit of its own for prompts: one that leaves no room for the answer earns 0 for ever.
    """
    length = prompt_length(tokenizer)
    for row in rows:
        fits = length(row["prompt"]) <= most_tokens
        (counts.kept if fits else counts.dropped)[row["action"]] += 1
        if fits:
            yield row


def prompt_length(tokenizer: Any) -> Callable[[Sequence[dict[str, str]]], int]:
    """Number of tokens of chat messages as a trainer shows them to a model; plain text where there is no template."""

    def length(messages: Sequence[dict[str, str]]) -> int:
        if getattr(tokenizer, "chat_template", None) is None:
            return len(tokenizer("\n".join(message["content"] for message in messages))["input_ids"])
        chat = tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, return_dict=True)
        return len(chat["input_ids"])

    return length


def to_dataset(rows: Iterable[Row]) -> Dataset:
    """The rows in memory.

    Raises:
        UsageError: if there is none.
    """
    listed = list(rows)
    if not listed:
        raise UsageError("no task is left for the data set; allow longer prompts or choose smaller structures")
    return Dataset.from_list(listed)


def write_rows(rows: Iterable[Row], path: Path) -> int:
    """Write rows as JSON Lines, the file replaced in one go; returns how many there are."""
    partial = path.with_name(f"{path.name}.partial")
    written = 0
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    partial.replace(path)
    return written


def read_rows(path: Path) -> Dataset:
    """The data set of a file written by :func:`write_rows`.

    Raises:
        UsageError: naming file and line, if a line is no row.
    """
    rows = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                if not isinstance(row, dict) or not {"prompt", "task_id"} <= set(row):
                    raise ValueError("it lacks prompt or task_id")
                rows.append(row)
            except (ValueError, RecursionError) as error:
                raise UsageError(
                    f"{path}, line {number}: no row of a data set ({error}); write the file anew"
                ) from None
    return to_dataset(rows)
