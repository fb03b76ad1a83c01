"""Before and after: two models (or stored runs) on the same tasks, compared task by task.

    python -m training.compare hf:small runs/grpo --suite runs/small-tasks --prompt short --out runs/before-after
    python -m training.compare runs/noop hf:runs/grpo --suite atommotor --per-action 50 --out runs/compared

BASE and TUNED are each a folder that holds a model, ``hf:PATH``, the name of a policy, or the folder of a run of
``atomworld evaluate`` over the same tasks. Models are asked through the environment; what is answered is on disk at
once, and ``--resume`` goes on after a kill.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.cli.console import action_names, default_workers, progress_bar, run, stdout, writable_folder
from atomworld_env.cli.options import ActionsOption, JsonOption, OutFolderOption, PromptOption, WorkersOption
from atomworld_env.evaluation.paired import PROFILES, PairedRow, compare_runs, paired_table
from atomworld_env.evaluation.records import RESULTS, Record, stored_results
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.baselines import load_policy
from atomworld_env.policies.local_model import PREFIX, load_local_model
from atomworld_env.policies.policy import Policy
from atomworld_env.policies.sampling import Decoding
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.suite import Suite, load_suite

EXAMPLES = """
Examples:

  python -m training.compare hf:small runs/grpo --suite runs/small-tasks --prompt short --out runs/before-after

  python -m training.compare noop hf:runs/grpo --suite atommotor --per-action 50 --out runs/compared
"""

COMPARISON = "comparison"

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)


@app.command(epilog=EXAMPLES)
def compare(
    base: Annotated[str, typer.Argument(help="Model folder, hf:PATH, policy name, or folder of a run.")],
    tuned: Annotated[str, typer.Argument(help="The same, of what came out of training.")],
    out: OutFolderOption,
    suite: Annotated[str, typer.Option(help="A suite's name, or a file or folder of tasks.")] = "atommotor",
    per_action: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of each edit.")] = None,
    actions: ActionsOption = None,
    prompt: PromptOption = "default",
    profile: Annotated[str, typer.Option(help="strict, or both.")] = "both",
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.")] = 2048,
    batch_size: Annotated[int, typer.Option(min=1, help="Questions that a model is asked together.")] = 16,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 for greedy answers.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of sampled answers.")] = 0,
    workers: WorkersOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the comparison in --out.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Success of two models per edit with intervals, and a paired test, in both profiles.

    The tables are printed and written to comparison.txt and comparison.json in --out.
    """
    folder = writable_folder(out)
    names = None if actions is None else action_names(actions)
    questions = load_suite(suite).restricted(names, per_action)
    decoding = Decoding(max_new_tokens, temperature, seed)
    runs = []
    for side, given in (("base", base), ("tuned", tuned)):
        stored = Path(given) / RESULTS
        if stored.is_file():
            wanted = {task.task_id for task in questions.tasks}
            runs.append([record for record in stored_results(Path(given)) if record["task_id"] in wanted])
            continue
        policy = _policy(given, decoding, batch_size)
        runs.append(_run(policy, questions, folder / side, prompt, profile, seed, workers, resume, quiet=as_json))
    rows = compare_runs(*runs)
    _write(rows, base, tuned, folder)
    if as_json:
        typer.echo(json.dumps([row.to_json() for row in rows]))
    else:
        stdout.print((folder / f"{COMPARISON}.txt").read_text(encoding="utf-8"), end="", highlight=False)


def _policy(given: str, decoding: Decoding, batch_size: int) -> Policy:
    if given.startswith(PREFIX):
        return load_local_model(given, decoding, batch_size=batch_size)
    if Path(given).is_dir():
        return load_local_model(PREFIX + given, decoding, batch_size=batch_size)
    return load_policy(given, seed=decoding.seed)


def _run(
    policy: Policy,
    questions: Suite,
    folder: Path,
    prompt: str,
    profile: str,
    seed: int,
    workers: int | None,
    resume: bool,
    *,
    quiet: bool,
) -> list[Record]:
    with progress_bar(policy.name, len(questions.tasks), quiet=quiet) as advance:
        return evaluate(
            policy,
            questions,
            folder,
            profile=profile,
            template=load_template(prompt),
            seed=seed,
            workers=workers or default_workers(),
            resume=resume,
            progress=lambda done, total: advance(done, policy.name),
        )


def _write(rows: list[PairedRow], base: str, tuned: str, folder: Path) -> None:
    from rich.console import Console

    with (folder / f"{COMPARISON}.txt").open("w", encoding="utf-8") as file:
        console = Console(file=file, width=110)
        for profile in PROFILES:
            if any(row.profile == profile for row in rows):
                console.print(paired_table(rows, profile, base, tuned))
    text = json.dumps([row.to_json() for row in rows], indent=1)
    (folder / f"{COMPARISON}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(app)
