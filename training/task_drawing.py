"""Task number i of a seed: the same in every process, on every rank and after every restart; and streams of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from datasets import IterableDataset

from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from training.task_dataset import Row, grpo_row, sft_row

DRAWING_STREAM = 41
"""Keeps these draws apart from others with the same seed."""


@dataclass(frozen=True)
class Drawing:
    """What tasks are drawn from, and how they become rows.

    Attributes:
        config: of the sampler; its split is part of every draw.
        seed: root of all draws.
        prompt: name or path of the prompt template.
        for_sft: rows with the right answer in place of what the reward reads.
    """

    config: SamplerConfig
    seed: int = 0
    prompt: str = "default"
    for_sft: bool = False

    @property
    def family(self) -> CrystalEdits:
        """The family that states the tasks."""
        return CrystalEdits(self.config, template=load_template(self.prompt))

    def row(self, number: int) -> Row:
        """Row `number`."""
        task, sampler = draw_task(self.config, self.seed, number), _sampler(_Key(self.config))
        return (sft_row if self.for_sft else grpo_row)(task, self.family, sampler.pool)

    def rows(self, first: int, last: int) -> Iterator[Row]:
        """Rows `first` … `last - 1`."""
        return (self.row(number) for number in range(first, last))


def draw_task(config: SamplerConfig, seed: int, number: int) -> Task:
    """Task `number` of a seed.

    Drawn from ``SeedSequence([seed, stream, split, number])``. A seed plus a number would not do: train with seed 1 and
    test with seed 2 would share all tasks but one.
    """
    split = 0 if config.split is None else 1 + SPLITS.index(config.split)
    words = np.random.SeedSequence([seed, DRAWING_STREAM, split, number]).generate_state(1, np.uint64)
    return _sampler(_Key(config)).sample(int(words[0] >> np.uint64(11)))


def draw_tasks(config: SamplerConfig, seed: int, count: int, *, first: int = 0) -> list[Task]:
    """Tasks `first` … `first + count - 1` of a seed, the edits mixed evenly."""
    return [draw_task(config, seed, number) for number in range(first, first + count)]


def different_tasks(config: SamplerConfig, seed: int, count: int) -> list[Task]:
    """The first `count` tasks of a seed that are all different; small cells admit some edits in one way only."""
    found: dict[str, Task] = {}
    for number in range(20 * count):
        if len(found) == count:
            break
        task = draw_task(config, seed, number)
        found.setdefault(task.task_id, task)
    return list(found.values())


BLOCK = 256
"""Rows of one shard of a stream."""


def stream(drawing: Drawing, *, first: int = 0, blocks: int = 4096) -> IterableDataset:
    """A data set of 256 rows a block, in order, each drawn when it is read.

    Ranks and loader processes share the blocks among themselves, so no row is read twice. A resumed reader
    (`IterableDataset.load_state_dict`) passes whole blocks without drawing them.
    """
    return IterableDataset.from_generator(
        _block_rows, gen_kwargs={"block": list(range(blocks)), "drawing": drawing, "first": first}
    )


def _block_rows(block: list[int], drawing: Drawing, first: int) -> Iterator[Row]:
    for number in block:
        yield from drawing.rows(first + number * BLOCK, first + (number + 1) * BLOCK)


class _Key:
    """A configuration as a key: it holds a dict of edits, so it cannot be hashed itself."""

    def __init__(self, config: SamplerConfig) -> None:
        self.config = config
        self._text = repr(config)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text


@lru_cache(maxsize=16)
def _sampler(key: _Key) -> TaskSampler:
    return TaskSampler(key.config)
