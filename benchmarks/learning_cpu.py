"""Does GRPO make the small policy better at edits of crystals it has never seen? Minutes on a CPU.

    python benchmarks/learning_cpu.py --out runs/learning
    python benchmarks/learning_cpu.py --out runs/learning-paper --scheme paper --actions change,remove,move,move_towards

For each seed the small policy is trained by `python -m training.grpo` with the recipe `cpu_small.yaml`, on structures
of the training split. Before and after it is asked, greedily, the same tasks on structures of the test split, through
the environment. The difference in strict success is the mean over the seeds, with a 95 % interval over the structures.
What is finished is kept: the same line goes on after a kill.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from atomworld_env.evaluation.paired import clustered_interval
from atomworld_env.evaluation.records import Record
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.local_model import load_local_model
from atomworld_env.policies.sampling import Decoding
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, SuiteRecipe, make_suite
from atomworld_env.tasks.task import Task
from training.heldout import EVALUATIONS, is_copy

RECIPE = Path(__file__).resolve().parents[1] / "training" / "recipes" / "cpu_small.yaml"
DECODING = Decoding(max_new_tokens=224)
BATCH_SIZE = 50


def main(
    out: Annotated[Path, typer.Option(help="Folder for the runs.")],
    seeds: Annotated[int, typer.Option(min=1, help="Runs, each with a seed of its own.")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each run.")] = 100,
    per_action: Annotated[int, typer.Option(min=2, help="Test tasks of each edit.")] = 60,
    actions: Annotated[str, typer.Option(help="Edits, comma-separated.")] = "change,remove,swap,add",
    scheme: Annotated[str, typer.Option(help="Reward: shaped, strict, paper or distance.")] = "shaped",
    model: Annotated[str, typer.Option(help="What is trained: hf:small or hf:PATH.")] = "hf:small",
) -> None:
    """Train with several seeds and compare before with after on unseen structures."""
    names = tuple(actions.split(","))
    config = SamplerConfig(split="test", actions=names, min_sites=2, max_sites=6, cif_style="compact")
    suite = make_suite(SuiteRecipe("small-cells", config, per_action=per_action, seed=0))
    profile = "both" if scheme == "paper" else "strict"
    before = _asked(model, suite, out / "before", profile)
    afters, minutes = [], []
    for seed in range(seeds):
        folder = out / f"seed-{seed}"
        begun = perf_counter()
        _train(folder, seed, steps, names, scheme, model)
        minutes.append((perf_counter() - begun) / 60)
        afters.append(_asked(f"hf:{folder}", suite, out / f"after-{seed}", profile))
    where = f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()})"
    lines = _lines(before, afters, suite, profile)
    print(f"\n{where}: {seeds} seeds, {steps} steps, scheme {scheme}, {', '.join(f'{m:.1f}' for m in minutes)} min")
    print("\n".join(lines))
    (out / "learning.txt").write_text("\n".join([where, *lines]) + "\n", encoding="utf-8")
    _plot([out / f"seed-{seed}" for seed in range(seeds)], out / "learning.png", f"{where}, scheme {scheme}")


def _asked(name: str, suite: Suite, folder: Path, profile: str) -> list[Record]:
    policy = load_local_model(name, DECODING, batch_size=BATCH_SIZE)
    template = load_template("short")
    resume = (folder / "manifest.json").exists()
    return evaluate(policy, suite, folder, profile=profile, template=template, workers=1, resume=resume)


def _train(folder: Path, seed: int, steps: int, actions: Sequence[str], scheme: str, model: str) -> None:
    if (folder / "model.safetensors").exists():
        return
    options = {
        "--output_dir": folder,
        "--seed": seed,
        "--max_steps": steps,
        "--reward_scheme": scheme,
        "--heldout_split": "test",
        "--model_name_or_path": model.removeprefix("hf:"),
    }
    words = [str(word) for pair in options.items() for word in pair]
    if folder.exists():
        words += ["--resume_from_checkpoint", "last"]
    command = [sys.executable, "-m", "training.grpo", "--config", str(RECIPE), *words, "--actions", *actions]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".log").open("a", encoding="utf-8") as log:
        subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT)


def _lines(before: list[Record], afters: list[list[Record]], suite: Suite, profile: str) -> list[str]:
    """Success and copies before and after, by edit, with the interval of the difference."""
    tasks = {task.task_id: task for task in suite.tasks}
    actions = [*dict.fromkeys(record["action"] for record in before), "all"]
    keys = {"strict": "success"} | ({"paper": "success_paper"} if profile == "both" else {})
    lines = []
    for action in actions:
        mine = [record for record in before if action in (record["action"], "all")]
        later = [{record["task_id"]: record for record in run} for run in afters]
        structures = [record["structure_id"] for record in mine]
        for name, key in keys.items():
            then = [[bool(run[record["task_id"]][key]) for run in later] for record in mine]
            now = [bool(record[key]) for record in mine]
            lines.append(f"{action:14s} {name:7s}" + _change(now, then, structures))
        copied = [_copied(record, tasks) for record in mine]
        copies = [[_copied(run[record["task_id"]], tasks) for run in later] for record in mine]
        lines.append(f"{action:14s} copied " + _change(copied, copies, structures))
    return lines


def _copied(record: Record, tasks: Mapping[str, Task]) -> bool:
    return not record["success"] and is_copy(record["answer"], tasks[record["task_id"]])


def _change(before: Sequence[bool], after: Sequence[Sequence[bool]], structures: Sequence[str]) -> str:
    changes = [float(np.mean(runs)) - value for value, runs in zip(before, after, strict=True)]
    low, high = clustered_interval(changes, structures) or (float("nan"), float("nan"))
    each = ", ".join(f"{100 * np.mean(run):.1f}" for run in zip(*after, strict=True))
    return (
        f" n {len(before):4d}  before {100 * np.mean(before):5.1f} %  after {each} %  "
        f"difference {100 * np.mean(changes):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    )


def _plot(folders: Sequence[Path], path: Path, title: str) -> None:
    """Held-out success and copies against the step, a thin line for each seed and the mean."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6.4, 4), constrained_layout=True)
    for key, colour, label in (("success", "tab:blue", "right (strict)"), ("copied", "tab:red", "copy of the input")):
        by_step: dict[int, list[float]] = defaultdict(list)
        for folder in folders:
            curve = {
                int(file.stem.rpartition("_")[2]): float(
                    np.mean([json.loads(line)[key] for line in file.read_text(encoding="utf-8").splitlines()])
                )
                for file in sorted((folder / EVALUATIONS).glob("step_*.jsonl"))
            }
            axis.plot(list(curve), list(curve.values()), color=colour, alpha=0.35, lw=1)
            for step, value in curve.items():
                by_step[step].append(value)
        axis.plot(list(by_step), [np.mean(values) for values in by_step.values()], color=colour, lw=2.2, label=label)
    axis.set(xlabel="step", ylabel="share of held-out answers", ylim=(0, 1))
    axis.set_title(title, fontsize=9)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    typer.run(main)
