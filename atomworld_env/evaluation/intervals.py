"""Success rates with 95 % intervals, where the answers on one structure are alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from scipy.stats import norm
from scipy.stats import t as student

CONFIDENCE = 0.95
"""Of every interval."""

_QUANTILE = float(norm.ppf(0.5 + CONFIDENCE / 2))


@dataclass(frozen=True)
class Rate:
    """How many of how many, with a 95 % interval.

    Attributes:
        right: successes; a sum of estimates for pass@k.
        of: attempts (or tasks, for what is counted by task), unanswered ones among them.
        structures: different source structures among them; they are the clusters.
        interval: 95 % interval of the rate, inside [0, 1]; None if nothing was counted.
        method: ``wilson`` where every structure occurs once, else ``clustered`` (see :func:`rate_of`).
    """

    right: float
    of: int
    structures: int
    interval: tuple[float, float] | None
    method: str | None

    @property
    def rate(self) -> float | None:
        return self.right / self.of if self.of else None

    def __str__(self) -> str:
        return "–" if self.rate is None else f"{100 * self.rate:.1f} %"

    def to_json(self) -> dict[str, Any]:
        """Plain values: right, of, structures, rate, interval, method."""
        return {
            "right": self.right,
            "of": self.of,
            "structures": self.structures,
            "rate": self.rate,
            "interval": None if self.interval is None else list(self.interval),
            "method": self.method,
        }


def rate_of(right: Sequence[float], of: Sequence[int], structures: Sequence[Hashable]) -> Rate:
    """The rate over tasks, with an interval that takes the answers on one structure as alike.

    Where every structure has one attempt, that is Wilson's interval (J. Am. Stat. Assoc. 22, 209, 1927). Otherwise it
    is Wilson's formula with the effective number of attempts p(1 - p)/v, at most the attempts there are, and Student's
    t at one less than the number of structures; v is the variance of the mean by the cluster-robust estimator. (The
    modified Wilson interval of Dean and Pagano, J. Surv. Stat. Methodol. 3, 484, 2015, with the bound of Korn and
    Graubard, Surv. Methodol. 24, 193, 1998.) It lies inside [0, 1]. At a rate of 0 or 1, and with one structure, v
    cannot be estimated; the effective number is then the number of structures, as if all answers on one structure
    were one answer, with the normal quantile.

    Args:
        right: successes of each task, 0 … `of`.
        of: attempts at each task.
        structures: the source structure of each task.
    """
    total, attempts = sum(right), sum(of)
    clusters = len(set(structures))
    if attempts == 0:
        return Rate(0, 0, 0, None, None)
    if clusters == attempts and set(right) <= {0, 1}:
        return Rate(total, attempts, clusters, wilson_interval(total / attempts, attempts), "wilson")
    mean = total / attempts
    residuals: dict[Hashable, float] = defaultdict(float)
    for successes, number, structure in zip(right, of, structures, strict=True):
        residuals[structure] += successes - mean * number
    spread = mean * (1 - mean)
    if clusters < 2 or spread <= 0:
        interval = wilson_interval(mean, clusters)
    else:
        variance = clusters / (clusters - 1) * sum(value**2 for value in residuals.values()) / attempts**2
        effective = min(float(attempts), spread / variance) if variance > 0 else float(attempts)
        interval = wilson_interval(mean, effective, float(student.ppf(0.5 + CONFIDENCE / 2, clusters - 1)))
    return Rate(total, attempts, clusters, interval, "clustered")


def wilson_interval(rate: float, number: float, quantile: float = _QUANTILE) -> tuple[float, float]:
    """Wilson's score interval of a rate among `number` independent attempts, which need not be a whole number."""
    square = quantile**2
    middle = (rate + square / (2 * number)) / (1 + square / number)
    reach = quantile / (1 + square / number) * sqrt(rate * (1 - rate) / number + square / (4 * number**2))
    # The ends are exact at 0 and 1; there the last bit of a difference would give 1e-17.
    low = 0.0 if rate <= 0 else max(0.0, middle - reach)
    return low, 1.0 if rate >= 1 else min(1.0, middle + reach)
