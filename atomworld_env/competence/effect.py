"""Cohen's d between the scores of true texts and of their false twins, with an interval and a control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atomworld_env.evaluation.intervals import CONFIDENCE, Rate, rate_of

RESAMPLES = 2000
"""Draws of the bootstrap, and of shuffled labels."""
SEED = 0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """How far the scores of true texts lie above those of their twins.

    Attributes:
        d: Cohen's d; positive where true texts are preferred; None where it does not exist (fewer than two pairs, or
            scores that are all equal).
        interval: 95 % interval of d, percentile bootstrap over prototype families; None with d, and for one family.
        preferred: pairs whose true text has the better score, a tie counting half; the clusters are the families.
        shuffled: d when a coin decides in each pair which text is called the true one, mean over the draws.
        shuffled_interval: where 95 % of those draws lie; a d outside is not chance.
    """

    d: float | None
    interval: tuple[float, float] | None
    preferred: Rate
    shuffled: float | None
    shuffled_interval: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """Plain values: d, interval, preferred, shuffled, shuffled_interval."""
        return {
            "d": self.d,
            "interval": None if self.interval is None else list(self.interval),
            "preferred": self.preferred.to_json(),
            "shuffled": self.shuffled,
            "shuffled_interval": None if self.shuffled_interval is None else list(self.shuffled_interval),
        }


def cohens_d(true: Floats, false: Floats) -> float | None:
    """(mean of true - mean of false) / sqrt((s_true² + s_false²) / 2), s with n - 1 in the denominator.

    Two groups of equal size with the pooled standard deviation (J. Cohen, Statistical Power Analysis for the Behavioral
    Sciences, 2nd ed., 1988, section 2.2); that a text and its twin belong together does not enter.

    Args:
        true, false: (n,) scores, higher is better.

    Returns:
        d, or None with fewer than two pairs or no spread.
    """
    if len(true) < 2:
        return None
    d = _weighted_d(np.ones((1, len(true))), true, false)[0]
    return float(d) if np.isfinite(d) else None


def effect_of(true: Sequence[float], false: Sequence[float], families: Sequence[str]) -> Effect:
    """The effect over pairs.

    Crystals of one family have texts that are alike, so the bootstrap draws families, each with all its pairs, and not
    single pairs. Its seed is fixed: equal scores give equal figures.

    Args:
        true, false: score of each pair's texts, higher is better.
        families: prototype family of each pair's crystal.
    """
    first, second = np.array(true, dtype=float), np.array(false, dtype=float)
    wins = ((first > second) + 0.5 * (first == second)).tolist()
    preferred = rate_of(wins, [1] * len(wins), families)
    d = cohens_d(first, second)
    if d is None:
        return Effect(None, None, preferred, None, None)
    rng = np.random.default_rng(np.random.SeedSequence([SEED]))
    names, member = np.unique(np.array(families), return_inverse=True)
    interval = None
    if len(names) > 1:
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
        interval = _middle(_weighted_d(drawn[:, member].astype(float), first, second))
    shuffled = _shuffled_d(first, second, rng)
    return Effect(d, interval, preferred, float(np.mean(shuffled)), _middle(shuffled))


def _weighted_d(weights: Floats, true: Floats, false: Floats) -> Floats:
    """d of each row of weights, which say how often a pair was drawn; NaN without spread."""
    total = weights.sum(axis=1)
    means, variances = [], []
    for scores in (true, false):
        centred = scores - scores.mean()  # else the squares cancel where scores are large and close
        mean = weights @ centred / total
        square = weights @ centred**2 / total - mean**2
        means.append(mean + scores.mean())
        variances.append(square * total / np.maximum(total - 1, 1))
    pooled = np.sqrt(np.maximum((variances[0] + variances[1]) / 2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pooled > 0, (means[0] - means[1]) / pooled, np.nan)


def _shuffled_d(true: Floats, false: Floats, rng: np.random.Generator) -> Floats:
    """d of each draw of a coin for every pair."""
    keep = rng.random((RESAMPLES, len(true))) < 0.5
    first, second = np.where(keep, true, false), np.where(keep, false, true)
    pooled = np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pooled > 0, (first.mean(axis=1) - second.mean(axis=1)) / pooled, np.nan)


def _middle(values: Floats) -> tuple[float, float] | None:
    """The interval that holds the middle 95 % of the values."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return None
    low, high = np.quantile(finite, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
