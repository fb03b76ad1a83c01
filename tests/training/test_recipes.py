"""Recipes: their fields exist, their arithmetic adds up, and the launch files agree with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("trl")

from training import grpo, sft
from training.generation_batches import GenerationBatches

# TRL sets a field that transformers has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")

FOLDER = Path(grpo.__file__).parent / "recipes"
GRPO_RECIPES = ("cpu_small", "gpu_24gb_lora", "gpu_80gb_vllm", "gpus_4_fsdp2", "gpus_8_zero3", "vllm_server")
LAUNCH_FILES = {"accelerate_fsdp2": "gpus_4_fsdp2", "accelerate_zero3": "gpus_8_zero3"}


def parsed(name: str, parser: Any, tmp_path: Path) -> tuple[Any, Any, Any]:
    """The three dataclasses of a recipe, as on a machine without a GPU."""
    line = ["--config", str(FOLDER / f"{name}.yaml"), "--output_dir", str(tmp_path), "--use_cpu", "--bf16", "false"]
    script, config, model = parser.parse_args_and_config([*line, "--report_to", "none"])
    return script, config, model


def test_every_file_is_covered() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*GRPO_RECIPES, *LAUNCH_FILES, "sft_worked"}


@pytest.mark.parametrize("name", GRPO_RECIPES)
def test_the_arithmetic_of_a_recipe(name: str, tmp_path: Path) -> None:
    script, config, model = parsed(name, grpo.parser(), tmp_path)
    ranks = script.processes or 1
    answers = config.per_device_train_batch_size * ranks * config.steps_per_generation
    assert answers % config.num_generations == 0
    assert config.num_generations >= 2
    # A group must not be cut between generation batches, and checkpoints fall on their ends.
    batches = GenerationBatches(
        answers // config.num_generations,
        config.steps_per_generation * config.num_iterations,
        config.gradient_accumulation_steps,
    )
    batches.check(config)
    assert batches.tasks >= 8
    assert config.save_total_limit is None or config.save_total_limit >= 2
    # Prompts have room beside answers, and answers room for the largest crystal: about 25 tokens a row.
    if config.vllm_max_model_length:
        room = config.vllm_max_model_length - config.max_completion_length
        assert room >= 800 + 25 * script.max_sites
    if name != "cpu_small":
        copies = 8 if script.actions is None else 1
        assert config.max_completion_length >= 100 + 25 * script.max_sites * copies
    if config.use_vllm and config.vllm_mode == "colocate":
        assert ranks % config.vllm_tensor_parallel_size == 0
        assert config.vllm_max_model_length is not None
    # Full training holds float32 weights; a frozen base may be bfloat16.
    assert model.use_peft or model.dtype in (None, "float32")
    assert config.scale_rewards == "none"


def test_the_supervised_recipe(tmp_path: Path) -> None:
    script, config, model = parsed("sft_worked", sft.parser(), tmp_path)
    assert script.answers == "worked"
    assert config.max_length == 8192
    assert model.use_peft


@pytest.mark.parametrize(("launch", "recipe"), LAUNCH_FILES.items())
def test_launch_files_start_as_many_processes_as_their_recipe_says(launch: str, recipe: str) -> None:
    accelerate = yaml.safe_load((FOLDER / f"{launch}.yaml").read_text())
    assert accelerate["num_processes"] == yaml.safe_load((FOLDER / f"{recipe}.yaml").read_text())["processes"]


def test_launch_files_are_read_by_accelerate() -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    for launch in LAUNCH_FILES:
        assert load_config_from_file(str(FOLDER / f"{launch}.yaml")).mixed_precision == "bf16"


def test_advantages_are_not_divided_unless_asked(tmp_path: Path) -> None:
    line = ["--output_dir", str(tmp_path), "--use_cpu", "--bf16", "false"]
    assert grpo.parser().parse_args_and_config(line)[1].scale_rewards == "none"
    assert grpo.parser().parse_args_and_config([*line, "--scale_rewards", "batch"])[1].scale_rewards == "batch"
