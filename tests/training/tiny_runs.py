"""Runs of the training commands on the tiny model: the options that make them small, started here or elsewhere."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TINY = shlex.split(
    "--use_cpu --bf16 false --report_to none --activation_checkpointing false --use_vllm false "
    "--min_sites 2 --max_sites 6 --cif_style compact --prompt short --actions change remove add "
    "--max_completion_length 3 --num_generations 4 --per_device_train_batch_size 4 --gradient_accumulation_steps 2 "
    "--steps_per_generation 2 --heldout_tasks 2 --heldout_every 4 --heldout_batch_size 4 --logging_steps 1 "
    "--save_steps 2 --max_steps 8 --learning_rate 1e-2 --curriculum_levels 2 --reward_workers 1"
)

TINY_SFT = shlex.split(
    "--use_cpu --bf16 false --report_to none --activation_checkpointing false --min_sites 2 --max_sites 4 "
    "--cif_style compact --prompt short --actions change remove --tasks 12 --heldout_tasks 1 --heldout_every 0 "
    "--logging_steps 1 --save_steps 2 --max_steps 4 --per_device_train_batch_size 2 --gradient_accumulation_steps 1 "
    "--max_length 2048"
)


def environment() -> dict[str, str]:
    """One thread, no network, no GPU."""
    quiet = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
    }
    return {**os.environ, **quiet}


def command(module: str, options: Sequence[str], *, ranks: int = 1) -> list[str]:
    """The command line of a run."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks)] if ranks > 1 else []
    return [sys.executable, *launcher, "-m", module, *options]


def run(module: str, options: Sequence[str], *, ranks: int = 1) -> None:
    """Run a training command to its end."""
    ended = subprocess.run(
        command(module, options, ranks=ranks), env=environment(), capture_output=True, text=True, timeout=900
    )
    assert ended.returncode == 0, ended.stderr[-4000:]


def history(folder: Path, step: int) -> list[dict[str, Any]]:
    """What the run logged up to a step, without the times it took."""
    state = json.loads((folder / f"checkpoint-{step}" / "trainer_state.json").read_text())
    timed = ("step_time", "seconds", "eval_seconds", "atomworld/seconds", "atomworld/reward_share")
    return [{key: value for key, value in line.items() if key not in timed} for line in state["log_history"]]
