"""Task i of a seed is the same everywhere, and splits do not meet."""

from __future__ import annotations

from itertools import islice

import pytest

from atomworld_env.tasks.sampler_config import SamplerConfig

pytest.importorskip("datasets")

from training.leakage import refuse_leakage
from training.task_dataset import grpo_rows
from training.task_drawing import BLOCK, Drawing, different_tasks, draw_task, draw_tasks, stream

ACTIONS = ("change", "remove")


def config(split: str) -> SamplerConfig:
    return SamplerConfig(split=split, actions=ACTIONS, min_sites=2, max_sites=6, cif_style="compact")


def test_a_number_gives_one_task() -> None:
    tasks = draw_tasks(config("train"), 5, 6)
    assert draw_task(config("train"), 5, 4) == tasks[4]
    assert draw_tasks(config("train"), 5, 2, first=4) == tasks[4:]


def test_neighbouring_seeds_share_no_numbers() -> None:
    first = {task.task_id for task in draw_tasks(config("train"), 1, 40)}
    second = [task.task_id for task in draw_tasks(config("train"), 2, 40)]
    # Small cells admit few removals, so some tasks are drawn by both; a shifted copy would share 39 of 40.
    assert sum(name in first for name in second) < 10


def test_train_and_test_do_not_meet() -> None:
    family = Drawing(config("train")).family
    train, test = (list(grpo_rows(draw_tasks(config(split), 0, 60), family)) for split in ("train", "test"))
    refuse_leakage(train, test)


def test_different_tasks_are_different() -> None:
    names = [task.task_id for task in different_tasks(config("train"), 0, 60)]
    assert len(names) == len(set(names)) == 60


def test_a_stream_gives_the_numbered_rows_and_goes_on_where_it_stopped() -> None:
    drawing = Drawing(config("train"), seed=3, prompt="short")
    expected = list(drawing.rows(10, 16))
    read = stream(drawing, first=10, blocks=2)
    assert list(islice(iter(read), 6)) == expected
    iterator = iter(read)
    next(iterator)
    state = read.state_dict()
    resumed = stream(drawing, first=10, blocks=2)
    resumed.load_state_dict(state)
    assert next(iter(resumed)) == expected[1]


def test_ranks_share_a_stream_without_overlap() -> None:
    from datasets.distributed import split_dataset_by_node

    drawing = Drawing(config("train"), seed=3, prompt="short")
    ranks = [
        list(islice(iter(split_dataset_by_node(stream(drawing, blocks=2), rank=rank, world_size=2)), 2))
        for rank in range(2)
    ]
    assert ranks == [list(drawing.rows(start, start + 2)) for start in (0, BLOCK)]
