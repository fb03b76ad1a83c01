"""Look-ahead and checkpoints: the arithmetic against a trainer that fetches as transformers does."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest

from atomworld_env.errors import UsageError
from training.generation_batches import GenerationBatches


def farthest_look_ahead(batches: GenerationBatches, steps: int) -> int:
    """Most generation batches that are asked for without the first of them having results.

    The data loader fetches one batch more than it has handed out, the trainer all batches of a step before the first is
    used; a generation batch has results once its first batch is used.
    """
    most = 0
    for step in range(steps):
        handed_out = (step + 1) * batches.per_step + 1
        known = -(-step * batches.per_step // batches.backward_passes)
        asked = -(-handed_out // batches.backward_passes)
        most = max(most, asked - known)
    return most


@pytest.mark.parametrize(("passes", "per_step"), [*product((1, 2, 3, 4, 8, 16), (1, 2, 4, 6, 16))])
def test_the_lag_covers_what_is_fetched_ahead(passes: int, per_step: int) -> None:
    batches = GenerationBatches(tasks=8, backward_passes=passes, per_step=per_step)
    # One generation batch may be planned when the results of the one `lag` before it are in.
    assert farthest_look_ahead(batches, 60) <= batches.lag


@pytest.mark.parametrize(
    ("passes", "per_step", "steps", "number"), [(2, 2, 8, 8), (4, 2, 8, 4), (1, 4, 3, 12), (4, 2, 7, 4)]
)
def test_generation_batches_of_so_many_steps(passes: int, per_step: int, steps: int, number: int) -> None:
    assert GenerationBatches(8, passes, per_step).number_for(steps) == number


def test_steps_of_so_many_tasks() -> None:
    batches = GenerationBatches(tasks=8, backward_passes=4, per_step=2)
    assert batches.steps_for(80) == 20
    assert batches.number_for(batches.steps_for(80)) * batches.tasks <= 80
    with pytest.raises(UsageError, match="fewer than one step"):
        batches.steps_for(7)


def test_checkpoints_fall_on_the_end_of_a_generation_batch() -> None:
    batches = GenerationBatches(tasks=8, backward_passes=8, per_step=2)
    config = SimpleNamespace(dataloader_num_workers=0, save_strategy="steps", save_steps=8)
    batches.check(config)
    config.save_steps = 6
    with pytest.raises(UsageError, match="multiple of 4"):
        batches.check(config)
