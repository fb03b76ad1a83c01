"""`atomworld report`: stored runs as a page, figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atomworld_env.cli.console import print_json, progress_bar, stderr, stdout, writable_folder
from atomworld_env.cli.options import JsonOption

EXAMPLES = """
Examples:

  atomworld report runs/qwen

  atomworld report runs/small runs/trained --title "Before and after" --out runs/report

  atomworld report runs/qwen runs/noop --no-answers --json

  atomworld report runs/qwen-edits runs/qwen-coordinates runs/qwen-cif-repair runs/qwen-competence --out runs/skills
"""


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders written by `atomworld evaluate`; others are compared with the first.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report; `report` in the first run's when not given.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    answers: Annotated[
        bool, typer.Option("--answers/--no-answers", help="With or without the browser of single answers.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Write stored runs as one HTML page that works offline, with figures and tables for a paper.

    The page has success per edit beside the published models and the floor of the unchanged input, figures, a paired
    comparison, and a browser of single answers with the crystals in 3-D. With runs over the diagnostic suites it has
    the profile of each model over its skills, too.
    """
    from atomworld_env.competence.stored import is_competence_run
    from atomworld_env.evaluation.manifest import MANIFEST, read_manifest
    from atomworld_env.report.page import require_report_extra
    from atomworld_env.report.write_report import write_report

    require_report_extra()
    kept = [folder for folder in runs if (folder / MANIFEST).is_file()]
    if kept and len(kept) < len(runs):
        left = ", ".join(str(folder) for folder in runs if folder not in kept)
        stderr.print(f"left out, no run: {left}", markup=False, highlight=False, soft_wrap=True)
    runs = kept or runs
    configs = [read_manifest(folder)["config"] for folder in runs if not is_competence_run(folder)]
    attempts = sum(config["tasks"] * config["samples"] for config in configs)
    place = writable_folder(out or runs[0] / "report")
    with progress_bar("reading the runs", attempts, quiet=json) as advance:
        written = write_report(runs, place, title=title, with_answers=answers, progress=advance)
    if json:
        print_json(written.to_json())
        return
    size = written.page.stat().st_size / 1e6
    stdout.print(
        f"{written.page} ({size:.1f} MB, opens in any browser, no network)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if written.figures:
        where = written.figures[0].parent
        stdout.print(f"{len(written.figures)} figures in {where}", markup=False, highlight=False, soft_wrap=True)
    stdout.print(f"tables: {', '.join(map(str, written.tables))}", markup=False, highlight=False, soft_wrap=True)
    for refusal in written.not_compared:
        stdout.print(refusal, markup=False, highlight=False, soft_wrap=True)
