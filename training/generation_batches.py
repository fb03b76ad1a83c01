"""How many tasks and steps one batch of generations serves, and what follows for checkpoints and look-ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atomworld_env.errors import UsageError


@dataclass(frozen=True)
class GenerationBatches:
    """The arithmetic of TRL's generation batches.

    Attributes:
        tasks: different tasks in one generation batch, over all ranks.
        backward_passes: that one generation batch serves on each rank.
        per_step: backward passes of one optimizer step (`gradient_accumulation_steps`).
    """

    tasks: int
    backward_passes: int
    per_step: int

    @classmethod
    def of(cls, config: Any) -> GenerationBatches:
        """Of a GRPOConfig."""
        return cls(
            tasks=config.generation_batch_size // config.num_generations,
            backward_passes=config.steps_per_generation * config.num_iterations,
            per_step=config.gradient_accumulation_steps,
        )

    @property
    def lag(self) -> int:
        """Generation batches whose tasks may be asked for before the results of the first of them are known.

        The trainer fetches all data of a step at once, and the data loader one batch more.
        """
        return -(-(self.per_step + 1) // self.backward_passes)

    def number_for(self, steps: int) -> int:
        """Generation batches that so many steps use."""
        return -(-steps * self.per_step // self.backward_passes)

    def steps_for(self, tasks: int) -> int:
        """Steps in which so many tasks are used once, the last incomplete generation batch left out."""
        steps = tasks // self.tasks * self.backward_passes // self.per_step
        if steps < 1:
            raise UsageError(f"{tasks} tasks are fewer than one step uses; give more --tasks, or --max_steps")
        return steps

    def check(self, config: Any) -> None:
        """Refuse what would spoil a resumed run or the curriculum.

        Raises:
            UsageError: naming the option.
        """
        if config.dataloader_num_workers:
            raise UsageError("tasks are drawn in the training process: set dataloader_num_workers to 0")
        if config.save_strategy != "no" and config.save_steps * self.per_step % self.backward_passes:
            raise UsageError(
                f"save_steps {config.save_steps} ends in the middle of a generation batch, whose answers a resumed run "
                f"would not have; take a multiple of {self.steps_between_ends}"
            )

    @property
    def steps_between_ends(self) -> int:
        """Fewest steps after which a generation batch is used up."""
        from math import gcd

        return self.backward_passes // gcd(self.backward_passes, self.per_step)
