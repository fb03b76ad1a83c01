"""The tasks that a run asked, each with all its attempts: answered or not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomworld_env.evaluation.records import Record
    from atomworld_env.tasks.task import Task

SUCCESS = {"strict": "success", "paper": "success_paper"}
"""Key of the outcome in a record, by profile."""


@dataclass(frozen=True)
class AskedTask:
    """One task of a run.

    Attributes:
        action, structure_id, n_sites, orthogonal, level: of the task; None for a task without any answer in a run
            whose suite is not at hand.
        asked: attempts that were asked for.
        records: of the attempts that were answered.
        with_paper: whether the paper profile was asked for it.
        floor: whether the unchanged input passes the paper profile; None where that is not known.
    """

    action: str | None
    structure_id: str
    n_sites: int | None
    orthogonal: bool | None
    level: int | None
    asked: int
    records: tuple[Record, ...]
    with_paper: bool
    floor: bool | None

    @property
    def unanswered(self) -> int:
        """Attempts without an answer; they count as not right."""
        return self.asked - len(self.records)

    def right(self, profile: str) -> int:
        """Attempts that are right under ``strict`` or ``paper``."""
        return sum(bool(record[SUCCESS[profile]]) for record in self.records)


def asked_tasks(
    records: Sequence[Record], config: Mapping[str, Any], tasks: Sequence[Task] | None = None
) -> list[AskedTask]:
    """Every task of a run in order, with its records; what was asked and never answered is among them.

    Args:
        records: the lines of ``results.jsonl``.
        config: of the manifest; `tasks`, `samples`, `profile` and `paper_per_action` are read. Without `tasks` only
            what has a record is counted, without `samples` the most records that a task has.
        tasks: the tasks of the suite that the run was over, in its order, where it is at hand. Without them, tasks
            that have no record are still counted, but nobody knows of which edit they were.
    """
    answered: dict[int, list[Record]] = defaultdict(list)
    for number, record in enumerate(records):
        answered[record.get("index", number)].append(record)
    samples = max(int(config.get("samples") or 1), max(map(len, answered.values()), default=1))
    asked = len(tasks) if tasks is not None else config.get("tasks")
    indices = sorted(answered if asked is None else {*answered, *range(int(asked))})
    limit = config.get("paper_per_action")
    wanted = config.get("profile", "both") != "strict"
    seen: Counter[str] = Counter()
    rows = []
    for index in indices:
        task = tasks[index] if tasks is not None and index < len(tasks) else None
        row = _asked(index, answered.get(index, []), task, samples, wanted, limit, seen)
        rows.append(row)
        if row.action is not None:
            seen[row.action] += 1
    return rows


def tasks_where_needed(folder: Path, config: Mapping[str, Any], records: Sequence[Record]) -> tuple[Task, ...] | None:
    """The tasks of a stored run if some of its attempts were never answered; reading them takes a second or two.

    None where every attempt has a record, or where the run did not keep its tasks.
    """
    from atomworld_env.evaluation.records import TASKS, stored_tasks

    complete = len(records) >= int(config.get("tasks") or 0) * int(config.get("samples") or 1)
    if complete or not (folder / TASKS).is_file():
        return None
    return stored_tasks(folder, str(config.get("suite", ""))).tasks


def _asked(
    index: int,
    records: Sequence[Record],
    task: Task | None,
    samples: int,
    wanted: bool,
    limit: int | None,
    seen: Mapping[str, int],
) -> AskedTask:
    with_paper = any(record.get("success_paper") is not None for record in records)
    floors = [record["floor_paper"] for record in records if record.get("floor_paper") is not None]
    floor = floors[0] if floors else None
    if task is not None and floor is None and task.baseline.composition_difference:
        floor = False  # another composition never passes
    if task is not None:
        if not records:
            with_paper = wanted and (limit is None or seen[task.action] < limit)
        level, orthogonal = int(task.difficulty["level"]), task.orthogonal
        known = (task.action, task.structure_id, task.n_sites, orthogonal, level)
        return AskedTask(*known, samples, tuple(records), with_paper, floor)
    if records:
        first = records[0]
        cell = (first.get("n_sites"), first.get("orthogonal"), first.get("level"))
        values = (first["action"], first.get("structure_id", f"task {index}"), *cell)
        return AskedTask(*values, samples, tuple(records), with_paper, floor)
    # Of unknown edit: a structure of its own, and under `paper` only where all tasks were asked for it.
    return AskedTask(None, f"task {index}", None, None, None, samples, (), wanted and limit is None, None)
