"""Put a pretrained model into the package, with its curve and what it can do, measured on unseen crystals.

python -m training.small_policy.publish runs/small --out training/small_policy/checkpoint
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from atomworld_env.cli.console import progress_bar, run, stdout
from atomworld_env.errors import UsageError
from atomworld_env.evaluation.summary import Share
from atomworld_env.policies.local_model import load_local_model
from atomworld_env.policies.sampling import Decoding
from atomworld_env.prompts.prompt import load_template
from training.small_policy import run_folder
from training.small_policy.progress_check import Check, check, held_out_tasks
from training.small_policy.tokenizer import build_tokenizer

CARD, README = "card.json", "README.md"
MEASURED_SPLITS = ("validation", "test")
PAGE_WIDTH = 118
MOST_BYTES = 6_000_000
"""Of weights; more does not belong into a package."""

COPIED_EDITS = ("change", "remove", "swap", "add")
"""The edits over which the headline figure is the mean."""

EXAMPLES = """
Examples:

  python -m training.small_policy.publish runs/small --out training/small_policy/checkpoint --command "..."
"""

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)


@app.command(epilog=EXAMPLES)
def publish(
    pretrained: Annotated[Path, typer.Argument(help="Folder of a run of training.pretrain.")],
    out: Annotated[Path, typer.Option(help="Folder for the model and its card.")],
    command: Annotated[str, typer.Option(help="The command that made it, for the card.")],
    machine: Annotated[str, typer.Option(help="The kind of machine it was made on, for the card.")] = "2-core CPU",
    per_action: Annotated[int, typer.Option(min=1, help="Tasks of each edit and split that are measured.")] = 100,
    batch_size: Annotated[int, typer.Option(min=1, help="Questions answered together.")] = 64,
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
) -> None:
    """Copy the weights of a run, without optimiser state, and write a card with success per edit."""
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(threads)
    for needed in (run_folder.SETTINGS, run_folder.CURVE, run_folder.MODEL):
        if not (pretrained / needed).exists():
            raise UsageError(f"{pretrained} holds no finished run (no {needed}); make one with training.pretrain")
    size = sum(path.stat().st_size for path in (pretrained / run_folder.MODEL).glob("*.safetensors"))
    if size > MOST_BYTES:
        raise UsageError(f"the weights have {size} bytes, more than {MOST_BYTES}; train a smaller network")
    settings = json.loads((pretrained / run_folder.SETTINGS).read_text(encoding="utf-8"))
    # The model is read from its new place, so that what is measured is what ships.
    fresh = out.with_name(f"{out.name}.partial")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(pretrained / run_folder.MODEL, fresh)
    # Written anew: the run's has the traces of its last use, padding among them.
    tokenizer = build_tokenizer(max_length=int(settings["shape"]["max_length"]))
    if tokenizer.get_vocab() != AutoTokenizer.from_pretrained(fresh).get_vocab():
        raise UsageError(f"{pretrained} was trained with another tokenizer than this version has; train it anew")
    tokenizer.save_pretrained(fresh)
    for file in fresh.iterdir():
        file.chmod(0o644)  # weights are written for their owner alone; a package is for everyone
    shutil.copy(pretrained / run_folder.CURVE, fresh / run_folder.CURVE)
    last = json.loads((fresh / run_folder.CURVE).read_text(encoding="utf-8").splitlines()[-1])
    policy = load_local_model(f"hf:{fresh}", Decoding(max_new_tokens=400), batch_size=batch_size)
    sites = (int(settings["curriculum"]["sites"][0]), int(settings["curriculum"]["sites"][1]))
    found = {}
    with progress_bar("measuring", len(MEASURED_SPLITS)) as advance:
        for done, split in enumerate(MEASURED_SPLITS):
            advance(done, f"measuring {split}")
            tasks = held_out_tasks(split, sorted(settings["curriculum"]["shares"]), sites=sites, per_action=per_action)
            found[split] = check(policy, tasks, load_template("short"))
        advance(len(MEASURED_SPLITS), "measured")
    card = {
        "command": command,
        "machine": machine,
        "seed": settings["seed"],
        "steps": last["step"],
        "minutes": last["minutes"],
        "tokens": last["tokens"],
        "parameters": int(policy.network.num_parameters()),
        "weight_bytes": size,
        "sites": list(sites),
        "settings": settings,
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        "python": platform.python_version(),
        "measured": {split: _figures(each) for split, each in found.items()},
    }
    run_folder.replace_text(fresh / CARD, json.dumps(card, indent=2) + "\n")
    run_folder.replace_text(fresh / README, readme(card))
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    stdout.print((out / README).read_text(encoding="utf-8"), markup=False, soft_wrap=True)


def _figures(found: Check) -> dict[str, Any]:
    mean = [found.rates[action] for action in COPIED_EDITS if action in found.rates]
    return {
        "success": {action: share.to_json() for action, share in found.success.items()},
        "mean_of_change_remove_swap_add": sum(mean) / len(mean) if mean else None,
        "reward": found.reward,
        "parsable": found.parsable,
        "copied": found.copied,
    }


def readme(card: Mapping[str, Any]) -> str:
    """The card as a page."""
    measured = card["measured"]
    practised = sorted(card["settings"]["curriculum"]["shares"])
    actions = [name for name in (*COPIED_EDITS, *practised) if name in practised]
    actions = list(dict.fromkeys(actions))
    rows = [
        f"| {action} | " + " | ".join(_cell(each["success"].get(action)) for each in measured.values()) + " |"
        for action in actions
    ]
    means = [each["mean_of_change_remove_swap_add"] for each in measured.values()]
    low, high = card["sites"]
    paragraphs = [
        f"A Qwen3 decoder of {card['parameters']:,} parameters with random first weights, trained on right answers to "
        f"edits of crystals with {low} to {high} sites in the compact CIF style. It knows nothing else: use it with "
        "`--prompt short`.",
        "    atomworld evaluate --policy hf:small --prompt short --suite SUITE --out RUN",
        "Made by",
        f"    {card['command']}",
        f"on a {card['machine']}: seed {card['seed']}, {card['steps']} steps, {card['tokens']:,} tokens, "
        f"{card['minutes']:.0f} minutes. `curve.jsonl` has the loss and the success on validation crystals while it "
        "learnt, `card.json` all settings and figures.",
        "Strict success in percent, greedy answers, on different tasks of crystals whose families it has not seen "
        "(95 % Wilson intervals over tasks; a dash where the split's small cells do not admit the edit):",
    ]
    text = [each if each.startswith(" ") else fill(each, PAGE_WIDTH, break_on_hyphens=False) for each in paragraphs]
    table = [
        "| edit | " + " | ".join(measured) + " |",
        "|---|" + "---|" * len(measured),
        *rows,
        "| mean of change, remove, swap, add | "
        + " | ".join("–" if mean is None else f"**{100 * mean:.0f}**" for mean in means)
        + " |",
    ]
    return "\n\n".join(["# The small policy", *text, "\n".join(table)]) + "\n"


def _cell(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return "–"
    low, high = Share(share["right"], share["of"]).interval or (0.0, 1.0)
    return f"{100 * share['right'] / share['of']:.0f} ({100 * low:.0f} … {100 * high:.0f}), n = {share['of']}"


if __name__ == "__main__":
    run(app)
