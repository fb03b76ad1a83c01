"""Success rates with intervals for plotly.js: dots by edit, lines over an ordered quantity."""

from __future__ import annotations

from typing import Any

from atomworld_env.report.chart_kinds import RateChart, RateSeries, rate_words
from atomworld_env.report.palette import FLOOR_COLOUR, PUBLISHED_COLOUR, run_style
from atomworld_env.report.success_table import ALL

ROW_OF_A_RUN = 13
"""Pixels that one run takes in a row of dots."""

Figure = dict[str, Any]


def dots_figure(chart: RateChart) -> Figure:
    """Categories downwards, each with a row for every run, the floor as a tick and published models as small dots."""
    runs = [series for series in chart.series if series.kind == "run"]
    height = ROW_OF_A_RUN * max(len(runs), 2) + 14
    rows = {name: -number for number, name in enumerate(chart.categories)}
    data = []
    for series in chart.series:
        if series.kind == "published":
            data.append(_published(series, rows))
        elif series.kind == "floor":
            data.append(_floor(series, rows, height))
    for place, series in enumerate(runs):
        offset = ((len(runs) - 1) / 2 - place) * ROW_OF_A_RUN / height
        data.append(_run_dots(series, rows, offset))
    layout: Figure = {
        "xaxis": {"range": [-0.02, 1.02], "tickformat": ".0%", "dtick": 0.25, "zeroline": False, "side": "top"},
        "yaxis": {
            "tickvals": list(rows.values()),
            "ticktext": [f"<b>{plain_text(name)}</b>" if name == ALL else plain_text(name) for name in rows],
            "range": [-len(rows) + 0.5, 0.5],
            "showgrid": False,
            "zeroline": False,
        },
        "shapes": [_line_between(-number + 0.5) for number in range(1, len(rows))],
        "hovermode": "closest",
        "margin": {"l": 8, "r": 22, "t": 30, "b": 8},
    }
    return {"data": data, "layout": layout, "height": max(150, height * len(rows) + 40)}


def _run_dots(series: RateSeries, rows: dict[str, int], offset: float) -> Figure:
    style = run_style(series.run or 0)
    rates = {name: rate for name, rate in series.rates.items() if name in rows and rate.rate is not None}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain_text(series.label),
        "x": [rate.rate for rate in rates.values()],
        "y": [rows[name] + offset for name in rates],
        "error_x": {"type": "data", "symmetric": False, "thickness": 1.6, "width": 0, "color": style.colour}
        | _reaches(series, list(rates)),
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 9},
        "text": [_hover(series, name) for name in rates],
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def _reaches(series: RateSeries, names: list[str]) -> Figure:
    """Lengths of the error bars."""
    above, below = [], []
    for name in names:
        rate = series.rates[name]
        low, high = rate.interval or (rate.rate or 0.0, rate.rate or 0.0)
        above.append(high - (rate.rate or 0.0))
        below.append((rate.rate or 0.0) - low)
    return {"array": above, "arrayminus": below}


def _published(series: RateSeries, rows: dict[str, int]) -> Figure:
    rates = {name: rate for name, rate in series.rates.items() if name in rows and rate.rate is not None}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain_text(series.label),
        "x": [rate.rate for rate in rates.values()],
        "y": [rows[name] - 0.38 for name in rates],
        "marker": {"color": PUBLISHED_COLOUR, "symbol": "circle", "size": 5, "opacity": 0.75},
        "text": [_hover(series, name) for name in rates],
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def _floor(series: RateSeries, rows: dict[str, int], height: int) -> Figure:
    rates = {name: rate for name, rate in series.rates.items() if name in rows and rate.rate is not None}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain_text(series.label),
        "x": [rate.rate for rate in rates.values()],
        "y": [rows[name] for name in rates],
        "marker": {
            "color": FLOOR_COLOUR,
            "symbol": "line-ns-open",
            # Plotly draws the symbol 1.4 times as long as its size.
            "size": 0.7 * height,
            "line": {"width": 2.5, "color": FLOOR_COLOUR},
        },
        "text": [_hover(series, name) for name in rates],
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def _line_between(height: float) -> Figure:
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height, "line": {"width": 1}}


def lines_figure(chart: RateChart) -> Figure:
    """Categories from left to right, a line for every run."""
    data = []
    places = {name: number for number, name in enumerate(chart.categories)}
    for place, series in enumerate(chart.series):
        style = run_style(series.run or 0)
        names = [name for name in chart.categories if name in series.rates and series.rates[name].rate is not None]
        shift = (place - (len(chart.series) - 1) / 2) * 0.05
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plain_text(series.label),
                "x": [places[name] + shift for name in names],
                "y": [series.rates[name].rate for name in names],
                "error_y": {"type": "data", "symmetric": False, "thickness": 1.4, "width": 0, "color": style.colour}
                | _reaches(series, names),
                "line": {"color": style.colour, "width": 2},
                "marker": {"color": style.colour, "symbol": style.symbol, "size": 9},
                "text": [_hover(series, name) for name in names],
                "hoverinfo": "text",
                "cliponaxis": False,
            }
        )
    layout = {
        "xaxis": {
            "tickvals": list(places.values()),
            "ticktext": [plain_text(name).replace("-", "–") for name in places],
            "range": [-0.35, len(places) - 0.65],
            "title": {"text": chart.axis},
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": {"range": [-0.02, 1.04], "tickformat": ".0%", "dtick": 0.25, "zeroline": False},
        "hovermode": "closest",
        "margin": {"l": 8, "r": 14, "t": 12, "b": 8},
    }
    return {"data": data, "layout": layout, "height": 300}


def _hover(series: RateSeries, name: str) -> str:
    return f"{plain_text(series.label)}<br>{plain_text(name)}: {rate_words(series.rates[name])}"


def plain_text(text: str) -> str:
    """Plotly reads a few HTML tags and entities in its texts; a name has none."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
