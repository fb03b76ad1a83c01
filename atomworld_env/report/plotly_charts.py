"""The figures of a report for plotly.js: plain dictionaries; colours of text and grid are the page's."""

from __future__ import annotations

import numpy as np

from atomworld_env.report.chart_kinds import (
    SMALLEST_DISTANCE,
    Chart,
    DistanceChart,
    EffectChart,
    VerdictChart,
    cumulative,
)
from atomworld_env.report.palette import PUBLISHED_COLOUR, VERDICT_COLOURS, VERDICT_WORDS, run_style
from atomworld_env.report.plotly_rates import Figure, dots_figure, lines_figure, plain_text


def plotly_figure(chart: Chart) -> Figure:
    """Data and layout of a figure, and its least height in pixels."""
    if isinstance(chart, VerdictChart):
        return _verdicts(chart)
    if isinstance(chart, DistanceChart):
        return _distances(chart)
    if isinstance(chart, EffectChart):
        return _effects(chart)
    return dots_figure(chart) if chart.form == "dots" else lines_figure(chart)


def _verdicts(chart: VerdictChart) -> Figure:
    totals = [sum(numbers) or 1 for numbers in zip(*chart.counts.values(), strict=True)] or [1] * len(chart.runs)
    rows = list(range(0, -len(chart.runs), -1))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": VERDICT_WORDS[verdict],
            "x": [number / total for number, total in zip(numbers, totals, strict=True)],
            "y": rows,
            "width": 0.5,
            "marker": {"color": VERDICT_COLOURS[verdict]},
            "text": [
                f"{plain_text(run)}<br>{VERDICT_WORDS[verdict]}: {number} of {total}, {number / total:.1%}"
                for run, number, total in zip(chart.runs, numbers, totals, strict=True)
            ],
            "textposition": "none",
            "hoverinfo": "text",
        }
        for verdict, numbers in chart.counts.items()
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"range": [0, 1.002], "tickformat": ".0%", "dtick": 0.25, "zeroline": False},
        "yaxis": {"range": [-len(rows) + 0.6, 0.75], "showgrid": False, "showticklabels": False, "zeroline": False},
        # Above its bar, a name takes no width from it.
        "annotations": [
            {"xref": "paper", "x": 0, "y": row + 0.28, "text": plain_text(run), "showarrow": False, "xanchor": "left",
             "yanchor": "bottom"}
            for row, run in zip(rows, chart.runs, strict=True)
        ],
        "margin": {"l": 14, "r": 24, "t": 4, "b": 8},
    }  # fmt: skip
    return {"data": data, "layout": layout, "height": 50 * len(rows) + 50}


def _distances(chart: DistanceChart) -> Figure:
    data = []
    for number, label, values in chart.curves:
        style = run_style(number)
        x, y = cumulative(values, chart.end)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain_text(label),
                "x": x,
                "y": y,
                "line": {"shape": "hv", "color": style.colour, "width": 2},
                "text": [f"{plain_text(label)}<br>{share:.1%} within {value:.3g} Å, n = {len(values)}"
                         for value, share in zip(x, y, strict=True)],
                "hoverinfo": "text",
            }
        )  # fmt: skip
    ticks = [SMALLEST_DISTANCE, 0.01, 0.1, 1.0, 10.0, 100.0]
    layout = {
        "xaxis": {
            "type": "log",
            "range": [float(np.log10(SMALLEST_DISTANCE)) - 0.08, float(np.log10(chart.end))],
            "tickvals": ticks,
            "ticktext": [f"≤ {ticks[0]:g}", *(f"{tick:g}" for tick in ticks[1:])],
            "title": {"text": chart.axis},
            "zeroline": False,
        },
        "yaxis": {"range": [-0.02, 1.04], "tickformat": ".0%", "dtick": 0.25, "zeroline": False},
        "shapes": [
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": chart.tolerance, "x1": chart.tolerance,
             "line": {"width": 1.5, "dash": "dot"}}
        ],
        "hovermode": "closest",
        "margin": {"l": 8, "r": 14, "t": 12, "b": 8},
    }  # fmt: skip
    return {"data": data, "layout": layout, "height": 300}


def _effects(chart: EffectChart) -> Figure:
    data = []
    for row, (label, run, value, interval) in enumerate(chart.rows):
        low, high = interval or (value, value)
        colour = PUBLISHED_COLOUR if run is None else run_style(run).colour
        words = "" if interval is None else f", 95 % interval {low:.2f} to {high:.2f}"
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain_text(label),
                "x": [value],
                "y": [-row],
                "error_x": {"type": "data", "symmetric": False, "thickness": 1.6, "width": 0, "color": colour,
                            "array": [high - value], "arrayminus": [value - low]},
                "marker": {"color": colour, "symbol": "circle" if run is None else run_style(run).symbol,
                           "size": 6 if run is None else 9},
                "text": [f"{plain_text(label)}<br>{value:.3f}{words}"],
                "hoverinfo": "text",
                "cliponaxis": False,
            }
        )  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": chart.axis}, "zeroline": True, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": [-row for row in range(len(chart.rows))],
            "ticktext": [plain_text(label) for label, *_ in chart.rows],
            "range": [-len(chart.rows) + 0.5, 0.5],
            "showgrid": False,
            "zeroline": False,
        },
        "hovermode": "closest",
        "margin": {"l": 8, "r": 22, "t": 10, "b": 8},
    }
    return {"data": data, "layout": layout, "height": max(150, 24 * len(chart.rows) + 70)}
