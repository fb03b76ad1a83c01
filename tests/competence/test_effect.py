"""Cohen's d, its interval, the share of pairs and the control, against computations written apart."""

from __future__ import annotations

import statistics
from math import sqrt

import numpy as np
import pytest
from scipy.stats import bootstrap

from atomworld_env.competence.effect import Effect, cohens_d, effect_of


def plain_d(true: list[float], false: list[float]) -> float:
    """The formula, with the standard library alone."""
    pooled = sqrt((statistics.variance(true) + statistics.variance(false)) / 2)
    return (statistics.fmean(true) - statistics.fmean(false)) / pooled


def drawn(d: float, pairs: int, *, seed: int, correlation: float = 0.0) -> tuple[list[float], list[float]]:
    """Scores with a planted effect: unit spread in both groups, means d apart, a text like its twin."""
    rng = np.random.default_rng(seed)
    common, own, other = rng.normal(size=(3, pairs))
    true = d + sqrt(correlation) * common + sqrt(1 - correlation) * own
    false = sqrt(correlation) * common + sqrt(1 - correlation) * other
    return true.tolist(), false.tolist()


def alone(pairs: int) -> list[str]:
    return [str(number) for number in range(pairs)]


@pytest.mark.parametrize("seed", range(5))
def test_d_is_the_formula(seed: int) -> None:
    true, false = drawn(0.8, 40, seed=seed)
    assert cohens_d(np.array(true), np.array(false)) == pytest.approx(plain_d(true, false), rel=1e-12)
    assert effect_of(true, false, alone(40)).d == pytest.approx(plain_d(true, false), rel=1e-12)


def test_a_worked_example() -> None:
    # Means 4 and 2, variances 4 and 1: 2 / sqrt(2.5).
    assert cohens_d(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / sqrt(2.5))


def test_the_sign_follows_the_true_texts() -> None:
    true, false = drawn(0.5, 200, seed=1)
    forward, backward = effect_of(true, false, alone(200)), effect_of(false, true, alone(200))
    assert forward.d is not None
    assert forward.d > 0
    assert backward.d == pytest.approx(-forward.d)
    assert forward.preferred.right + backward.preferred.right == 200


def test_large_scores_that_lie_close_keep_their_digits() -> None:
    true, false = drawn(0.5, 200, seed=2)
    shifted = cohens_d(np.array(true) + 1e7, np.array(false) + 1e7)
    assert shifted == pytest.approx(plain_d(true, false), rel=1e-6)


@pytest.mark.parametrize(("planted", "correlation"), [(0.0, 0.9), (0.3, 0.5), (1.0, 0.0)])
def test_a_planted_effect_is_recovered(planted: float, correlation: float) -> None:
    """Over many sets of 600 pairs d is the planted one in the mean, and in 19 of 20 inside its interval."""
    found = [effect_of(*drawn(planted, 600, seed=seed, correlation=correlation), alone(600)) for seed in range(20)]
    assert np.mean([effect.d for effect in found if effect.d is not None]) == pytest.approx(planted, abs=0.04)
    inside = [effect.interval[0] <= planted <= effect.interval[1] for effect in found if effect.interval is not None]
    assert len(inside) == 20
    assert sum(inside) >= 16  # at a coverage of 95 % fewer have a probability of 0.003


def test_the_interval_is_that_of_scipy_where_every_family_has_one_pair() -> None:
    true, false = drawn(0.6, 300, seed=3, correlation=0.5)

    def statistic(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        pooled = np.sqrt((first.var(axis=axis, ddof=1) + second.var(axis=axis, ddof=1)) / 2)
        return (first.mean(axis=axis) - second.mean(axis=axis)) / pooled

    theirs = bootstrap(
        (true, false), statistic, paired=True, method="percentile", n_resamples=4000, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = effect_of(true, false, alone(300)).interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.015)


def test_pairs_of_one_family_count_as_alike() -> None:
    true, false = drawn(0.6, 100, seed=4)
    families = alone(100)
    single = effect_of(true, false, families)
    repeated = effect_of(true * 4, false * 4, families * 4)
    assert single.interval is not None
    assert repeated.interval is not None
    assert np.ptp(repeated.interval) == pytest.approx(np.ptp(single.interval), rel=0.15)
    assert repeated.preferred.method == "clustered"


@pytest.mark.parametrize("planted", [0.0, 1.5])
def test_shuffled_labels_have_no_effect(planted: float) -> None:
    effect = effect_of(*drawn(planted, 600, seed=5), alone(600))
    assert effect.shuffled == pytest.approx(0, abs=0.01)
    assert effect.shuffled_interval is not None
    low, high = effect.shuffled_interval
    assert low < 0 < high
    assert effect.d is not None
    assert (low <= effect.d <= high) == (planted == 0.0)


def test_a_tie_counts_half() -> None:
    effect = effect_of([1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 5.0, 3.0], alone(4))
    assert effect.preferred.right == 2.5


def test_equal_scores_give_equal_figures() -> None:
    scores = drawn(0.2, 50, seed=6)
    assert effect_of(*scores, alone(50)) == effect_of(*scores, alone(50))


@pytest.mark.parametrize(
    ("true", "false"),
    [
        pytest.param([], [], id="no pair"),
        pytest.param([1.0], [0.0], id="one pair"),
        pytest.param([1.0, 1.0], [0.0, 0.0], id="no spread"),
    ],
)
def test_where_d_does_not_exist(true: list[float], false: list[float]) -> None:
    effect = effect_of(true, false, alone(len(true)))
    assert (effect.d, effect.interval, effect.shuffled, effect.shuffled_interval) == (None, None, None, None)
    assert isinstance(effect, Effect)
    assert effect.to_json()["d"] is None


def test_one_family_has_no_interval() -> None:
    effect = effect_of([1.0, 2.0, 4.0], [0.0, 2.0, 1.0], ["a", "a", "a"])
    assert effect.d is not None
    assert effect.interval is None
