"""The tables of a report as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from atomworld_env.evaluation.intervals import Rate
from atomworld_env.report.skills import SKILLS, Skills
from atomworld_env.report.stored_run import StoredRun
from atomworld_env.report.success_table import SuccessTable

CSV_COLUMNS = (
    "profile", "row", "kind", "action", "rate", "low", "high", "right", "n", "structures", "interval", "floor",
    "paper_off_floor", "above_floor", "unanswered", "truncated",
)  # fmt: skip
"""Columns of ``table.csv``; rates are shares, `floor` and the two after it stand under the paper profile only."""

FLOOR_NOTE = (
    "The floor is what the unchanged input passes under the paper profile; it belongs beside every number of that "
    "profile. The published models answered the benchmark's own questions with its own prompt."
)


def markdown_tables(runs: Sequence[StoredRun], tables: Sequence[SuccessTable], skills: Skills | None = None) -> str:
    """Success per edit under each profile, in %, with 95 % intervals; skills; and what was not answered."""
    parts = [_markdown_table(table) for table in tables]
    if any(table.profile == "paper" for table in tables):
        parts.insert(1, FLOOR_NOTE)
    if skills is not None:
        parts.append(_markdown_skills(skills))
        parts += [_markdown_kinds(SKILLS[family][0], table) for family, table in skills.tables.items()]
    if runs:
        parts.append(_markdown_counts(runs))
    return "\n\n".join(parts) + "\n"


def _markdown_skills(skills: Skills) -> str:
    families = [name for name in SKILLS if any(name in profile.rates for profile in skills.profiles)]
    headings = [*(SKILLS[name][0] for name in families), "competence, d"]
    lines = [
        "**Success by skill under the strict profile, % [95 % interval]; Cohen's d of chemical competence**",
        "",
        f"| | {' | '.join(headings)} |",
        f"|---|{'---|' * len(headings)}",
    ]
    for profile in skills.profiles:
        if profile.model is None and profile.d is None:
            continue
        interval = "" if profile.interval is None else f" [{profile.interval[0]:.2f}, {profile.interval[1]:.2f}]"
        d = "–" if profile.d is None else f"{profile.d:.3f}{interval}"
        label = markdown_text(profile.label) + (" (published)" if profile.model is None else "")
        lines.append(f"| {label} | {' | '.join([*(_cell(profile.rates.get(name)) for name in families), d])} |")
    return "\n".join(lines)


def _markdown_kinds(title: str, table: SuccessTable) -> str:
    """Kinds of task downwards, of which there may be many; a column for each run."""
    lines = [
        f"**{title}, success under the strict profile, % [95 % interval]**",
        "",
        f"| | {' | '.join(markdown_text(row.label) for row in table.rows)} |",
        f"|---|{'---|' * len(table.rows)}",
    ]
    lines += [
        f"| {f'`{name}`' if name != 'all' else name} | {' | '.join(_cell(row.rates.get(name)) for row in table.rows)} |"
        for name in table.columns
    ]
    return "\n".join(lines)


def _markdown_table(table: SuccessTable) -> str:
    lines = [
        f"**Success under the {table.profile} profile, % [95 % interval]**",
        "",
        f"| | {' | '.join(f'`{name}`' if name != 'all' else name for name in table.columns)} |",
        f"|---|{'---|' * len(table.columns)}",
    ]
    lines += [
        f"| {markdown_text(row.label)} | {' | '.join(_cell(row.rates.get(name)) for name in table.columns)} |"
        for row in table.rows
    ]
    return "\n".join(lines)


def _cell(rate: Rate | None) -> str:
    if rate is None or rate.rate is None:
        return "–"
    if rate.interval is None:
        return f"{100 * rate.rate:.1f}"
    low, high = rate.interval
    return f"{100 * rate.rate:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def _markdown_counts(runs: Sequence[StoredRun]) -> str:
    lines = [
        "| run | suite | tasks × samples | answered | unanswered | truncated | prompt | profile |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        group = run.overall
        cells = (
            run.label,
            f"{run.config['suite']} {run.config['fingerprint']}",
            f"{group.tasks} × {run.statistics.samples}",
            *map(
                str, (len(run.records), group.unanswered, group.truncated, run.config["prompt"], run.config["profile"])
            ),
        )
        lines.append(f"| {' | '.join(markdown_text(cell) for cell in cells)} |")
    return "\n".join(lines)


def markdown_text(text: str) -> str:
    """The text in a cell of a Markdown table, with nothing in it read as markup."""
    line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|!&~" else character for character in line)


def csv_table(runs: Sequence[StoredRun], tables: Sequence[SuccessTable]) -> str:
    """A line for each row, profile and edit; see :data:`CSV_COLUMNS`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for row in table.rows:
            for action in table.columns:
                rate = row.rates.get(action)
                if rate is not None and rate.rate is not None:
                    run = runs[row.run] if row.kind == "run" and row.run is not None else None
                    writer.writerow([table.profile, _spelt(row.label), row.kind, action, *_numbers(rate),
                                     *_beside(run, table.profile, action)])  # fmt: skip
    return text.getvalue()


def _numbers(rate: Rate) -> list[object]:
    low, high = rate.interval or ("", "")
    return [_rounded(rate.rate), _rounded(low), _rounded(high), _rounded(rate.right), rate.of, rate.structures,
            rate.method or ""]  # fmt: skip


def _beside(run: StoredRun | None, profile: str, action: str) -> list[object]:
    if run is None:
        return [""] * 5
    group = run.overall if action == "all" else run.statistics.group("action", action)
    if group is None:
        return [""] * 5
    floors: list[object] = [""] * 3
    if profile == "paper":
        floors = [_rounded(group.floor.rate), _rounded(group.paper_off_floor.rate), _rounded(group.above_floor)]
    return [*floors, group.unanswered, group.truncated]


def _rounded(value: object) -> object:
    return "" if value is None else round(value, 6) if isinstance(value, float) else value


def _spelt(label: str) -> str:
    """A spreadsheet takes a text that starts with one of these for a formula."""
    return f"'{label}" if label[:1] in "=+-@" else label
