"""A run killed at any moment goes on from its last whole checkpoint and ends as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("trl")

import pyarrow.parquet
from tiny_model import save_tiny_model
from tiny_runs import TINY, command, environment, history, run

from atomworld_env.errors import UsageError
from training.checkpoints import MARKER, last_complete_checkpoint, read_marker, replace_text, start_run

COMPARED = ("index", "task_id", "action", "cell_level", "completion", "reward", "verdict", "generation", "step")


def samples(folder: Path) -> list[tuple[object, ...]]:
    rows = pyarrow.parquet.read_table(folder / "samples").to_pylist()
    return [tuple(row[name] for name in COMPARED) for row in rows]


def kill_after(line: list[str], generations: int, folder: Path, moment: random.Random) -> None:
    """Start a run and kill it some time after so many generation batches are on disk."""
    started = subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted = folder / "samples" / f"{generations - 1:06d}.parquet"
    deadline = time.monotonic() + 300
    while not wanted.exists():
        assert started.poll() is None, "the run ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(moment.uniform(0.0, 0.15))
    started.send_signal(signal.SIGKILL)
    started.wait()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def options(model: Path) -> list[str]:
    return [*TINY, "--model_name_or_path", str(model), "--max_steps", "12", "--save_total_limit", "2"]


@pytest.fixture(scope="module")
def whole(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    run("training.grpo", [*options, "--output_dir", str(folder)])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_and_resumed_it_ends_with_the_same_samples(
    seed: int, options: list[str], whole: Path, tmp_path: Path
) -> None:
    moment = random.Random(seed)
    line = [*options, "--output_dir", str(tmp_path), "--resume_from_checkpoint", "last"]
    for generations in sorted(moment.sample(range(1, 11), 2)):
        kill_after(command("training.grpo", line), generations, tmp_path, moment)
    run("training.grpo", line)
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-12"
    # Nothing twice, nothing missing, the same tasks in the same order, and even the same answers.
    assert samples(tmp_path) == samples(whole)
    assert history(tmp_path, 12) == history(whole, 12)
    assert read_marker(tmp_path / "checkpoint-12") == read_marker(whole / "checkpoint-12")
    assert (tmp_path / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_two_accumulated_generation_batches_resume_alike(model: Path, tmp_path: Path) -> None:
    base = [*TINY, "--model_name_or_path", str(model), "--gradient_accumulation_steps", "4", "--max_steps", "6"]
    run("training.grpo", [*base, "--output_dir", str(tmp_path / "whole")])
    line = [*base, "--output_dir", str(tmp_path / "killed"), "--resume_from_checkpoint", "last"]
    kill_after(command("training.grpo", line), 7, tmp_path / "killed", random.Random(0))
    run("training.grpo", line)
    assert samples(tmp_path / "killed") == samples(tmp_path / "whole")


def make(folder: Path, step: int, *, whole: bool) -> Path:
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir()
    if whole:
        replace_text(checkpoint / MARKER, f'{{"step": {step}}}')
    return checkpoint


def test_the_last_whole_checkpoint_is_found(tmp_path: Path) -> None:
    assert last_complete_checkpoint(tmp_path) is None
    make(tmp_path, 9, whole=True)
    ten = make(tmp_path, 10, whole=True)
    make(tmp_path, 11, whole=False)
    (tmp_path / "checkpoint-old").mkdir()
    assert last_complete_checkpoint(tmp_path) == ten


def test_resuming_what_never_began_begins(tmp_path: Path) -> None:
    assert start_run(tmp_path, {"seed": 1}, resume="last") is None
    assert start_run(tmp_path, {"seed": 1}, resume="last") is None


def test_a_cut_off_checkpoint_is_refused_by_name(tmp_path: Path) -> None:
    cut = make(tmp_path, 4, whole=False)
    with pytest.raises(UsageError, match="no whole checkpoint"):
        start_run(tmp_path, {}, resume=str(cut))


def test_what_differs_is_named(tmp_path: Path) -> None:
    start_run(tmp_path, {"seed": 1, "actions": ["move"]}, resume=None)
    make(tmp_path, 2, whole=True)
    with pytest.raises(UsageError, match=r"actions was \['move'\], is \['swap'\]"):
        start_run(tmp_path, {"seed": 1, "actions": ["swap"]}, resume="last")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    replace_text(tmp_path / "deep" / "a.json", "one")
    replace_text(tmp_path / "deep" / "a.json", "two")
    assert (tmp_path / "deep" / "a.json").read_text() == "two"
    assert len(list((tmp_path / "deep").iterdir())) == 1
    shutil.rmtree(tmp_path / "deep")
