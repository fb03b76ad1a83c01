"""Our suites in the record layout of the published benchmark, for its own tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atomworld_env.tasks.published_wording import PUBLISHED_NAMES
from atomworld_env.tasks.task import Task


def export_record(task: Task) -> dict[str, Any]:
    """One task as a record: `action_type`, `problem_id`, `mp_id`, `action_prompt`, `input`, `output`, and `params`.

    The benchmark's tools read the prompt, the input and the output; `params` is ours and left alone by them.
    """
    return {
        "action_type": PUBLISHED_NAMES[task.action],
        "problem_id": task.task_id,
        "mp_id": task.structure_id,
        "action_prompt": task.prompt,
        "input": task.structure,
        "output": task.target,
        "params": task.params,
    }


def export_tasks(tasks: Sequence[Task], out: Path) -> list[Path]:
    """Write the tasks as one JSON file, or, where `out` does not end in ``.json``, as a folder with one for each edit.

    Returns:
        The files written.
    """
    if out.suffix == ".json":
        return [_write(tasks, out)]
    out.mkdir(parents=True, exist_ok=True)
    actions = dict.fromkeys(task.action for task in tasks)
    return [
        _write([task for task in tasks if task.action == action], out / f"{PUBLISHED_NAMES[action]}.json")
        for action in actions
    ]


def _write(tasks: Sequence[Task], path: Path) -> Path:
    partial = path.with_name(path.name + ".partial")
    text = json.dumps([export_record(task) for task in tasks], indent=2, ensure_ascii=False)
    partial.write_text(text + "\n", encoding="utf-8")
    return partial.replace(path)
