"""What each section of the page shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atomworld_env.evaluation.manifest import MANIFEST
from atomworld_env.evaluation.paired import PairedRow
from atomworld_env.report.cells import cell, chart_card, percent
from atomworld_env.report.chart_kinds import Chart
from atomworld_env.report.page import Section
from atomworld_env.report.palette import run_style
from atomworld_env.report.run_against_run import Comparison
from atomworld_env.report.skills import SKILLS, Skills
from atomworld_env.report.skills_section import skills_context
from atomworld_env.report.stored_run import StoredRun, same_tasks
from atomworld_env.report.success_table import ALL, SuccessTable

PROFILE_TITLES = {
    "paper": "Paper profile: comparable with published figures",
    "strict": "Strict profile: in the frame given",
}


def report_sections(
    runs: Sequence[StoredRun],
    tables: Sequence[SuccessTable],
    charts: Sequence[Chart],
    compared: Sequence[Comparison],
    skills: Skills | None,
    *,
    with_answers: bool,
) -> list[Section]:
    """The sections in the order of the page; one without content is left out."""
    sections = []
    if runs:
        sections.append(Section("overview", "At a glance", _overview(runs)))
    if skills is not None:
        sections.append(Section("skills", "Skills", skills_context(skills, runs)))
    if tables:
        sections.append(Section("success", "Success by edit", _success(runs, tables)))
    if charts:
        shown = [run for run in runs if run.family == runs[0].family]
        title = "Figures" if len(shown) == len(runs) else f"Figures: {SKILLS[runs[0].family][0]}"
        sections.append(Section("figures", title, _figures(shown, charts)))
    if compared:
        sections.append(Section("paired", "Run against run", _paired(runs, compared)))
    if any(run.statistics.usage.completion_tokens is not None or _waited(run) for run in runs):
        sections.append(Section("usage", "Tokens, time, cost", {"runs": _chips(runs), "rows": _usage(runs)}))
    if with_answers and runs:
        sections.append(Section("answers", "Single answers", {"runs": _chips(runs)}))
    sections.append(Section("provenance", "How the runs were made", _provenance(runs, skills)))
    return sections


def _chips(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    return [{"label": run.label, "glyph": run_style(run.model).glyph, "colour": run_style(run.model).colour}
            for run in runs]  # fmt: skip


def _overview(runs: Sequence[StoredRun]) -> dict[str, Any]:
    rows = []
    for chip, run in zip(_chips(runs), runs, strict=True):
        group = run.overall
        rows.append(
            {
                **chip,
                "strict": cell(group.strict),
                "paper": cell(group.paper),
                "floor": cell(group.floor),
                "off_floor": cell(group.paper_off_floor),
                "reward": "–" if group.reward is None else f"{group.reward:.3f}",
                "answered": len(run.records),
                "attempts": group.attempts,
                "unanswered": group.unanswered,
                "truncated": group.truncated,
                "failures": ", ".join(f"{number} {kind}" for kind, number in run.failures.items()),
            }
        )
    return {"rows": rows, "with_paper": any(run.with_paper for run in runs), "same_tasks": same_tasks(runs)}


def _success(runs: Sequence[StoredRun], tables: Sequence[SuccessTable]) -> dict[str, Any]:
    suites = list(dict.fromkeys(run.config["fingerprint"] for run in runs))
    shown = []
    for table in tables:
        rows = []
        for row in table.rows:
            style = run_style(runs[row.run].model) if row.kind == "run" and row.run is not None else None
            mark = ""
            if len(suites) > 1 and row.run is not None:
                mark = "abcdefghij"[suites.index(runs[row.run].config["fingerprint"]) % 10]
            rows.append(
                {
                    "label": row.label,
                    "kind": row.kind,
                    "glyph": style.glyph if style else "",
                    "colour": style.colour if style else "",
                    "suite": mark,
                    "cells": [cell(row.rates.get(name)) for name in table.columns],
                }
            )
        shown.append(
            {"profile": table.profile, "title": PROFILE_TITLES[table.profile], "columns": table.columns, "rows": rows}
        )
    legend = []
    if len(suites) > 1:
        for number, fingerprint in enumerate(suites):
            run = next(run for run in runs if run.config["fingerprint"] == fingerprint)
            legend.append({"mark": "abcdefghij"[number % 10], "words": f"{run.config['suite']}, {fingerprint}"})
    return {"tables": shown, "suites": legend}


def _figures(runs: Sequence[StoredRun], charts: Sequence[Chart]) -> dict[str, Any]:
    with_paper = any(run.with_paper for run in runs)
    return {"runs": _chips(runs), "charts": [chart_card(chart) for chart in charts], "with_paper": with_paper}


def _paired(runs: Sequence[StoredRun], compared: Sequence[Comparison]) -> dict[str, Any]:
    chips = _chips(runs)
    shown = []
    for each in compared:
        tables = []
        for profile in dict.fromkeys(row.profile for row in each.rows):
            rows = [_paired_row(row) for row in each.rows if row.profile == profile]
            tables.append({"profile": profile, "rows": rows})
        shown.append(
            {
                "before": chips[each.before],
                "after": chips[each.after],
                "tables": tables,
                "headline": "; ".join(_headline(row) for row in each.rows if row.action == ALL),
                "refusal": each.refusal,
            }
        )
    return {"comparisons": shown}


def _headline(row: PairedRow) -> str:
    words = _paired_row(row)
    interval = f" ({words['interval']})" if words["interval"] else ""
    return f"{row.profile} {words['difference']} points{interval}, p {words['p']}"


def _signed(share: float) -> str:
    """In percent with a sign; an interval may reach beyond what a difference can be."""
    return f"{100 * min(1.0, max(-1.0, share)):+.1f}".replace("-", "−")


def _paired_row(row: PairedRow) -> dict[str, Any]:
    interval = row.interval
    return {
        "action": row.action,
        "n": row.before.of,
        "before": percent(row.before.rate),
        "after": percent(row.after.rate),
        "difference": _signed(row.difference),
        "interval": "" if interval is None else f"{_signed(interval[0])} to {_signed(interval[1])}",
        "gained": row.gained,
        "lost": row.lost,
        "p": "< 0.001" if row.p_value < 0.001 else f"{row.p_value:.3f}",
        "below_5_percent": row.p_value < 0.05,
    }


def _waited(run: StoredRun) -> bool:
    """Whether a model was waited for; the latency of a baseline is that of the loop."""
    return run.statistics.usage.mean_latency is not None and run.statistics.usage.mean_latency > 0.1


def _usage(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    rows = []
    for chip, run in zip(_chips(runs), runs, strict=True):
        used = run.statistics.usage
        rows.append(
            {
                **chip,
                "prompt": _whole(used.prompt_tokens),
                "completion": _whole(used.completion_tokens),
                "mean": _whole(used.mean_completion_tokens),
                "latency": "–" if used.mean_latency is None else f"{used.mean_latency:.1f}",
                "median": "–" if used.median_latency is None else f"{used.median_latency:.1f}",
                "cost": "–" if used.cost is None else f"{used.cost:.2f}",
            }
        )
    return rows


def _whole(number: float | None) -> str:
    return "–" if number is None else f"{number:,.0f}".replace(",", "\u202f")


def _provenance(runs: Sequence[StoredRun], skills: Skills | None) -> dict[str, Any]:
    shown: list[dict[str, Any]] = []
    for chip, run in zip(_chips(runs), runs, strict=True):
        settings = run.config.get("settings") or {}
        plain = {key: value for key, value in run.config.items() if key != "settings"}
        shown.append(
            {
                **chip,
                "config": [(key, _value(value)) for key, value in plain.items()],
                "settings": [(str(key), _value(value)) for key, value in settings.items()],
                "versions": list(run.versions.items()),
            }
        )
    for profile in skills.profiles if skills is not None else ():
        if profile.competence is not None:
            manifest = json.loads((profile.competence.folder / MANIFEST).read_text(encoding="utf-8"))
            config = manifest["config"]
            style = run_style(profile.model or 0)
            shown.append(
                {
                    "label": f"{profile.label}, competence",
                    "glyph": style.glyph,
                    "colour": style.colour,
                    "config": [(key, _value(value)) for key, value in config.items() if key != "settings"],
                    "settings": [(str(key), _value(value)) for key, value in (config.get("settings") or {}).items()],
                    "versions": list((manifest.get("versions") or {}).items()),
                }
            )
    return {"runs": shown}


def _value(value: Any) -> str:
    return "–" if value is None else "yes" if value is True else "no" if value is False else str(value)
