"""The smoke test of a machine: its options add up where no GPU is, and its path is walked on a CPU."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from training import grpo
from training.generation_batches import GenerationBatches

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")

BENCHMARKS = Path(grpo.__file__).parents[1] / "benchmarks"
SMOKE = runpy.run_path(str(BENCHMARKS / "gpu_smoke.py"))
NO_GPU = ["--use_cpu", "true", "--bf16", "false"]


@pytest.mark.parametrize("backend", ["transformers", "vllm"])
@pytest.mark.parametrize("model", ["SMALL_POLICY", "RANDOM_MODEL"])
def test_the_options_for_a_gpu_add_up(model: str, backend: str, tmp_path: Path) -> None:
    line = ["--config", str(SMOKE["RECIPE"]), *SMOKE[model][False], *(SMOKE["VLLM"] if backend == "vllm" else [])]
    _, config, _ = grpo.parser().parse_args_and_config([*line, *NO_GPU, "--output_dir", str(tmp_path)])
    GenerationBatches.of(config).check(config)
    assert config.generation_batch_size % config.num_generations == 0
    assert GenerationBatches.of(config).backward_passes == config.gradient_accumulation_steps


@pytest.mark.slow
def test_the_script_runs_on_a_cpu(tmp_path: Path) -> None:
    environment = {**os.environ, "CPU": "1", "OUT": str(tmp_path), "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(BENCHMARKS / "gpu_smoke.sh")], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for name in ("small-transformers", "random-transformers"):
        figures = json.loads((tmp_path / f"{name}.json").read_text())
        assert figures["answer tokens a second"] > 0
        assert 0 < figures["reward share of a step"] < 1
        assert name in done.stdout


@pytest.mark.slow
def test_the_script_fails_when_a_run_does(tmp_path: Path) -> None:
    environment = {**os.environ, "CPU": "1", "OUT": str(tmp_path), "PYTHON": sys.executable, "LIMIT": "1"}
    done = subprocess.run(
        [str(BENCHMARKS / "gpu_smoke.sh")], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1
    assert "FAILED: small, transformers" in done.stderr
