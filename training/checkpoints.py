"""Checkpoints that a kill cannot spoil, and going on from the last of them.

transformers writes a checkpoint file by file, and rotates old ones away before a new one is whole. So a run marks each
checkpoint once all ranks have written theirs, resumes from the last marked one, and keeps at least two.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from atomworld_env.errors import UsageError

MARKER = "atomworld_state.json"
RUN_OPTIONS = "run_options.json"

ORDER_FIELDS = (
    "seed", "max_steps", "num_train_epochs", "world_size", "per_device_train_batch_size", "gradient_accumulation_steps",
    "learning_rate", "lr_scheduler_type", "num_generations", "steps_per_generation", "num_iterations", "max_length",
    "max_completion_length", "loss_type", "scale_rewards", "beta", "temperature", "epsilon", "epsilon_high",
)  # fmt: skip
"""Fields of a training configuration that a resumed run must share."""

FREE_OPTIONS = ("reward_workers", "reward_timeout", "heldout_batch_size")
"""Options of ours that say how fast, not what; a resumed run may have others."""

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def replace_text(path: Path, text: str) -> None:
    """Write a file in one go: whoever reads it, or whatever is killed, finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The marked checkpoint of the highest step; None if there is none."""
    found = {
        int(match[1]): path
        for path in folder.glob("checkpoint-*")
        if (match := _CHECKPOINT.fullmatch(path.name)) and (path / MARKER).is_file()
    }
    return found[max(found)] if found else None


def read_marker(checkpoint: Path) -> dict[str, Any]:
    """What :class:`CompleteCheckpoints` wrote into a checkpoint.

    Raises:
        UsageError: if the checkpoint has no mark.
    """
    try:
        state: dict[str, Any] = json.loads((checkpoint / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{checkpoint} is no whole checkpoint of this program (no {MARKER}); choose another") from None
    return state


def start_run(folder: Path, options: Mapping[str, Any], *, resume: str | None) -> Path | None:
    """Claim the folder of a run; the checkpoint to go on from, or None to begin.

    Args:
        options: plain JSON values that a resumed run must share.
        resume: None for a new run, ``last`` for the last whole checkpoint (a new run if there is none), or a path.

    Raises:
        UsageError: if a new run meets an old one, or a resumed one has other options.
    """
    stored = folder / RUN_OPTIONS
    if resume is None:
        if stored.exists() or last_complete_checkpoint(folder) is not None:
            raise UsageError(
                f"{folder} holds a run; go on with --resume_from_checkpoint last, or give another --output_dir"
            )
        replace_text(stored, json.dumps(options, indent=2, sort_keys=True) + "\n")
        return None
    checkpoint = last_complete_checkpoint(folder) if resume == "last" else Path(resume)
    if checkpoint is not None:
        read_marker(checkpoint)
    _refuse_other_options(stored, options)
    return checkpoint


def start_on_all_ranks(config: Any, options: Mapping[str, Any]) -> Path | None:
    """:func:`start_run` for a training configuration: the first rank claims the folder, the others see what it did.

    Args:
        config: TrainingArguments; its ``resume_from_checkpoint`` may be ``last``.
        options: of the run, beside the fields of the configuration that decide what is trained on in which order.
    """
    options = {name: value for name, value in options.items() if name not in FREE_OPTIONS}
    chosen = {name: getattr(config, name) for name in ORDER_FIELDS if hasattr(config, name)}
    folder, resume = Path(config.output_dir), config.resume_from_checkpoint
    with config.main_process_first(local=False, desc="claiming the folder of the run"):
        if config.process_index == 0 or resume is not None:
            return start_run(folder, {**options, **chosen}, resume=resume)
        return None


def check_saving(config: Any) -> None:
    """Refuse ways of saving that a run could not resume from.

    Raises:
        UsageError: naming the option.
    """
    if config.save_strategy == "no":
        return
    if config.save_strategy != "steps" or config.save_steps < 1:
        raise UsageError(
            "checkpoints are made every so many steps: set save_strategy to steps and save_steps to a number"
        )
    if config.save_total_limit is not None and config.save_total_limit < 2:
        raise UsageError("save_total_limit must be at least 2: the last checkpoint may be cut off by a kill")
    if config.save_only_model:
        raise UsageError("with save_only_model a run cannot be resumed; leave it out")


def _refuse_other_options(stored: Path, options: Mapping[str, Any]) -> None:
    if not stored.exists():
        replace_text(stored, json.dumps(options, indent=2, sort_keys=True) + "\n")
        return
    before = json.loads(stored.read_text(encoding="utf-8"))
    now = json.loads(json.dumps(options))
    changed = [f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in sorted({*before, *now})
               if before.get(name) != now.get(name)]  # fmt: skip
    if changed:
        raise UsageError(f"the run in {stored.parent} had other options: {'; '.join(changed)}; resume with its own")


class CompleteCheckpoints(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Marks a checkpoint when it is whole, with the state that is not transformers' own.

    Args:
        state: asked for plain JSON values at each checkpoint.
        barrier: returns when all ranks have called it.
    """

    def __init__(self, state: Callable[[], Mapping[str, Any]], barrier: Callable[[], None]) -> None:
        self._state, self._barrier = state, barrier

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._barrier()
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            content = {"step": state.global_step, **self._state()}
            replace_text(folder / MARKER, json.dumps(content) + "\n")
