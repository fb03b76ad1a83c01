"""The runs of `gpu_smoke.sh`: one short GRPO training through `training.grpo`, and what it took.

    python benchmarks/gpu_smoke.py versions
    python benchmarks/gpu_smoke.py train --model small --backend transformers --out runs/gpu_smoke
    python benchmarks/gpu_smoke.py show runs/gpu_smoke/small-transformers.json

"Answer tokens a second" is over whole steps, scoring and update included, and so says how long a longer run takes.
"""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import sys
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

RECIPE = Path(__file__).resolve().parents[1] / "training" / "recipes" / "cpu_small.yaml"
PACKAGES = ("atomworld-env", "torch", "transformers", "trl", "accelerate", "vllm")

# What differs from the recipe: on a GPU, and in small on a CPU.
ON_GPU = ["--use_cpu", "false", "--bf16", "true", "--dataloader_pin_memory", "true"]
IN_SMALL = ["--max_steps", "2", "--num_generations", "4", "--per_device_train_batch_size", "8", "--reward_workers", "1"]
# Edits that the small policy does not master, so that its answers differ in reward and gradients are not zero.
HARD_EDITS = ["--actions", "add", "move"]
SMALL_POLICY = {
    False: ["--max_steps", "8", "--heldout_tasks", "10", *HARD_EDITS, *ON_GPU],
    True: ["--heldout_tasks", "2", *HARD_EDITS, *IN_SMALL],
}
ALL_EDITS_BUT_SUPER_CELL = (
    "change", "remove", "add", "insert_between", "swap", "delete_below", "move", "move_towards", "rotate_around",
)  # fmt: skip
ANSWER_TOKENS = {False: 256, True: 24}
RANDOM_MODEL = {
    False: [
        *("--max_steps", "5", "--heldout_tasks", "2", "--min_sites", "4", "--max_sites", "12", "--prompt", "default"),
        *("--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "8", "--steps_per_generation", "8"),
        *("--learning_rate", "1e-6", "--activation_checkpointing", "true", *ON_GPU),
        *("--actions", *ALL_EDITS_BUT_SUPER_CELL),
    ],
    True: ["--heldout_tasks", "1", *IN_SMALL],
}
VLLM = ["--use_vllm", "true", "--vllm_mode", "colocate", "--vllm_gpu_memory_utilization", "0.3",
        "--vllm_max_model_length", "8192"]  # fmt: skip

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Cpu = Annotated[bool, typer.Option("--cpu/--gpu", help="In small, on a CPU.")]


@app.command()
def versions(cpu: Cpu = False) -> None:
    """Print the machine and the versions."""
    import torch

    device = "CPU" if cpu else f"{torch.cuda.get_device_name()}, {torch.cuda.mem_get_info()[1] / 1e9:.0f} GB"
    print(f"{device}; {os.cpu_count()} processors, Python {platform.python_version()}, CUDA {torch.version.cuda}")
    print(", ".join(f"{package} {_version(package)}" for package in PACKAGES))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Folder for the runs and the figures.")],
    model: Annotated[str, typer.Option(help="small, or random: a Qwen3 made on the spot.")] = "small",
    backend: Annotated[str, typer.Option(help="What generates: transformers or vllm.")] = "transformers",
    cpu: Cpu = False,
) -> None:
    """Train a few steps, and write what they took."""
    name = f"{model}-{backend}"
    if model == "small":
        options = ["--model_name_or_path", "small", *SMALL_POLICY[cpu]]
    else:
        from gpu_smoke_model import save_random_model

        path = save_random_model(out / "model", answer_tokens=ANSWER_TOKENS[cpu], tiny=cpu)
        length = ["--max_completion_length", str(ANSWER_TOKENS[cpu])]
        options = ["--model_name_or_path", str(path), *length, *RANDOM_MODEL[cpu]]
    if backend == "vllm":
        options += VLLM
    print(" ".join(options))
    memory = PeakMemory(cpu)
    begun = time.perf_counter()
    trainer = _train([*options, "--heldout_every", "0", "--save_strategy", "no", "--output_dir", str(out / name)])
    figures = _figures(trainer, time.perf_counter() - begun)
    figures["weights, millions"] = sum(weights.numel() for weights in trainer.model.parameters()) / 1e6
    _check(figures, trainer.state.log_history, trainer.args.max_steps)
    (out / f"{name}.json").write_text(json.dumps({"run": name, **figures, **memory.figures()}, indent=1) + "\n")


def _train(options: list[str]) -> Any:
    from training import grpo

    # The parser reads a recipe only from the command line.
    line = ["--config", str(RECIPE), *options]
    return grpo.main(*grpo.parser().parse_args_and_config(line))


def _figures(trainer: Any, seconds: float) -> dict[str, float]:
    """Of the steps after the first, which warms up."""
    steps = [line for line in trainer.state.log_history if "reward" in line]
    steady = steps[1:]
    answers = trainer.args.generation_batch_size
    took = sum(line["step_time"] for line in steady)
    lengths = [line["completions/mean_length"] for line in steady]
    evaluations = [line for line in trainer.state.log_history if "eval_success_strict" in line]
    return {
        "steps": len(steps),
        "seconds in all": seconds,
        "seconds a step": took / len(steady),
        "seconds of the first step": steps[0]["step_time"],
        "answers a second": answers * len(steady) / took,
        "answer tokens a second": answers * sum(lengths) / took,
        "answer tokens, mean": sum(lengths) / len(lengths),
        "reward share of a step": sum(line["atomworld/reward_share"] for line in steady) / len(steady),
        "reward, mean": sum(line["reward"] for line in steps) / len(steps),
        "held out, right before": evaluations[0]["eval_success_strict"],
        "held out, right after": evaluations[-1]["eval_success_strict"],
        "held out, readable after": evaluations[-1]["eval_parsable"],
        "held out, seconds": evaluations[-1]["eval_seconds"],
    }


def _check(figures: dict[str, float], history: list[dict[str, Any]], steps: int) -> None:
    """End with an error unless the run did what it should."""
    gradients = [line["grad_norm"] for line in history if "grad_norm" in line]
    evaluated = sum("eval_success_strict" in line for line in history)
    faults = [
        text
        for text, wrong in {
            f"{figures['steps']} steps instead of {steps}": figures["steps"] != steps,
            "a figure is not finite": not all(math.isfinite(value) for value in [*figures.values(), *gradients]),
            "no gradient at any step": not any(gradients),
            "not evaluated before and after": evaluated < 2,
        }.items()
        if wrong
    ]
    if faults:
        sys.exit(f"error: {'; '.join(faults)}")


class PeakMemory:
    """The most memory in use: torch's own count, and the whole device's, looked at twice a second."""

    def __init__(self, cpu: bool) -> None:
        self._cpu, self._device = cpu, 0
        if not cpu:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        import torch

        while True:
            free, total = torch.cuda.mem_get_info()
            self._device = max(self._device, total - free)
            time.sleep(0.5)

    def figures(self) -> dict[str, float]:
        """In GB."""
        if self._cpu:
            return {"peak memory of the process, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}
        import torch

        return {
            "peak GPU memory of torch, GB": torch.cuda.max_memory_allocated() / 1e9,
            "peak GPU memory of the device, GB": self._device / 1e9,
        }


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A file of figures.")]) -> None:
    """Print the figures of a run."""
    figures = json.loads(path.read_text(encoding="utf-8"))
    print(f"\n{figures.pop('run')}")
    for name, value in figures.items():
        print(f"  {name:34s} {value:10.4g}")


if __name__ == "__main__":
    app()
