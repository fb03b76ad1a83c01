"""The reward function inside TRL's own GRPOTrainer, on a CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rewards.pool import processors_per_rank

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the extra 'train'"),
]

SCRIPT = Path(__file__).with_name("tiny_grpo.py")
SHARES = ("success_strict", "no_cif", "parsable", "composition", "cell", "copied", "timeout", "worker_lost")


def train(folder: Path, ranks: int) -> list[dict[str, Any]]:
    """What each rank recorded."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks)] if ranks > 1 else []
    ended = subprocess.run(
        [sys.executable, *launcher, str(SCRIPT), str(folder)],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    return [json.loads((folder / f"rank_{rank}.json").read_text()) for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [1, 2])
def test_two_steps_of_training(ranks: int, tmp_path: Path) -> None:
    records = train(tmp_path, ranks)
    steps = [line for line in records[0]["log"] if "reward" in line]
    assert len(steps) == 2
    for line in steps:
        for name in SHARES:
            assert 0.0 <= line[f"atomworld/{name}"] <= 1.0
        assert line["atomworld/seconds"] > 0
        assert 0.0 <= line["atomworld/max_displacement"] <= 10.0
    # Of four tasks one has a broken ground truth: its completions are left out, the others earn what is logged.
    whole = [line for line in steps if line["atomworld/broken_target"] == 0.0]
    assert whole
    for line in whole:
        assert line["rewards/atomworld_strict/mean"] == pytest.approx(line["atomworld/success_strict"])
        assert line["rewards/atomworld_shaped/mean"] == pytest.approx(
            line["atomworld/success_strict"] + 0.05 * line["atomworld/copied"]
        )
        assert line["atomworld/no_cif"] == pytest.approx(1 - line["atomworld/parsable"])
    assert any(line["atomworld/copied"] > 0 for line in steps)
    assert any(line["reward_std"] > 0 for line in steps)
    assert list((tmp_path / "run" / "completions").glob("*.parquet"))
    processes = [process for record in records for process in record["processes"]]
    assert len(set(processes)) == len(processes) == ranks * max(1, processors_per_rank() // ranks)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(Path(f"/proc/{process}").exists() for process in processes):
        time.sleep(0.1)
    assert not [process for process in processes if Path(f"/proc/{process}").exists()]
