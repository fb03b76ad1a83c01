"""Every recipe's path through the code, on a CPU: the tiny model in place of the recipe's, vLLM off, small numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("trl")

import pyarrow.parquet
import yaml
from test_recipes import FOLDER, GRPO_RECIPES
from tiny_model import save_tiny_model
from tiny_runs import TINY, history, run

from training.checkpoints import last_complete_checkpoint, read_marker

pytestmark = pytest.mark.slow

# What a recipe says of its model, its context, its cards and its length is set aside; all else is kept.
SMALL = ["--max_steps", "4", "--dtype", "float32"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def line(recipe: str, model: Path, folder: Path, *options: str) -> list[str]:
    config = ["--config", str(FOLDER / f"{recipe}.yaml")]
    room = ["--max_prompt_length", "400", "--vllm_max_model_length", "512"]
    return [*config, *TINY, *SMALL, *room, "--model_name_or_path", str(model), "--output_dir", str(folder), *options]


def loads(folder: Path, recipe: str) -> bool:
    """The run saved adapters where the recipe trains them, and whole weights where it does not."""
    adapters = bool(yaml.safe_load((FOLDER / f"{recipe}.yaml").read_text()).get("use_peft"))
    return (folder / "adapter_model.safetensors").exists() == adapters and (
        (folder / "model.safetensors").exists() != adapters
    )


@pytest.mark.parametrize("recipe", GRPO_RECIPES)
def test_a_recipe_trains_evaluates_saves_and_resumes(recipe: str, model: Path, tmp_path: Path) -> None:
    options = line(recipe, model, tmp_path, "--processes", "1")
    run("training.grpo", options)
    steps = [entry for entry in history(tmp_path, 4) if "reward" in entry]
    assert [entry["step"] for entry in steps] == [1, 2, 3, 4]
    assert any(entry["grad_norm"] > 0 for entry in steps)
    assert loads(tmp_path, recipe)
    # Resumed at its end there is nothing left to do, resumed before it the same steps follow.
    before = pyarrow.parquet.read_table(tmp_path / "samples").to_pylist()
    marker = tmp_path / "checkpoint-4" / "atomworld_state.json"
    marker.unlink()
    run("training.grpo", [*options, "--resume_from_checkpoint", "last"])
    after = pyarrow.parquet.read_table(tmp_path / "samples").to_pylist()
    assert [(s["index"], s["task_id"], s["completion"]) for s in after] == [
        (s["index"], s["task_id"], s["completion"]) for s in before
    ]


# Half a group on each of two ranks, or a whole one on one; a generation batch for each backward pass.
HALVES = ["--per_device_train_batch_size", "2", "--steps_per_generation", "1"]
WHOLES = ["--per_device_train_batch_size", "4", "--steps_per_generation", "1"]


@pytest.mark.parametrize("adapters", [False, True], ids=["full", "lora"])
def test_two_ranks_share_the_tasks_of_a_group(adapters: bool, model: Path, tmp_path: Path) -> None:
    peft = ["--use_peft", "--lora_r", "4", "--lora_target_modules", "all-linear"] if adapters else []
    base = [*TINY, "--model_name_or_path", str(model), *peft, "--max_steps", "6"]
    run("training.grpo", [*base, *HALVES, "--output_dir", str(tmp_path / "two")], ranks=2)
    run("training.grpo", [*base, *WHOLES, "--output_dir", str(tmp_path / "one")])
    two, one = (pyarrow.parquet.read_table(tmp_path / name / "samples").to_pylist() for name in ("two", "one"))
    assert [s["index"] for s in two] == [s["index"] for s in one] == [k // 4 for k in range(48)]
    # Both ranks follow one curriculum, so that the halves of a group are of one task to the end.
    assert all(len({s["task_id"] for s in two[k : k + 4]}) == 1 for k in range(0, 48, 4))
    # What is drawn before anything is learnt is drawn alike on one rank.
    assert [s["task_id"] for s in two[:8]] == [s["task_id"] for s in one[:8]]
    checkpoint = last_complete_checkpoint(tmp_path / "two")
    assert checkpoint == tmp_path / "two" / "checkpoint-6"
    assert {path.name for path in checkpoint.glob("rng_state*")} == {"rng_state_0.pth", "rng_state_1.pth"}
    assert read_marker(checkpoint)["generation"] == 12


def test_two_ranks_resume_to_the_same_samples(model: Path, tmp_path: Path) -> None:
    base = [*TINY, *HALVES, "--model_name_or_path", str(model), "--output_dir", str(tmp_path)]
    run("training.grpo", base, ranks=2)
    before = pyarrow.parquet.read_table(tmp_path / "samples").to_pylist()
    for step in (6, 8):
        (tmp_path / f"checkpoint-{step}" / "atomworld_state.json").unlink()
    run("training.grpo", [*base, "--resume_from_checkpoint", "last"], ranks=2)
    after = pyarrow.parquet.read_table(tmp_path / "samples").to_pylist()
    assert after == before


def test_a_suite_is_trained_on_epoch_after_epoch(model: Path, tmp_path: Path) -> None:
    from atomworld_env.tasks.sampler_config import SamplerConfig
    from atomworld_env.tasks.suite import SuiteRecipe, make_suite

    config = SamplerConfig(split="train", min_sites=2, max_sites=6, actions=("change", "remove"), cif_style="compact")
    make_suite(SuiteRecipe("small", config, per_action=4, seed=3)).write(tmp_path / "suite")
    folders = ["--suite", str(tmp_path / "suite"), "--output_dir", str(tmp_path / "run")]
    epochs = ["--actions", "change", "remove", "--max_steps", "-1", "--num_train_epochs", "2"]
    options = [*TINY, "--model_name_or_path", str(model), *folders, *epochs]
    run("training.grpo", options)
    samples = pyarrow.parquet.read_table(tmp_path / "run" / "samples").to_pylist()
    tasks = [samples[k]["task_id"] for k in range(0, len(samples), 4)]
    assert len(tasks) == 16
    assert len(set(tasks[:8])) == len(set(tasks[8:])) == 8
    assert tasks[:8] != tasks[8:]


@pytest.mark.parametrize("scale", ["batch", "group"])
def test_other_scalings_can_be_compared(scale: str, model: Path, tmp_path: Path) -> None:
    run("training.grpo", [*TINY, "--model_name_or_path", str(model), "--output_dir", str(tmp_path), "--max_steps", "2",
                          "--scale_rewards", scale, "--curriculum", "false"])  # fmt: skip
    assert any(entry.get("grad_norm", 0) > 0 for entry in history(tmp_path, 2))
