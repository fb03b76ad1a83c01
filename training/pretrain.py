"""Pretrain the small policy from oracle answers.

    python -m training.pretrain --out runs/small --minutes 120
    python -m training.pretrain --out runs/small --minutes 240 --resume     # after a kill, or to go on

The order of the data depends on the seed alone, so a resumed run sees what it would have seen. With a budget in minutes
the learning rate follows the clock; with ``--steps`` alone the whole run is the same on any machine of one kind.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from atomworld_env.cli.console import action_names, progress_bar, run, stderr, stdout
from atomworld_env.errors import UsageError

EXAMPLES = """
Examples:

  python -m training.pretrain --out runs/small --minutes 120

  python -m training.pretrain --out runs/small --minutes 240 --resume

  python -m training.pretrain --out runs/tiny --sites 2 3 --actions remove --steps 50 --width 64 --layers 2
"""

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)


@app.command(epilog=EXAMPLES)
def pretrain(
    out: Annotated[Path, typer.Option(help="Folder of the run: settings, curve, state, model.")],
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Minutes of training, resumed parts included.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of training, resumed parts included.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out with the same settings.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the first weights and of the data.")] = 0,
    sites: Annotated[tuple[int, int], typer.Option(help="Fewest and most sites of a crystal.")] = (2, 6),
    easy_pairs: Annotated[int, typer.Option(min=0, help="Pairs over which the most sites grow to --sites.")] = 10_000,
    actions: Annotated[
        str | None, typer.Option(help="Comma-separated edits, practised evenly; else six, in shares of their own.")
    ] = None,
    width: Annotated[int, typer.Option(min=16, help="Width of the network.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the network.")] = 4,
    heads: Annotated[int, typer.Option(min=1, help="Attention heads; divides the width.")] = 4,
    feed_forward: Annotated[int, typer.Option(min=16, help="Width inside the feed-forward part.")] = 256,
    batch_tokens: Annotated[int, typer.Option(min=256, help="Tokens of one step.")] = 2048,
    rate: Annotated[float, typer.Option(min=1e-6, help="Learning rate on the level.")] = 0.01,
    warmup: Annotated[int, typer.Option(min=0, help="Steps of rising learning rate.")] = 50,
    decay: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the budget with a falling rate.")] = 0.25,
    muon: Annotated[bool, typer.Option("--muon/--adamw", help="Optimiser of the matrices.")] = True,
    bfloat16: Annotated[bool, typer.Option("--bfloat16/--float32", help="Precision of the matrix products.")] = True,
    check_every: Annotated[float, typer.Option(min=0.01, help="Minutes between checks on unseen crystals.")] = 5.0,
    save_every: Annotated[float, typer.Option(min=0.01, help="Minutes between checkpoints.")] = 3.0,
    per_action: Annotated[int, typer.Option(min=1, help="Tasks of each edit in a check.")] = 20,
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar; for logs.")] = False,
) -> None:
    """Train a decoder of under a million parameters to edit small crystals, on a CPU.

    The budget is --minutes, --steps or both, whichever ends first; an hour when neither is given.
    """
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    import torch

    from training.small_policy.architecture import Shape
    from training.small_policy.optimisers import Schedule
    from training.small_policy.practice import DEFAULT_SHARES, Curriculum
    from training.small_policy.pretraining import Budget, Settings
    from training.small_policy.pretraining import pretrain as train

    torch.set_num_threads(threads)
    if not 1 <= sites[0] <= sites[1]:
        raise UsageError(f"--sites takes the fewest and the most sites, got {sites[0]} {sites[1]}")
    if width % heads:
        raise UsageError(f"--heads must divide --width, got {heads} and {width}")
    shares = dict(DEFAULT_SHARES) if actions is None else dict.fromkeys(action_names(actions), 1.0)
    settings = Settings(
        seed=seed,
        shape=Shape(width=width, layers=layers, heads=heads, feed_forward=feed_forward),
        curriculum=Curriculum(sites=sites, easy_pairs=easy_pairs, shares=shares),
        schedule=Schedule(peak=rate, warmup_steps=warmup, decay=decay),
        batch_tokens=batch_tokens,
        muon=muon,
        bfloat16=bfloat16,
    )
    limit = 60.0 if minutes is None and steps is None else minutes
    budget = Budget(limit, steps, check_every=check_every, save_every=save_every, per_action=per_action)
    with progress_bar("pretraining", 1000, quiet=quiet) as advance:

        def report(line: dict[str, Any]) -> None:
            advance(int(1000 * min(1.0, budget.spent(line["step"], 60.0 * line["minutes"]))), _words(line))
            if quiet or "success" in line:
                stderr.print(_words(line), highlight=False, soft_wrap=True)

        reached = train(out, settings, budget, resume=resume, report=report)
    stdout.print(f"{reached.step} steps, {reached.tokens} tokens, {reached.seconds / 60:.1f} minutes: {out / 'model'}")


def _words(line: dict[str, Any]) -> str:
    start = f"step {line['step']} {line['minutes']:.1f} min"
    if "success" in line:
        shares = " ".join(f"{action} {share:.2f}" for action, share in line["success"].items())
        return f"{start}: success {shares}, parsable {line['parsable']:.2f}"
    return f"{start}: loss {line['loss']:.3f}, up to {line['most_sites']} sites"


if __name__ == "__main__":
    run(app)
