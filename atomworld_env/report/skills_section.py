"""What the section on skills shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atomworld_env.competence.stored import CompetenceResult
from atomworld_env.report.cells import cell, chart_card
from atomworld_env.report.palette import run_style
from atomworld_env.report.skills import SKILLS, Profile, Skills
from atomworld_env.report.stored_run import StoredRun
from atomworld_env.report.success_table import SuccessTable


def skills_context(skills: Skills, runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Profiles, figures, success by kind of task, and the four measures of competence."""
    mine = [profile for profile in skills.profiles if profile.model is not None]
    families = [name for name in SKILLS if any(name in profile.rates for profile in mine)]
    with_paper = any(profile.edits_paper is not None for profile in mine)
    # Published models have no figure for the other suites.
    with_d = any(profile.competence is not None for profile in mine)
    with_changes = "structprop" in families
    shown = [profile for profile in skills.profiles if _has_a_figure(profile, with_paper, with_d, with_changes)]
    return {
        "families": [{"name": SKILLS[name][0], "isolates": SKILLS[name][1]} for name in families],
        "with_paper": with_paper,
        "with_d": with_d,
        "rows": [_row(profile, families, with_changes) for profile in shown],
        "charts": [chart_card(chart) for chart in skills.charts],
        "floors": [cell(profile.floor) for profile in mine if profile.floor is not None and profile.floor.of][:1],
        "legend": [_chip(profile) for profile in mine],
        "tables": [_table(SKILLS[name][0], table, runs) for name, table in skills.tables.items()],
        "competence": [
            {**_chip(profile), **_competence(profile.competence)} for profile in mine if profile.competence is not None
        ],
    }


def _has_a_figure(profile: Profile, with_paper: bool, with_d: bool, with_changes: bool) -> bool:
    if profile.model is not None:
        return True
    return (
        (with_paper and profile.edits_paper is not None)
        or (with_d and profile.published_d is not None)
        or (with_changes and profile.published_changes is not None)
    )


def _chip(profile: Profile) -> dict[str, Any]:
    style = run_style(profile.model or 0)
    published = profile.model is None
    return {
        "label": profile.label,
        "glyph": "" if published else style.glyph,
        "colour": "" if published else style.colour,
        "kind": "published" if published else "run",
    }


def _row(profile: Profile, families: list[str], with_changes: bool) -> dict[str, Any]:
    low_high = profile.interval
    changes = profile.published_changes if with_changes else None
    return {
        **_chip(profile),
        "paper": cell(profile.edits_paper),
        "cells": [_cell(profile, name) for name in families],
        "changes": "" if changes is None else f"{changes[0]} / {changes[1]} of 10",
        "d": "–" if profile.d is None else f"{profile.d:.2f}",
        "interval": "" if low_high is None else f"{low_high[0]:.2f} to {low_high[1]:.2f}",
    }


def _cell(profile: Profile, family: str) -> dict[str, str]:
    """A rate with what was not answered, which counts as not right; no rate where nothing was."""
    shown = {**cell(profile.rates.get(family)), "missing": ""}
    missing, asked = profile.unanswered.get(family, (0, 0))
    if missing:
        shown["missing"] = f"{missing} of {asked} unanswered"
    if asked and missing == asked:
        shown |= {"rate": "–", "interval": ""}
    return shown


def _table(title: str, table: SuccessTable, runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Kinds of task downwards, a column for each run."""
    columns = []
    for row in table.rows:
        style = run_style(runs[row.run or 0].model)
        columns.append({"label": row.label, "glyph": style.glyph, "colour": style.colour})
    rows = [{"kind": name, "cells": [cell(row.rates.get(name)) for row in table.rows]} for name in table.columns]
    return {"title": title, "columns": columns, "rows": rows}


MEASURE_WORDS = {
    "rank": "mean rank, all tokens",
    "log_likelihood": "mean log-likelihood, all tokens",
    "changed_rank": "mean rank, changed sentence",
    "changed_log_likelihood": "mean log-likelihood, changed sentence",
}


def _competence(result: CompetenceResult) -> dict[str, Any]:
    measures = []
    for name, words in MEASURE_WORDS.items():
        effect = result.effects[name]
        measures.append(
            {
                "words": words,
                "d": "–" if effect.d is None else f"{effect.d:.3f}",
                "interval": _range(effect.interval),
                "preferred": cell(effect.preferred),
                "shuffled": "–" if effect.shuffled is None else f"{effect.shuffled:.3f}",
                "shuffled_interval": _range(effect.shuffled_interval),
            }
        )
    return {
        "measures": measures,
        "pairs": result.pairs,
        "wanted": result.wanted,
        "too_long": result.too_long,
        "suite": f"{result.suite}, {result.fingerprint}",
    }


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
