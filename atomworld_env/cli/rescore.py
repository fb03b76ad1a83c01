"""`atomworld rescore`: verify the answers of a stored run again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from atomworld_env.cli.console import default_workers, print_json, progress_bar, stdout, writable_folder
from atomworld_env.cli.options import JsonOption, WorkersOption

EXAMPLES = """
Examples:

  atomworld rescore runs/qwen

  atomworld rescore runs/qwen --profile both --out runs/qwen-both

  atomworld rescore runs/qwen --tolerance 0.05 --out runs/qwen-005 --json
"""


def rescore(
    run: Annotated[Path, typer.Argument(help="Folder written by `atomworld evaluate`.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the new lines; without it they are only compared.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="strict, paper or both; that of the run when not given.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Å, strict profile; that of the run when not given.")
    ] = None,
    strict_tags: Annotated[
        bool | None, typer.Option("--strict-tags/--loose-tags", help="The published rule for tags, or this project's.")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="fast or reference; that of the run when not given.")] = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Verify stored answers again, without the model, and say which verdicts differ.

    With the settings of the run none should. With others (--profile, --tolerance, --strict-tags) the answers are judged
    anew, and --out keeps the result as a run of its own.
    """
    from atomworld_env.evaluation.manifest import read_manifest
    from atomworld_env.evaluation.records import stored_tasks
    from atomworld_env.evaluation.rescore import VERDICT_KEYS, rescore
    from atomworld_env.evaluation.summary import summarise, summary_table

    config = read_manifest(run)["config"]
    total = config["tasks"] * config["samples"]
    with TemporaryDirectory() as scratch, progress_bar(f"rescoring {run}", total, quiet=json) as advance:
        folder = Path(scratch) / "run" if out is None else writable_folder(out)
        done = rescore(
            run,
            folder,
            profile=profile,
            tolerance=tolerance,
            strict_tags=strict_tags,
            engine=engine,
            workers=workers or default_workers(),
            progress=lambda done, total: advance(done, ""),
        )
    rows = summarise(done.after, config, stored_tasks(run, config["suite"]).tasks)
    changed = done.changed
    if json:
        lines = [
            {"task_id": one["task_id"], "sample": one["sample"], "before": {key: one[key] for key in VERDICT_KEYS},
             "after": {key: other[key] for key in VERDICT_KEYS}}
            for one, other in changed
        ]  # fmt: skip
        print_json({"policy": config["policy"], "changed": lines, "rows": [row.to_json() for row in rows]})
        return
    stdout.print(summary_table(f"{config['policy']}, rescored", rows))
    stdout.print(f"{len(changed)} of {len(done.after)} answers have another verdict than before.")
    for one, other in changed[:10]:
        differing = [f"{key} {one[key]} -> {other[key]}" for key in VERDICT_KEYS if one[key] != other[key]]
        stdout.print(f"  {one['task_id']}: {', '.join(differing)}", markup=False, highlight=False)
