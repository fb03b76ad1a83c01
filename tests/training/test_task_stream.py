"""Rows by index: the same in every run, in the cell that was planned, never too long."""

from __future__ import annotations

import pytest

pytest.importorskip("datasets")

from atomworld_env.errors import UsageError
from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.pool import load_pool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from rewards.trl import AtomWorldReward
from training.curriculum import Cell, Curriculum
from training.levels import level_configs
from training.oracle_answers import oracle_answer
from training.task_stream import Fits, GivenTasks, SampledTasks

FAMILY = CrystalEdits(template=load_template("short"))


def sampled(fits: Fits = lambda messages: True, seed: int = 4) -> SampledTasks:
    config = SamplerConfig(min_sites=2, max_sites=6, actions=("change", "remove"), cif_style="compact")
    pool = load_pool("aflow")
    samplers = {level: TaskSampler(each, pool=pool) for level, each in enumerate(level_configs(config, 2))}
    curriculum = Curriculum({"change": [0, 1], "remove": [0, 1]}, tasks=8, lag=2, seed=seed, adaptive=False)
    return SampledTasks(samplers, curriculum, FAMILY, pool, tasks=8, fits=fits, seed=seed)


def test_a_row_is_the_same_whatever_was_asked_before() -> None:
    forwards, backwards = sampled(), sampled()
    rows = [forwards.row(k) for k in range(16)]
    assert [backwards.row(k) for k in reversed(range(16))] == rows[::-1]
    assert len({row["task_id"] for row in rows}) > 8
    assert [row["index"] for row in rows] == list(range(16))


def test_another_seed_gives_other_tasks() -> None:
    first, second = ({stream.row(k)["task_id"] for k in range(16)} for stream in (sampled(), sampled(seed=5)))
    assert len(first & second) < 4


def test_rows_are_of_the_planned_cell() -> None:
    stream = sampled()
    plan = stream._curriculum.plan(0)
    for index in range(8):
        row = stream.row(index)
        assert Cell(row["action"], row["cell_level"]) == plan[index]
        assert row["split"] == "train"
        assert (2 <= row["n_sites"] <= 3) == (row["cell_level"] == 0)


def test_what_is_too_long_is_drawn_anew_and_counted() -> None:
    stream = sampled(lambda messages: len(messages[0]["content"]) < 440)
    rows = [stream.row(k) for k in range(16)]
    assert all(len(row["prompt"][0]["content"]) < 440 for row in rows)
    assert stream.overflows.total() > 0
    with pytest.raises(UsageError, match="too long"):
        sampled(lambda messages: False).row(0)


def test_the_data_set_draws_when_it_is_read_and_a_group_shares_its_row() -> None:
    stream = sampled()
    rows = stream.dataset(16)
    assert len(rows) == 16
    assert not stream._rows
    batch = rows.__getitems__([3, 3, 3, 4])
    assert [row["task_id"] for row in batch] == [stream.row(k)["task_id"] for k in (3, 3, 3, 4)]
    assert set(stream._rows) == {3, 4}


def test_rows_hold_what_the_reward_reads() -> None:
    """An oracle earns everything from the columns of a batch."""
    pool = load_pool("aflow")
    stream = sampled()
    batch = [stream.row(k) for k in range(4)]
    tasks = [
        TaskSampler(SamplerConfig(min_sites=2, max_sites=6, cif_style="compact")).edit(
            pool.entry(row["structure_id"]), row["action"], row["seed"]
        )
        for row in batch
    ]
    columns = {name: [row[name] for row in batch] for name in ("target", "structure", "baseline", "task_id")}
    reward = AtomWorldReward(workers=1)
    answers = [oracle_answer(task) for task in tasks if task is not None]
    assert reward(completions=answers, **columns) == [1.0] * 4
    reward.close()


def test_given_tasks_come_once_in_each_epoch_in_another_order(compact_tasks: list[Task]) -> None:
    rows = GivenTasks(compact_tasks, FAMILY, load_pool("aflow"), kept=8, seed=2)
    number = len(compact_tasks)
    epochs = [[rows.row(epoch * number + k)["task_id"] for k in range(number)] for epoch in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(task.task_id for task in compact_tasks)
    assert epochs[0] != epochs[1]
