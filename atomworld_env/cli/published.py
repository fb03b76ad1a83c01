"""The published benchmark: its files in (`atomworld import`) and out (`atomworld export`), its results beside ours."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.cli.console import (
    print_json,
    progress_bar,
    stdout,
    writable_file,
    writable_folder,
    write_tables,
)
from atomworld_env.cli.options import ActionsOption, JsonOption, OutFolderOption
from atomworld_env.errors import UsageError

PROBLEMS = "problems.jsonl"

PROMPT_NOTE = (
    "Evaluate these with a --prompt of their own (docs/comparing-with-the-paper.md has one): the default prompt states "
    "conventions, such as nearest images, that published targets do not follow."
)

IMPORT_EXAMPLES = """
Examples:

  atomworld import data/simple --out runs/published

  atomworld import RotateAroundAtomAction.json --out runs/published-rotate

  atomworld import AtomWorldBench/ --split bench --out runs/published
"""

EXPORT_EXAMPLES = """
Examples:

  atomworld export atommotor --out atommotor.json

  atomworld export runs/mine --out data/mine
"""


def import_published(
    source: Annotated[
        Path, typer.Argument(help="JSON file or folder, CSV with HDF5, or a Hugging Face data set on disk.")
    ],
    out: OutFolderOption,
    name: Annotated[str, typer.Option(help="Name of the suite.")] = "published",
    split: Annotated[str | None, typer.Option(help="Split of a data set; bench where it is there.")] = None,
    with_paper: Annotated[
        bool,
        typer.Option(
            "--paper/--no-paper", help="Look whether unchanged inputs pass the paper profile (minutes for 2,500)."
        ),
    ] = True,
    json: JsonOption = False,
) -> None:
    """Make a suite of the published benchmark's records: tasks.jsonl, tasks.parquet, suite.json and problems.jsonl.

    Prompts and targets are kept as stored. What is wrong with a record is written to problems.jsonl, one line each;
    only a record that cannot be scored is left out.
    """
    from rich.table import Table

    from atomworld_env.tasks.published import KINDS, import_records
    from atomworld_env.tasks.published_files import read_published

    records = list(read_published(source, split))
    if not records:
        raise UsageError(f"{source} holds no record; give a file or folder of the published benchmark")
    folder = writable_folder(out)
    with progress_bar("checking records", len(records), quiet=json) as advance:
        imported = import_records(
            records,
            name=name,
            split=split or "bench",
            with_paper=with_paper,
            progress=lambda done: advance(done, "checking records"),
        )
    lines = [json_module.dumps(problem.to_json(), ensure_ascii=False) + "\n" for problem in imported.problems]
    if imported.suite.tasks:
        imported.suite.write(folder)
    (folder / PROBLEMS).write_text("".join(lines), encoding="utf-8")
    if not imported.suite.tasks:
        raise UsageError(f"none of the {len(records)} records can be used; {folder / PROBLEMS} says why")
    if json:
        print_json({**imported.suite.summary(), "records": len(records), "problems": imported.counts})
        return
    stdout.print(
        f"{len(imported.suite.tasks)} tasks of {len(records)} records in {folder} "
        f"(fingerprint {imported.suite.fingerprint})",
        highlight=False,
        soft_wrap=True,
    )
    if imported.problems:
        table = Table(
            "records", "problem", "meaning", title=f"Problems ({PROBLEMS} has a line each)", title_justify="left"
        )
        for kind, count in imported.counts.items():
            table.add_row(str(count), kind, KINDS[kind])
        stdout.print(table)
    stdout.print(PROMPT_NOTE, highlight=False)


def export_suite(
    suite: Annotated[str, typer.Argument(help="A suite's name, or a file or folder of tasks.")],
    out: Annotated[Path, typer.Option("--out", help="A .json file, or a folder that gets one file for each edit.")],
    actions: ActionsOption = None,
    per_action: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of each edit.")] = None,
    json: JsonOption = False,
) -> None:
    """Write a suite in the record layout of the published benchmark, for its own tools."""
    from atomworld_env.cli.console import action_names
    from atomworld_env.tasks.published_export import export_tasks
    from atomworld_env.tasks.suite import load_suite

    if out.suffix == ".json":
        writable_file(out)
    else:
        writable_folder(out)
    with progress_bar("loading the suite", 1, quiet=json) as advance:
        tasks = load_suite(suite).restricted(None if actions is None else action_names(actions), per_action).tasks
        advance(1, "loading the suite")
    files = export_tasks(tasks, out)
    if json:
        print_json({"records": len(tasks), "files": [str(file) for file in files]})
    else:
        stdout.print(f"{len(tasks)} records in {out}", highlight=False, soft_wrap=True)


def beside_published_models(runs: Sequence[Path], out: Path | None, *, json: bool) -> None:
    """Print stored runs beside the published models, and write the table to a file if one is given."""
    from atomworld_env.evaluation.asked import tasks_where_needed
    from atomworld_env.evaluation.manifest import read_manifest
    from atomworld_env.evaluation.published_results import beside_published, beside_tables
    from atomworld_env.evaluation.records import stored_results
    from atomworld_env.evaluation.statistics import RunStatistics, run_statistics

    statistics: dict[str, RunStatistics] = {}
    for folder in runs:
        config, records = read_manifest(folder)["config"], stored_results(folder)
        name = str(config["policy"])
        tasks = tasks_where_needed(folder, config, records)
        statistics[name if name not in statistics else str(folder)] = run_statistics(records, config, tasks)
    rows = beside_published(statistics)
    if json:
        print_json([row.to_json() for row in rows])
        return
    tables = beside_tables(rows)
    for table in tables:
        stdout.print(table)
    if out is not None:
        write_tables(out, tables)
