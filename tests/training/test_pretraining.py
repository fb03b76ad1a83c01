"""Pretraining: it learns, resumes to the same weights, and leaves a model that transformers loads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from training.pretrain import app
from training.small_policy.architecture import Shape
from training.small_policy.optimisers import Schedule
from training.small_policy.practice import Curriculum
from training.small_policy.pretraining import Budget, Settings, pretrain

TINY = Settings(
    shape=Shape(width=32, layers=1, heads=2, feed_forward=32, max_length=512),
    curriculum=Curriculum(sites=(2, 2), easy_pairs=0, shares={"remove": 1.0}),
    schedule=Schedule(peak=0.01, warmup_steps=2, decay=0.0),
    batch_tokens=512,
)


def steps(number: int) -> Budget:
    return Budget(minutes=None, steps=number, check_every=1e6, save_every=1e6, per_action=1)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    state: dict[str, Any] = torch.load(folder / "state.pt", weights_only=True)
    network: dict[str, torch.Tensor] = state["network"]
    return network


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    whole = pretrain(tmp_path / "whole", TINY, steps(6), report=lines.append)
    pretrain(tmp_path / "parts", TINY, steps(3), report=lines.append)
    # What a kill leaves: a line of the curve for a step that was not saved, and one cut off.
    with (tmp_path / "parts" / "curve.jsonl").open("a") as file:
        file.write('{"step": 5, "loss": 1.0}\n{"step": 6, "lo')
    parts = pretrain(tmp_path / "parts", TINY, steps(6), resume=True, report=lines.append)
    assert (parts.step, parts.tokens, parts.window, parts.batch) == (6, whole.tokens, whole.window, whole.batch)
    first, second = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(first[name], second[name]) for name in first)
    curve = [json.loads(line)["step"] for line in (tmp_path / "parts" / "curve.jsonl").read_text().splitlines()]
    assert curve == [3, 6]
    assert lines[0]["success"] == {"remove": 0.0}


def test_the_model_loads_without_code_of_this_package(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    pretrain(tmp_path / "run", TINY, steps(1), report=lambda line: None)
    network = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run" / "model")
    assert network.config.model_type == "qwen3"
    assert network.lm_head.weight is network.model.embed_tokens.weight
    assert network.generation_config.eos_token_id == tokenizer.eos_token_id


@pytest.mark.parametrize(
    ("settings", "resume", "words"),
    [
        pytest.param(TINY, False, "already holds a run", id="taken"),
        pytest.param(Settings(seed=1), True, "seed was 0, is 1", id="other settings"),
    ],
)
def test_a_folder_keeps_to_its_settings(tmp_path: Path, settings: Settings, resume: bool, words: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(TINY.to_json()))
    with pytest.raises(ValueError, match=words):
        pretrain(tmp_path, settings, steps(1), resume=resume, report=lambda line: None)


def test_there_must_be_something_to_resume(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no run to resume"):
        pretrain(tmp_path, TINY, steps(1), resume=True, report=lambda line: None)


def test_the_rate_rises_stays_and_falls() -> None:
    schedule = Schedule(peak=1.0, warmup_steps=10, decay=0.2, floor=0.1)
    rates = [schedule.rate(step, step / 100) for step in (0, 4, 9, 50, 80, 90, 99, 200)]
    assert rates == pytest.approx([0.1, 0.5, 1.0, 1.0, 1.0, 0.5, 0.1, 0.1])


def test_the_command_explains_itself() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0
    for word in ("--resume", "--minutes", "Examples"):
        assert word in shown.output


COMMAND = [
    "--sites", "2", "2", "--actions", "remove", "--width", "32", "--layers", "1", "--heads", "2",
    "--feed-forward", "32", "--batch-tokens", "512", "--decay", "0", "--check-every", "1000",
    "--save-every", "0.02", "--per-action", "1", "--quiet",
]  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_ends_like_one_that_was_left_alone(tmp_path: Path) -> None:
    def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "training.pretrain", "--out", str(folder), "--steps", "150", *COMMAND, *more]
        return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)

    assert start(tmp_path / "alone").wait(timeout=300) == 0
    killed = start(tmp_path / "killed")
    deadline = time.monotonic() + 200
    while not (tmp_path / "killed" / "state.pt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=30)
    assert start(tmp_path / "killed", "--resume").wait(timeout=300) == 0
    first, second = weights(tmp_path / "alone"), weights(tmp_path / "killed")
    assert all(torch.equal(first[name], second[name]) for name in first)
