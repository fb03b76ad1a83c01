"""Two runs over the same tasks: the figures against closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.paired import clustered_interval, compare_runs, paired_table


def record(number: int, success: bool, *, paper: bool | None = None, action: str = "move") -> dict[str, object]:
    return {
        "task_id": f"{action}-{number}",
        "action": action,
        "structure_id": f"crystal-{number // 2}",
        "success": success,
        "success_paper": paper,
    }


def test_gains_and_losses_and_the_exact_test() -> None:
    before = [record(number, number < 4) for number in range(20)]
    after = [record(number, 3 <= number < 13) for number in range(20)]
    row = next(row for row in compare_runs(before, after) if row.action == "all")
    assert (row.before.right, row.after.right, row.gained, row.lost) == (4, 10, 9, 3)
    assert row.difference == pytest.approx(0.3)
    # twice the chance of at most 3 of 12 by a fair coin
    assert row.p_value == pytest.approx(2 * (1 + 12 + 66 + 220) / 2**12)


def test_tasks_without_a_paper_verdict_are_left_out_there_only() -> None:
    before = [record(number, True, paper=True if number < 5 else None) for number in range(9)]
    after = [record(number, False, paper=False if number < 6 else None) for number in range(9)]
    rows = {(row.profile, row.action): row for row in compare_runs(before, after)}
    assert rows["strict", "all"].before.of == 9
    assert rows["paper", "move"].before.of == 5


def test_equal_runs_differ_by_nothing() -> None:
    run = [record(number, number % 3 == 0) for number in range(30)]
    row = compare_runs(run, run)[0]
    assert (row.difference, row.p_value, row.interval) == (0.0, 1.0, (0.0, 0.0))


def test_runs_over_other_tasks_are_refused() -> None:
    with pytest.raises(UsageError, match="differ in 2 tasks"):
        compare_runs([record(0, True)], [record(1, True)])


def test_the_table_has_a_row_for_each_edit() -> None:
    both = [record(number, True, action=action) for action in ("move", "swap") for number in range(3)]
    assert paired_table(compare_runs(both, both), "strict", "a", "b").row_count == 3


def test_clusters_of_one_give_the_plain_standard_error() -> None:
    values = np.random.default_rng(3).normal(size=200).tolist()
    low, high = clustered_interval(values, [str(number) for number in range(200)]) or (0.0, 0.0)
    plain = np.std(values, ddof=1) / np.sqrt(200)
    assert (high - low) / 2 == pytest.approx(norm.ppf(0.975) * plain, rel=0.01)


def test_one_cluster_has_no_interval() -> None:
    assert clustered_interval([0.0, 1.0], ["one", "one"]) is None


def test_the_interval_covers_the_truth_of_clustered_changes() -> None:
    """Changes that go together within a structure, as those of a model do; 95 ± 2.5 % of the intervals are right."""
    rng = np.random.default_rng(0)
    clusters = [str(number // 5) for number in range(300)]
    covered = 0
    for _ in range(1000):
        common = np.repeat(rng.normal(size=60), 5)
        changes = np.sign(np.round(0.1 + common + 0.7 * rng.normal(size=300)))
        low, high = clustered_interval(changes.tolist(), clusters) or (0.0, 0.0)
        covered += low <= _MEAN <= high
    assert 0.925 <= covered / 1000 <= 0.975


# Mean of sign(round(x)) for x normal with mean 0.1 and variance 1.49: P(x > 0.5) - P(x < -0.5).
_MEAN = float(norm.sf(0.5, 0.1, 1.49**0.5) - norm.cdf(-0.5, 0.1, 1.49**0.5))


def test_the_exact_test_is_scipys() -> None:
    generator = np.random.default_rng(8)
    for _ in range(20):
        old, new = generator.random((2, 40)) < 0.4
        row = compare_runs(
            [record(k, bool(x)) for k, x in enumerate(old)], [record(k, bool(x)) for k, x in enumerate(new)]
        )[-1]
        gained, lost = int((new & ~old).sum()), int((old & ~new).sum())
        expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        assert (row.gained, row.lost, row.p_value) == (gained, lost, pytest.approx(expected))


def test_several_samples_are_compared_task_by_task() -> None:
    before = [record(0, sample < 1) for sample in range(4)] + [record(1, sample < 2) for sample in range(4)]
    after = [record(0, sample < 3) for sample in range(4)] + [record(1, sample < 2) for sample in range(4)]
    row = compare_runs(before, after)[-1]
    assert (row.before.right, row.before.of, row.after.right, row.after.of) == (3, 8, 5, 8)
    assert (row.gained, row.lost, row.difference) == (1, 0, pytest.approx(0.25))


def test_runs_with_other_numbers_of_samples_and_a_missing_one() -> None:
    before = [record(0, True), record(1, False)]
    after = [record(0, True), record(0, False), record(1, True)]
    row = compare_runs(before, after)[-1]
    assert (row.before.rate, row.after.rate, row.after.of) == (0.5, 0.5, 4)
    assert (row.gained, row.lost) == (1, 1)
