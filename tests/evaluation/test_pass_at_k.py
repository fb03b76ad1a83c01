"""pass@k against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from atomworld_env.evaluation.asked import AskedTask
from atomworld_env.evaluation.intervals import rate_of
from atomworld_env.evaluation.pass_at_k import pass_at_k, pass_rates


@pytest.mark.parametrize("samples", range(1, 8))
def test_it_is_the_share_of_all_subsets_with_a_right_answer(samples: int) -> None:
    for right in range(samples + 1):
        outcomes = [True] * right + [False] * (samples - right)
        for k in range(1, samples + 1):
            subsets = list(combinations(outcomes, k))
            assert pass_at_k(samples, right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)


def test_more_attempts_than_samples_are_refused() -> None:
    with pytest.raises(ValueError, match=r"pass@3"):
        pass_at_k(2, 1, 3)


def task(structure: str, right: int, asked: int, answered: int) -> AskedTask:
    records = tuple({"success": number < right, "success_paper": True} for number in range(answered))
    return AskedTask("move", structure, 10, True, 1, asked, records, True, None)


def test_tasks_come_first_and_unanswered_samples_count_as_wrong() -> None:
    rates = pass_rates([task("a", 2, 4, 4), task("b", 1, 4, 2), task("b", 0, 4, 0)], "strict")
    assert [rate.rate for rate in rates] == pytest.approx(
        [(2 / 4 + 1 / 4) / 3, (5 / 6 + 1 / 2) / 3, (1 + 3 / 4) / 3, 2 / 3]
    )
    assert {(rate.of, rate.structures, rate.method) for rate in rates} == {(3, 2, "clustered")}


def test_one_sample_of_each_task_is_plain_success() -> None:
    (rate,) = pass_rates([task("a", 1, 1, 1), task("b", 0, 1, 1)], "strict")
    assert (rate.right, rate.of, rate.method) == (1, 2, "wilson")


def test_coverage_of_the_interval_of_pass_at_3() -> None:
    """80 structures with 1-4 tasks of eight samples each; a task's chance of success is its structure's."""
    generator = np.random.default_rng(4)
    estimates = [pass_at_k(8, right, 3) for right in range(9)]
    # chance p from Beta(a, b): E[(1 - p)^3] = b(b+1)(b+2) / ((a+b)(a+b+1)(a+b+2))
    a, b = 0.6, 0.9
    truth = 1 - np.prod([(b + k) / (a + b + k) for k in range(3)])
    inside = 0
    for _ in range(800):
        structures = np.repeat(np.arange(80), generator.integers(1, 5, size=80))
        right = generator.binomial(8, generator.beta(a, b, size=80)[structures])
        low, high = rate_of([estimates[c] for c in right], [1] * len(right), structures.tolist()).interval or (0.0, 0.0)
        inside += low <= truth <= high
    assert 0.93 <= inside / 800 <= 0.98
