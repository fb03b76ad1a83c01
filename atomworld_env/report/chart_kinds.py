"""What a figure of a report shows, free of how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atomworld_env.evaluation.intervals import Rate

SMALLEST_DISTANCE = 1e-3
"""Å. Distances are drawn on a logarithmic axis; what is smaller, an exact answer among them, is drawn here."""

MOST_STEPS = 400
"""Points of a cumulative curve; more cannot be told apart on a screen."""


@dataclass(frozen=True)
class RateSeries:
    """Rates of one run, one published model or one floor.

    Attributes:
        label: its name.
        kind: ``run``, ``published`` or ``floor``.
        run: number of the run, from 0; None for a published model.
        rates: by category; a category that was not asked is missing.
    """

    label: str
    kind: str
    run: int | None
    rates: dict[str, Rate]


@dataclass(frozen=True)
class RateChart:
    """Success rates with intervals over categories.

    Attributes:
        name: of its files.
        title, note: what it shows, and what has to be known to read it.
        axis: what the categories are.
        categories: in order.
        series: the runs, and what they are compared with.
        form: ``dots`` (categories downwards, without an order) or ``lines`` (categories from left to right).
    """

    name: str
    title: str
    note: str
    axis: str
    categories: tuple[str, ...]
    series: tuple[RateSeries, ...]
    form: str


@dataclass(frozen=True)
class VerdictChart:
    """Share of each verdict among the attempts of each run.

    Attributes:
        name, title, note: as in :class:`RateChart`.
        runs: their labels.
        counts: by verdict (a key of :data:`~atomworld_env.report.palette.VERDICT_WORDS`), attempts of each run.
    """

    name: str
    title: str
    note: str
    runs: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class DistanceChart:
    """Cumulative distribution of a distance, one curve for each run.

    Attributes:
        name, title, note: as in :class:`RateChart`.
        axis: name and unit of the distance.
        tolerance: Å; where an answer is right.
        curves: number and label of the run, and its distances in Å in ascending order.
    """

    name: str
    title: str
    note: str
    axis: str
    tolerance: float
    curves: tuple[tuple[int, str, tuple[float, ...]], ...]

    @property
    def end(self) -> float:
        """Å; where the axis ends."""
        return 1.25 * max(2 * self.tolerance, *(values[-1] for _, _, values in self.curves))


@dataclass(frozen=True)
class EffectChart:
    """An effect size of each model, with its interval.

    Attributes:
        name, title, note, axis: as in :class:`RateChart`.
        rows: label, number of the run whose style it has (None for a published model), value, 95 % interval.
    """

    name: str
    title: str
    note: str
    axis: str
    rows: tuple[tuple[str, int | None, float, tuple[float, float] | None], ...]


Chart = RateChart | VerdictChart | DistanceChart | EffectChart


def rate_words(rate: Rate) -> str:
    """Rate, interval and denominator in words, for hovers and small print."""
    if rate.rate is None:
        return "not asked"
    low, high = rate.interval or (0.0, 0.0)
    interval = "" if rate.interval is None else f", 95 % interval {100 * low:.1f}–{100 * high:.1f}"
    return f"{100 * rate.rate:.1f} %{interval}, n = {rate.of}"


def cumulative(values: tuple[float, ...], end: float) -> tuple[list[float], list[float]]:
    """The steps of a cumulative distribution: distance in Å, share up to it.

    Args:
        values: in ascending order.
        end: Å; where the curve ends.
    """
    number = len(values)
    near = int(np.searchsorted(np.array(values), SMALLEST_DISTANCE, side="right"))
    kept = np.unique(np.linspace(near, number - 1, min(number - near, MOST_STEPS)).astype(int))
    return (
        [SMALLEST_DISTANCE, *np.round(np.array(values)[kept], 4).tolist(), end],
        [near / number, *np.round((kept + 1) / number, 4).tolist(), 1.0],
    )
