"""The figures of a report as PNG and SVG, for papers and slides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context

from atomworld_env.report.chart_kinds import (
    SMALLEST_DISTANCE,
    Chart,
    DistanceChart,
    EffectChart,
    RateChart,
    RateSeries,
    VerdictChart,
    cumulative,
)
from atomworld_env.report.palette import (
    FLOOR_COLOUR,
    PUBLISHED_COLOUR,
    VERDICT_COLOURS,
    VERDICT_WORDS,
    run_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.4
"""Inches; a column and a half of most journals."""

RESOLUTION = 200
"""Dots per inch of a PNG."""

STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "grid.color": "#E3E5E8",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "atomworld",
    "text.parse_math": False,
}


def write_pictures(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg; the paths, in order."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with rc_context(STYLE):  # type: ignore[arg-type]  # the stubs list the names one by one
        for chart in charts:
            figure = Figure(figsize=(WIDTH, _height(chart)), layout="constrained")
            axes = figure.subplots()
            _draw(axes, chart)
            axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold")
            _legend(figure, axes)
            for suffix in (".png", ".svg"):
                path = folder / f"{chart.name}{suffix}"
                figure.savefig(path, dpi=RESOLUTION, metadata={"Date": None} if suffix == ".svg" else None)
                written.append(path)
    return written


def _height(chart: Chart) -> float:
    if isinstance(chart, VerdictChart):
        return 1.4 + 0.3 * len(chart.runs)
    if isinstance(chart, EffectChart):
        return 1.1 + 0.22 * len(chart.rows)
    if isinstance(chart, RateChart) and chart.form == "dots":
        runs = sum(series.kind == "run" for series in chart.series)
        return 1.3 + len(chart.categories) * (0.2 + 0.11 * runs)
    return 3.4


def _draw(axes: Axes, chart: Chart) -> None:
    if isinstance(chart, VerdictChart):
        _verdicts(axes, chart)
    elif isinstance(chart, DistanceChart):
        _distances(axes, chart)
    elif isinstance(chart, EffectChart):
        _effects(axes, chart)
    elif chart.form == "dots":
        _dots(axes, chart)
    else:
        _lines(axes, chart)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=8, handletextpad=0.5)


def _dots(axes: Axes, chart: RateChart) -> None:
    runs = [series for series in chart.series if series.kind == "run"]
    rows = {name: -number for number, name in enumerate(chart.categories)}
    step = 0.62 / max(len(runs), 1)
    published = [series for series in chart.series if series.kind == "published"]
    for number, series in enumerate(published):
        names = _known(series, rows)
        axes.plot(
            [_percent(series, name) for name in names], [rows[name] - 0.38 for name in names],
            ".", color=PUBLISHED_COLOUR, alpha=0.8, markersize=4, label="_" if number else "published models",
        )  # fmt: skip
    for number, series in enumerate(series for series in chart.series if series.kind == "floor"):
        names = _known(series, rows)
        reach = 0.33
        axes.vlines(
            [_percent(series, name) for name in names], [rows[name] - reach for name in names],
            [rows[name] + reach for name in names], color=FLOOR_COLOUR, linewidth=2.2,
            label="_" if number else "unchanged input (floor)",
        )  # fmt: skip
    for place, series in enumerate(runs):
        names = _known(series, rows)
        offset = ((len(runs) - 1) / 2 - place) * step
        _with_bars(axes, series, names, [rows[name] + offset for name in names], upright=False)
    axes.set_yticks(list(rows.values()), list(rows))
    axes.set_ylim(-len(rows) + 0.45, 0.55)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("%")
    axes.grid(False, axis="y")


def _lines(axes: Axes, chart: RateChart) -> None:
    places = {name: number for number, name in enumerate(chart.categories)}
    for place, series in enumerate(chart.series):
        names = _known(series, places)
        shift = (place - (len(chart.series) - 1) / 2) * 0.05
        at = [places[name] + shift for name in names]
        values = [_percent(series, name) for name in names]
        axes.plot(at, values, color=run_style(series.run or 0).colour, linewidth=1.3)
        _with_bars(axes, series, names, at, upright=True)
    axes.set_xticks(list(places.values()), [name.replace("-", "–") for name in places])
    axes.set_ylim(-2, 104)
    axes.set_xlabel(chart.axis)
    axes.set_ylabel("%")
    axes.grid(False, axis="x")


def _with_bars(axes: Axes, series: RateSeries, names: list[str], places: list[float], *, upright: bool) -> None:
    style = run_style(series.run or 0)
    values = [_percent(series, name) for name in names]
    points = [(value / 100, value / 100) for value in values]
    ends = [series.rates[name].interval or point for name, point in zip(names, points, strict=True)]
    # Rounding may leave an end a hair inside its rate, and a negative bar is refused.
    reach = [
        [max(0.0, value - 100 * low) for (low, _), value in zip(ends, values, strict=True)],
        [max(0.0, 100 * high - value) for (_, high), value in zip(ends, values, strict=True)],
    ]
    look: dict[str, Any] = {
        "fmt": style.marker, "color": style.colour, "markersize": 4.5, "elinewidth": 1.1, "label": series.label,
        "clip_on": False,
    }  # fmt: skip
    if upright:
        axes.errorbar(places, values, yerr=reach, **look)
    else:
        axes.errorbar(values, places, xerr=reach, **look)


def _verdicts(axes: Axes, chart: VerdictChart) -> None:
    totals = [sum(numbers) or 1 for numbers in zip(*chart.counts.values(), strict=True)] or [1] * len(chart.runs)
    left = [0.0] * len(chart.runs)
    rows = [-number for number in range(len(chart.runs))]
    for verdict, numbers in chart.counts.items():
        shares = [100 * number / total for number, total in zip(numbers, totals, strict=True)]
        axes.barh(rows, shares, left=left, height=0.66, color=VERDICT_COLOURS[verdict], label=VERDICT_WORDS[verdict])
        left = [start + share for start, share in zip(left, shares, strict=True)]
    axes.set_yticks(rows, list(chart.runs))
    axes.set_xlim(0, 100)
    axes.set_xlabel("%")
    axes.grid(False, axis="y")


def _distances(axes: Axes, chart: DistanceChart) -> None:
    for number, label, values in chart.curves:
        x, y = cumulative(values, chart.end)
        colour = run_style(number).colour
        axes.step(x, [100 * share for share in y], where="post", color=colour, label=label, linewidth=1.5)
    axes.axvline(chart.tolerance, color="#666666", linestyle=":", linewidth=1.2)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(SMALLEST_DISTANCE * 0.9, chart.end)
    axes.set_ylim(-2, 104)
    axes.set_xlabel(f"{chart.axis} (smaller ones at {SMALLEST_DISTANCE:g})")
    axes.set_ylabel("%")


def _effects(axes: Axes, chart: EffectChart) -> None:
    for row, (_, run, value, interval) in enumerate(chart.rows):
        low, high = interval or (value, value)
        style = run_style(run or 0)
        axes.errorbar(
            [value], [-row], xerr=[[max(0.0, value - low)], [max(0.0, high - value)]],
            fmt="." if run is None else style.marker, color=PUBLISHED_COLOUR if run is None else style.colour,
            markersize=5, elinewidth=1.1,
        )  # fmt: skip
    axes.axvline(0.0, color="#666666", linewidth=0.8)
    axes.set_yticks([-row for row in range(len(chart.rows))], [label for label, *_ in chart.rows])
    axes.set_xlabel(chart.axis)
    axes.grid(False, axis="y")


def _known(series: RateSeries, places: dict[str, int]) -> list[str]:
    return [name for name in places if name in series.rates and series.rates[name].rate is not None]


def _percent(series: RateSeries, name: str) -> float:
    return 100 * (series.rates[name].rate or 0.0)
