"""`atomworld audit`: what answers earn that deserve little."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.cli.console import action_names, default_workers, print_json, progress_bar, stdout, writable_file
from atomworld_env.cli.options import ActionsOption, FamilyOption, JsonOption, WorkersOption, family_named
from atomworld_env.errors import UsageError

EXAMPLES = """
Examples:

  atomworld audit

  atomworld audit --per-action 500 --workers 8 --out docs/audit.md

  atomworld audit --actions move,swap --per-action 100 --schemes shaped,distance --json

  atomworld audit --family coordinates
"""


def audit(
    family: FamilyOption = "edits",
    per_action: Annotated[
        int | None, typer.Option(min=2, help="Tasks of each kind; 50 of an edit, else the suite's, when not given.")
    ] = None,
    actions: ActionsOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Root of all random numbers.")] = 0,
    schemes: Annotated[
        str | None, typer.Option(help="Comma-separated reward schemes: shaped, strict, distance, paper; all of them.")
    ] = None,
    paper_per_action: Annotated[
        int,
        typer.Option(min=0, help="Tasks of each kind for the scheme paper, which may take seconds an answer."),
    ] = 5,
    workers: WorkersOption = None,
    json: JsonOption = False,
    out: Annotated[Path | None, typer.Option("--out", help="File for the whole report, as Markdown.")] = None,
) -> None:
    """Measure what lazy, spoiled and calculating answers earn.

    Copies, echoes, garbage and the like may earn no more than a readable answer; truths that were mirrored,
    scaled or shifted no more than a readable answer of the right composition. The status is 1 when a kind of
    answer earns more than that on a kind of task under `shaped` or `strict`, or ever succeeds.
    """
    from atomworld_env.audit.bounds import breaches
    from atomworld_env.audit.measure import audit_suite, audit_tasks, number_of_answers
    from atomworld_env.audit.report import HOLDS, as_markdown
    from atomworld_env.audit.summary import Setting, as_json, summary_tables
    from rewards import SCHEMES

    entry = family_named(family)
    family = entry.name
    offered = [name for name in SCHEMES if name != "paper" or entry.has_paper]
    named = offered if schemes is None else schemes.split(",")
    chosen = tuple(dict.fromkeys(name.strip() for name in named if name.strip()))
    for name in chosen:
        if name not in offered:
            raise UsageError(f"unknown reward scheme {name!r}; choose from {', '.join(offered)}")
    if not chosen:
        raise UsageError(f"no reward scheme is given; choose from {', '.join(offered)}")
    if out is not None:
        writable_file(out)
    names = action_names(actions, family)
    per_action = per_action or (50 if entry.suite is None else entry.per_action)
    processes = workers or default_workers()
    functions = {name: SCHEMES[name] for name in chosen}
    made = count(1)
    with progress_bar("making tasks", per_action * len(names), quiet=json) as advance:
        suite = audit_tasks(
            per_action,
            names,
            seed,
            family=family,
            progress=lambda action, of_edit, wanted: advance(next(made), f"making tasks: {action}"),
        )
    answers = number_of_answers(suite, schemes=functions, paper_per_action=paper_per_action)
    with progress_bar("auditing", answers, quiet=json) as advance:
        measured = audit_suite(
            suite,
            schemes=functions,
            seed=seed,
            workers=processes,
            paper_per_action=paper_per_action,
            progress=lambda done, total: advance(done, "auditing"),
        )
    broken = breaches(measured)
    setting = Setting(per_action, names, seed, chosen, paper_per_action, processes, family)
    if out is not None:
        out.write_text(as_markdown(measured, broken, setting), encoding="utf-8")
    if json:
        print_json(as_json(measured, broken, setting))
    else:
        for table in summary_tables(measured):
            stdout.print(table)
        for breach in broken:
            stdout.print(f"bound broken: {breach}", style="red", markup=False, highlight=False, soft_wrap=True)
        if not broken:
            stdout.print(HOLDS, highlight=False)
    if broken:
        raise typer.Exit(1)
