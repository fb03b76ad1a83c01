"""The lines of a run on disk: one JSON object for each answer, and what is kept beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.stepping import OUTCOME_KEYS
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import read_parquet, write_parquet

RESULTS = "results.jsonl"
TASKS = "tasks.parquet"

Record = dict[str, Any]
"""One line of a run: task, answer, reward, verdicts."""

TASK_KEYS = ("index", "sample", "task_id", "action", "structure_id", "n_sites", "orthogonal", "level", "prompt_hash")
REPLY_KEYS = ("answer", "truncated", "prompt_tokens", "completion_tokens", "latency")
RECORD_KEYS = (*TASK_KEYS, *REPLY_KEYS, *OUTCOME_KEYS)
"""The keys of every line, in order: the question, what the policy said, what became of it."""


def place(record: Record) -> tuple[int, int]:
    """Which task, and which of its answers: what is different in each line of a run."""
    return record["index"], record["sample"]


def append_line(file: Any, line: dict[str, Any]) -> None:
    """Write one line and hand it to the operating system, so that it outlives this process."""
    file.write(json.dumps(line, ensure_ascii=True) + "\n")
    file.flush()


def drop_cut_line(path: Path) -> None:
    """Cut a file back to its last whole line, as it may end in the middle of one after a kill."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)


def read_lines(path: Path, needed: Sequence[str]) -> Iterator[Record]:
    """The lines of a file of JSON objects that all have some keys.

    Raises:
        UsageError: naming file and line, if one is broken.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                missing = [key for key in needed if key not in record]
            except (ValueError, TypeError, RecursionError) as error:
                raise UsageError(f"{path}, line {number}: not JSON ({error}); delete the line and --resume") from None
            if missing:
                raise UsageError(f"{path}, line {number}: lacks {missing[0]}; delete the line and --resume")
            yield record


def read_results(path: Path) -> Iterator[Record]:
    """The lines of a run, in the order in which they were written.

    Raises:
        UsageError: naming file and line, if one is broken.
    """
    return read_lines(path, RECORD_KEYS)


def stored_results(folder: Path) -> list[Record]:
    """All lines of a stored run, in the order of the tasks.

    Raises:
        UsageError: if the folder holds no run.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise UsageError(f"{folder} holds no run (no {RESULTS}); make one with `atomworld evaluate`")
    return sorted(read_results(path), key=place)


def keep_tasks(folder: Path, suite: Suite) -> None:
    """Write the tasks of a run beside its lines: a run can be verified again and looked at without anything else."""
    path = folder / TASKS
    if not path.exists():
        partial = path.with_suffix(".partial")
        write_parquet(suite.tasks, partial)
        partial.replace(path)


def stored_tasks(folder: Path, name: str) -> Suite:
    """The tasks of a stored run.

    Args:
        name: of the suite, from the manifest.

    Raises:
        UsageError: if they are not there or cannot be read.
    """
    path = folder / TASKS
    if not path.is_file():
        raise UsageError(f"{folder} has no {TASKS}; it was made by an older version, evaluate anew")
    return Suite(name, tuple(read_parquet(path)))
