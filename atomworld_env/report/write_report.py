"""Everything `atomworld report` writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atomworld_env.competence.stored import CompetenceResult, is_competence_run, read_competence
from atomworld_env.envs.crystal_panel import element_colour
from atomworld_env.envs.marks import COLOURS, MEANINGS
from atomworld_env.envs.projection import drawn_radius
from atomworld_env.report.answer_browser import browser_data, packed
from atomworld_env.report.charts import report_charts
from atomworld_env.report.page import Page, render_page
from atomworld_env.report.palette import UNANSWERED, VERDICT_COLOURS, VERDICT_WORDS, run_style
from atomworld_env.report.pictures import write_pictures
from atomworld_env.report.plotly_charts import plotly_figure
from atomworld_env.report.published import published_models
from atomworld_env.report.run_against_run import Comparison, comparisons
from atomworld_env.report.sections import report_sections
from atomworld_env.report.skills import Skills, skills_of
from atomworld_env.report.stored_run import StoredRun, read_runs, same_tasks, shortened
from atomworld_env.report.success_table import SuccessTable, success_tables
from atomworld_env.report.text_tables import csv_table, markdown_tables

PAGE = "report.html"

Progress = Callable[[int, str], None]
"""Called with the number of attempts done, and what is being done."""


@dataclass(frozen=True)
class WrittenReport:
    """What was written.

    Attributes:
        page: the HTML file.
        figures: PNG and SVG files.
        tables: ``table.md``, ``table.csv``, ``statistics.json``.
        runs: the runs it is about.
        compared: the paired tests, or why there are none.
        competence: the runs of chemical competence.
    """

    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    runs: tuple[StoredRun, ...]
    compared: tuple[Comparison, ...]
    competence: tuple[CompetenceResult, ...] = ()

    @property
    def not_compared(self) -> list[str]:
        """Runs without a paired test, each with the reason."""
        return [f"{self.runs[each.after].label}: {each.refusal}" for each in self.compared if each.refusal]

    def to_json(self) -> dict[str, Any]:
        """Paths, and success over all tasks of each run."""
        return {
            "page": str(self.page),
            "figures": [str(path) for path in self.figures],
            "tables": [str(path) for path in self.tables],
            "runs": [
                {
                    "label": run.label,
                    "folder": str(run.folder),
                    "strict": run.overall.strict.to_json(),
                    "paper": run.overall.paper.to_json(),
                    "floor": run.overall.floor.to_json(),
                    "unanswered": run.overall.unanswered,
                    "truncated": run.overall.truncated,
                }
                for run in self.runs
            ],
            "competence": [result.to_json() for result in self.competence],
            "not_compared": self.not_compared,
        }


def write_report(
    folders: Sequence[Path],
    out: Path,
    *,
    title: str | None = None,
    with_answers: bool = True,
    progress: Progress | None = None,
) -> WrittenReport:
    """Read runs, and write the page, the figures and the tables into a folder.

    Args:
        folders: of the runs; the first is what the others are compared with.
        title: of the page; made from the runs when not given.
        with_answers: whether the page has the browser of single answers.

    Raises:
        UsageError: if a folder holds no run, or a run cannot be read.
    """
    say = progress or (lambda done, doing: None)
    say(0, "reading the runs")
    competence = [read_competence(folder) for folder in folders if is_competence_run(folder)]
    runs = read_runs([folder for folder in folders if not is_competence_run(folder)])
    tables = success_tables(runs, published_models())
    charts = report_charts(runs, tables)
    skills = skills_of(runs, competence, published_models())
    compared = comparisons(runs)
    out.mkdir(parents=True, exist_ok=True)
    answers = browser_data(runs, lambda done: say(done, "comparing sites")) if with_answers and runs else None
    every_chart = [*charts, *([] if skills is None else skills.charts)]
    figures = {chart.name: plotly_figure(chart) for chart in every_chart}
    page = Page(
        title or _title(runs, competence),
        _subtitle(runs, competence),
        report_sections(runs, tables, charts, compared, skills, with_answers=with_answers),
        figures,
        None if answers is None else packed(answers),
        _colours(runs, answers),
    )
    say(sum(run.overall.attempts for run in runs), "writing")
    path = out / PAGE
    path.write_text(render_page(page), encoding="utf-8")
    pictures = write_pictures(every_chart, out / "figures")
    return WrittenReport(
        path,
        tuple(pictures),
        _write_tables(runs, tables, compared, skills, competence, out),
        tuple(runs),
        tuple(compared),
        tuple(competence),
    )


def _write_tables(
    runs: Sequence[StoredRun],
    tables: Sequence[SuccessTable],
    compared: Sequence[Comparison],
    skills: Skills | None,
    competence: Sequence[CompetenceResult],
    out: Path,
) -> tuple[Path, ...]:
    kinds = [] if skills is None else list(skills.tables.values())
    statistics = {
        "runs": [
            {"label": run.label, "config": run.config, "versions": run.versions, "failures": run.failures,
             "statistics": run.statistics.to_json()}
            for run in runs
        ],
        "paired": [
            {"before": runs[each.before].label, "after": runs[each.after].label,
             "rows": [row.to_json() for row in each.rows], "not_compared": each.refusal or None}
            for each in compared
        ],
        "competence": [result.to_json() for result in competence],
    }  # fmt: skip
    texts = {
        "table.md": markdown_tables(runs, tables, skills),
        "table.csv": csv_table(runs, [*tables, *kinds]),
        "statistics.json": json.dumps(statistics, indent=1) + "\n",
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    return tuple(out / name for name in texts)


def _title(runs: Sequence[StoredRun], competence: Sequence[CompetenceResult]) -> str:
    policies = [*(run.label for run in runs), *(shortened(result.policy) for result in competence)]
    suites = dict.fromkeys([*(str(run.config["suite"]) for run in runs), *(result.suite for result in competence)])
    return f"{policies[0] if len(policies) == 1 else f'{len(policies)} runs'} on {', '.join(suites)}"


def _subtitle(runs: Sequence[StoredRun], competence: Sequence[CompetenceResult]) -> str:
    if not runs:
        fingerprints = ", ".join(dict.fromkeys(result.fingerprint for result in competence))
        return f"{competence[0].wanted} pairs of texts · fingerprint {fingerprints} · {datetime.now(UTC):%Y-%m-%d}"
    first = runs[0]
    if competence or not same_tasks(runs):
        return f"Over different tasks · {datetime.now(UTC):%Y-%m-%d}"
    prompts = ", ".join(dict.fromkeys(str(run.config["prompt"]) for run in runs))
    samples = f", {first.statistics.samples} answers each" if first.statistics.samples > 1 else ""
    return (
        f"{first.config['tasks']} tasks{samples} · fingerprint {first.config['fingerprint']} · prompt {prompts} · "
        f"{datetime.now(UTC):%Y-%m-%d}"
    )


def _colours(runs: Sequence[StoredRun], answers: dict[str, Any] | None) -> dict[str, Any]:
    """What the scripts colour by."""
    symbols = sorted({symbol for row in (answers or {"crystals": []})["crystals"] for symbol in row[1].split()})
    return {
        "runs": [
            {"label": run.label, "colour": run_style(run.model).colour, "glyph": run_style(run.model).glyph}
            for run in runs
        ],
        "elements": {
            symbol: ["#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in element_colour(symbol))),
                     round(drawn_radius(symbol), 3)]
            for symbol in symbols
        },
        "marks": {str(kind): [colour, MEANINGS[kind]] for kind, colour in COLOURS.items()},
        "verdicts": {name: [words, VERDICT_COLOURS[name]] for name, words in VERDICT_WORDS.items()},
        "unanswered": UNANSWERED,
    }  # fmt: skip
