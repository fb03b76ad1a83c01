"""`training.grpo` on a tiny model: what a run leaves, and what it refuses."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import pyarrow.parquet
from tiny_model import save_tiny_model
from tiny_runs import TINY, history

from atomworld_env.errors import UsageError
from training import grpo
from training.checkpoints import last_complete_checkpoint

# transformers and TRL warn of each other's renamed fields.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def train(model: Path, folder: Path, *options: str) -> Any:
    line = [*TINY, "--model_name_or_path", str(model), "--output_dir", str(folder), *options]
    return grpo.main(*grpo.parser().parse_args_and_config(line))


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train(
        model, folder, "--max_steps", "4", "--log_completions", "true", "--num_completions_to_print", "0",
        "--report_to", "tensorboard",
    )  # fmt: skip
    return folder


def test_every_sample_is_kept_with_its_verdict(run: Path) -> None:
    samples = pyarrow.parquet.read_table(run / "samples").to_pylist()
    assert len(samples) == 4 * 8
    assert [sample["index"] for sample in samples] == [k // 4 for k in range(32)]
    assert {sample["verdict"] for sample in samples} > {"no_cif"}
    for sample in samples:
        assert sample["success_strict"] == (sample["verdict"] == "correct")
        assert sample["action"] in ("change", "remove", "add")
        assert (sample["reward"] == 0.0) == (sample["verdict"] == "no_cif")
        assert 1 <= sample["tokens"] <= 3
        assert sample["copied"] is False
        assert sample["success_paper"] is None  # the scheme does not need it, and nobody asked
    assert not list((run / "samples").glob("*.partial"))


def test_the_curves_that_matter_are_in_tensorboard(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (events,) = {path.parent for path in run.rglob("events.out.tfevents.*")}
    curves = EventAccumulator(str(events))
    curves.Reload()
    names = set(curves.Tags()["scalars"])
    assert {
        f"train/atomworld/{name}" for name in ("success_strict", "copied", "parsable", "reward_share", "zero_spread")
    } <= names
    assert {
        "train/completions/clipped_ratio",
        "eval/success_strict",
        "eval/success_strict/change",
        "eval/copied",
    } <= names
    assert [event.step for event in curves.Scalars("train/atomworld/parsable")] == [1, 2, 3, 4]


def test_a_group_shares_its_task(run: Path) -> None:
    samples = pyarrow.parquet.read_table(run / "samples").to_pylist()
    by_index: dict[int, set[str]] = {}
    for sample in samples:
        by_index.setdefault(sample["index"], set()).add(sample["task_id"])
    assert all(len(tasks) == 1 for tasks in by_index.values())
    assert len({next(iter(tasks)) for tasks in by_index.values()}) > 4


def test_the_curves_that_matter_are_logged(run: Path) -> None:
    steps = [line for line in history(run, 4) if "reward" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4]
    for line in steps:
        for name in ("success_strict", "copied", "parsable", "zero_spread", "max_displacement"):
            assert f"atomworld/{name}" in line
        assert "completions/clipped_ratio" in line
        assert any(key.startswith("atomworld/success_strict/") for key in line)
    assert any(line["grad_norm"] > 0 for line in steps)


def test_scoring_takes_a_share_of_the_step(run: Path) -> None:
    state = json.loads((run / "checkpoint-4" / "trainer_state.json").read_text())
    shares = [line["atomworld/reward_share"] for line in state["log_history"] if "reward" in line]
    assert all(0 < share < 1 for share in shares)


def test_held_out_tasks_go_through_the_environment(run: Path) -> None:
    evaluated = [line for line in history(run, 4) if "eval_success_strict" in line]
    assert [line["step"] for line in evaluated] == [0, 4]
    for name in ("eval_copied", "eval_parsable", "eval_max_displacement", "eval_clipped", "eval_success_strict/add"):
        assert name in evaluated[0]
    lines = (run / "evaluations" / "step_000004.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 6
    assert {record["verdict_strict"] for record in records} <= {"no_cif", "composition_mismatch", "structure_mismatch"}


def test_checkpoints_are_marked_and_the_model_is_saved(run: Path) -> None:
    assert last_complete_checkpoint(run) == run / "checkpoint-4"
    assert (run / "model.safetensors").exists()
    assert (run / "completions").is_dir()


def test_a_run_is_not_begun_in_the_folder_of_another(run: Path, model: Path) -> None:
    with pytest.raises(UsageError, match="--resume_from_checkpoint last"):
        train(model, run)


def test_a_run_is_not_resumed_with_other_options(run: Path, model: Path) -> None:
    with pytest.raises(UsageError, match=r"learning_rate was 0.01, is 0.5"):
        train(model, run, "--max_steps", "4", "--resume_from_checkpoint", "last", "--learning_rate", "0.5")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save_steps", "3", "--steps_per_generation", "4"], "multiple of 2"),
        (["--save_total_limit", "1"], "at least 2"),
        (["--save_strategy", "epoch"], "save_strategy"),
        (["--dataloader_num_workers", "2"], "dataloader_num_workers"),
        (["--max_completion_length", "600"], "context of 512"),
        (["--heldout_split", "train"], "share"),
        (["--reward_scheme", "nonsense"], "unknown reward scheme"),
        (["--max_steps", "-1"], "how long to train"),
        (["--processes", "4"], "--num_processes 4"),
        (["--actions", "nonsense"], "unknown action"),
        (["--report_to", "wandb"], "wandb is not installed"),
    ],
)
def test_what_does_not_go_together_is_refused(options: list[str], message: str, model: Path, tmp_path: Path) -> None:
    if options == ["--report_to", "wandb"] and find_spec("wandb"):
        pytest.skip("it is installed")
    with pytest.raises(UsageError, match=message):
        train(model, tmp_path, *options)
    assert not list(tmp_path.glob("checkpoint-*"))
