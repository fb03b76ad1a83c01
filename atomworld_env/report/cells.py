"""Numbers and figures in the words of the page."""

from __future__ import annotations

from typing import Any

from atomworld_env.evaluation.intervals import Rate
from atomworld_env.report.chart_kinds import Chart, VerdictChart, rate_words
from atomworld_env.report.palette import VERDICT_COLOURS, VERDICT_WORDS


def cell(rate: Rate | None) -> dict[str, str]:
    """A rate for a table: the number, its interval in small print, everything in words for the hover."""
    if rate is None or rate.rate is None:
        return {"rate": "–", "interval": "", "words": "not asked"}
    interval = "" if rate.interval is None else f"{100 * rate.interval[0]:.0f}–{100 * rate.interval[1]:.0f}"
    return {"rate": percent(rate.rate), "interval": interval, "words": rate_words(rate)}


def percent(rate: float | None) -> str:
    """A share in percent with one decimal."""
    return "–" if rate is None else f"{100 * rate:.1f}"


def chart_card(chart: Chart) -> dict[str, Any]:
    """What the page says around a figure."""
    return {"name": chart.name, "title": chart.title, "note": chart.note, "keys": _keys(chart)}


def _keys(chart: Chart) -> list[dict[str, str]]:
    """The colours of a figure that has others than the runs'."""
    if not isinstance(chart, VerdictChart):
        return []
    return [{"colour": VERDICT_COLOURS[name], "words": VERDICT_WORDS[name]} for name in chart.counts]
