"""Tasks as a map-style data set whose row i is the same in every run, made when the trainer asks for it.

TRL's ``RepeatSampler`` without shuffling hands out rows 0, 1, 2, … and repeats each for its group. Order and epochs are
decided here instead of there: its shuffling begins anew when a run is resumed, and would hand out tasks twice. Every
rank makes the same rows, and only those it needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from datasets import Dataset

from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.prompts.prompt import Message
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.task import Task
from training.curriculum import Curriculum
from training.task_dataset import Row, grpo_row

TASK_STREAM, ORDER_STREAM = 29, 31
"""Keep these draws apart from others with the same seed."""

ATTEMPTS = 50
"""Draws of one row before the run ends: prompts that are too long, or edits that some structures do not admit."""


Fits = Callable[[list[Message]], bool]
"""Whether a prompt leaves room for the answer."""


class Rows(ABC):
    """Rows by index: the columns of :func:`~training.task_dataset.grpo_row`, ``seed``, ``index`` and ``cell_level``.

    Args:
        family: states the tasks.
        pool: of their structures; None for the embedded one.
        kept: rows remembered; a group asks for its row many times, later nobody does.
    """

    def __init__(self, family: Family, pool: StructurePool | None, kept: int) -> None:
        self._family, self._pool, self._kept = family, pool, kept
        self._rows: OrderedDict[int, Row] = OrderedDict()

    @abstractmethod
    def task(self, index: int) -> tuple[Task, int]:
        """The task of a row and the curriculum's level it was drawn at."""

    def row(self, index: int) -> Row:
        if index not in self._rows:
            task, level = self.task(index)
            described = grpo_row(task, self._family, self._pool)
            self._rows[index] = {**described, "seed": task.seed, "index": index, "cell_level": level}
            while len(self._rows) > self._kept:
                self._rows.popitem(last=False)
        return self._rows[index]

    def __call__(self, batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        """Rows for the indices of a batch, as ``Dataset.with_transform`` asks for them."""
        rows = [self.row(index) for index in batch["index"]]
        return {column: [row[column] for row in rows] for column in rows[0]}

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # `datasets` hashes a transform by pickling it; pool, tasks and plans are not worth that.
        return str, (f"{type(self).__name__} {id(self)}",)

    def dataset(self, length: int) -> Dataset:
        """A data set of that many rows, none of which is made yet."""
        return Dataset.from_dict({"index": list(range(length))}).with_transform(self)


class GivenTasks(Rows):
    """The tasks of a suite, epoch after epoch, each in an order of its own."""

    def __init__(
        self, tasks: Sequence[Task], family: Family, pool: StructurePool | None, *, kept: int, seed: int
    ) -> None:
        super().__init__(family, pool, kept)
        self._tasks, self._seed = tuple(tasks), seed

    def task(self, index: int) -> tuple[Task, int]:
        epoch, place = divmod(index, len(self._tasks))
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, ORDER_STREAM, epoch]))
        return self._tasks[int(rng.permutation(len(self._tasks))[place])], 0


class SampledTasks(Rows):
    """Tasks drawn from ``SeedSequence([seed, stream, index, attempt])``, in the cell that the curriculum planned.

    Row i belongs to generation batch ``i // tasks``.

    Args:
        samplers: of each level that the curriculum may draw.
        curriculum: plans the cells.
        tasks: rows of one generation batch.
        family: states the tasks.
        pool: of their structures.
        fits: rows whose prompt does not fit are drawn anew, and counted in :attr:`overflows` by edit.
    """

    def __init__(
        self,
        samplers: Mapping[int, TaskSampler],
        curriculum: Curriculum,
        family: Family,
        pool: StructurePool,
        *,
        tasks: int,
        fits: Fits,
        seed: int,
    ) -> None:
        super().__init__(family, pool, kept=4 * tasks)
        self.overflows: Counter[str] = Counter()
        self._samplers, self._curriculum, self._tasks = samplers, curriculum, tasks
        self._fits, self._seed = fits, seed

    def task(self, index: int) -> tuple[Task, int]:
        generation, place = divmod(index, self._tasks)
        cell = self._curriculum.plan(generation)[place]
        for attempt in range(ATTEMPTS):
            words = np.random.SeedSequence([self._seed, TASK_STREAM, index, attempt]).generate_state(1, np.uint64)
            try:
                task = self._samplers[cell.level].sample(int(words[0] >> np.uint64(11)), cell.action)
            except UsageError:
                continue
            if self._fits(self._family.messages(task)):
                return task, cell.level
            self.overflows[cell.action] += 1
        raise UsageError(
            f"no task of {cell.action} at level {cell.level} fits in {ATTEMPTS} draws: prompts are too long for the "
            "model's context beside max_completion_length; take smaller structures or the compact CIF style"
        )
