"""The commands of docs/training.md are ones that the programs accept, and its figures are those of the recipes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import yaml
from typer.main import get_command

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "training.md").read_text(encoding="utf-8")
NO_GPU = ["--use_cpu", "true", "--bf16", "false", "--report_to", "none"]

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")


def commands() -> list[str]:
    """The indented lines, those that go on joined to one."""
    joined = PAGE.replace("\\\n", " ")
    lines = (" ".join(line.split("#")[0].split()) for line in joined.splitlines() if line.startswith("    "))
    return [line for line in lines if re.search(r"python |atomworld |accelerate |vllm ", line)]


def words_after(marker: str) -> Iterator[list[str]]:
    """The options of each command that has this in it."""
    for line in commands():
        if f" {marker} " in f" {line} ":
            yield shlex.split(line.partition(marker)[2])


@pytest.mark.parametrize("module", ["sft", "grpo"])
def test_trainers_accept_their_commands(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    found = list(words_after(f"-m training.{module}"))
    assert found
    for words in found:
        import_module(f"training.{module}").parser().parse_args_and_config([*words, *NO_GPU])


def accepts(command: Any, words: list[str]) -> None:
    command.make_context(str(command.name), list(words), resilient_parsing=False).close()


@pytest.mark.parametrize("module", ["lengths", "compare"])
def test_the_other_programs_accept_theirs(module: str) -> None:
    found = list(words_after(f"-m training.{module}"))
    assert found
    for words in found:
        accepts(get_command(import_module(f"training.{module}").app), words)


def test_atomworld_accepts_its_commands() -> None:
    from atomworld_env.cli.app import app

    found = list(words_after("atomworld"))
    assert found
    for name, *words in found:
        accepts(get_command(app).commands[name], words)  # type: ignore[attr-defined]


def test_options_and_files_named_in_the_text_exist() -> None:
    from training import grpo, sft

    known = {text for module in (grpo, sft) for action in module.parser()._actions for text in action.option_strings}
    elsewhere = {
        "--tokenizer",
        "--prompt",
        "--min-sites",
        "--max-sites",
        "--schemes",
        "--seeds",
        "--steps",
        "--split",
        "--per-action",
        "--policy",
        "--out",
        "--logdir",
    }
    launcher = {"--num_processes", "--num_machines", "--machine_rank", "--main_process_ip", "--main_process_port"}
    prose = re.sub(r"(?m)^    .*$", "", PAGE)
    named = {word for code in re.findall(r"`([^`\n]+)`", prose) for word in re.findall(r"(?<!\S)--[a-z_-]+", code)}
    assert named - known - elsewhere - launcher == set()
    files = re.findall(r"`((?:training|tests|benchmarks|rewards)/[\w/.]+\.(?:py|sh|md|yaml))`", PAGE)
    assert [name for name in files if not (REPOSITORY / name).exists()] == []


def test_every_recipe_is_in_the_table() -> None:
    folder = REPOSITORY / "training" / "recipes"
    for path in folder.glob("*.yaml"):
        recipe = yaml.safe_load(path.read_text())
        if "model_name_or_path" not in recipe:
            continue
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{path.name}`")]
        model = "the small policy" if recipe["model_name_or_path"] == "small" else recipe["model_name_or_path"]
        assert model.rpartition("/")[2] in row
        assert ("LoRA" in row) == bool(recipe.get("use_peft"))


# Layers, width, billions of weights of the models that recipes name; and of the card, tokens and ranks of each recipe.
SHAPES = {"Qwen/Qwen3-1.7B": (28, 2048, 1.7), "Qwen/Qwen3-4B": (36, 2560, 4.0), "Qwen/Qwen3-8B": (36, 4096, 8.2)}


@pytest.mark.parametrize("name", ["gpu_24gb_lora", "gpu_80gb_vllm", "gpus_4_fsdp2", "gpus_8_zero3"])
def test_the_memory_estimates_follow_from_their_formulas(name: str) -> None:
    recipe = yaml.safe_load((REPOSITORY / "training" / "recipes" / f"{name}.yaml").read_text())
    layers, width, billions = SHAPES[recipe["model_name_or_path"]]
    tokens = recipe["per_device_train_batch_size"] * recipe["vllm_max_model_length"]
    kept, recomputed = 2 * tokens * width * layers / 1e9, 34 * tokens * width / 1e9
    served = recipe["vllm_gpu_memory_utilization"] * (24 if "24gb" in name else 80)
    held = 2 * billions + 0.6 if recipe.get("use_peft") else 16 * billions / recipe.get("processes", 1)
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}`")]
    assert f"{kept:.1f} + {recomputed:.1f}" in row
    assert row.endswith(f"| {held + kept + recomputed + served:.0f} |")
