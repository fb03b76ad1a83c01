"""The figures of a run, worked out by hand on a few records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atomworld_env.evaluation.intervals import wilson_interval
from atomworld_env.evaluation.statistics import SITE_BINS, run_statistics, site_bin
from atomworld_env.tasks.suite import Suite


def record(index: int, *, sample: int = 0, right: bool = False, action: str = "move", **other: Any) -> dict[str, Any]:
    return {
        "index": index,
        "sample": sample,
        "task_id": f"task-{index}",
        "action": action,
        "structure_id": f"crystal-{index}",
        "n_sites": 12,
        "orthogonal": True,
        "level": 2,
        "answer": "…",
        "truncated": False,
        "prompt_tokens": 1000,
        "completion_tokens": 500,
        "latency": 2.0,
        "reward": 1.0 if right else 0.05,
        "verdict_strict": "correct" if right else "structure_mismatch",
        "success": right,
        "max_displacement": 0.02 if right else 0.3,
        "verdict_paper": "correct" if right else "structure_mismatch",
        "success_paper": right,
        "rmsd": 0.01 if right else None,
        "max_dist": 0.04 if right else None,
        "length_scale": 2.5,
        "floor_paper": False,
        **other,
    }


CONFIG = {"tasks": 4, "samples": 1, "profile": "both", "paper_per_action": None, "settings": {}}


def test_groups_are_by_edit_level_sites_and_cell() -> None:
    records = [
        record(0, right=True),
        record(1, action="swap", n_sites=30, orthogonal=False, level=4),
        record(2, action="swap", n_sites=101, level=4, right=True),
        record(3, n_sites=8, level=1),
    ]
    statistics = run_statistics(records, CONFIG)
    counted = {(group.kind, group.name): (group.strict.right, group.strict.of) for group in statistics.groups}
    assert counted == {
        ("all", "all"): (2, 4),
        ("action", "move"): (1, 2),
        ("action", "swap"): (1, 2),
        ("level", "1"): (0, 1),
        ("level", "2"): (1, 1),
        ("level", "4"): (1, 2),
        ("sites", "1-9"): (0, 1),
        ("sites", "10-19"): (1, 1),
        ("sites", "20-39"): (0, 1),
        ("sites", "101+"): (1, 1),
        ("cell", "orthogonal"): (2, 3),
        ("cell", "oblique"): (0, 1),
        ("action/cell", "move/orthogonal"): (1, 2),
        ("action/cell", "swap/orthogonal"): (1, 1),
        ("action/cell", "swap/oblique"): (0, 1),
        ("action/sites", "move/1-9"): (0, 1),
        ("action/sites", "move/10-19"): (1, 1),
        ("action/sites", "swap/20-39"): (0, 1),
        ("action/sites", "swap/101+"): (1, 1),
    }
    assert statistics.overall is statistics.group("all", "all")
    assert statistics.group("action", "rotate_around") is None


def test_a_table_cell_has_wilsons_interval_where_every_structure_is_another_one() -> None:
    group = run_statistics([record(k, right=k < 3) for k in range(4)], CONFIG).overall
    assert group.strict.interval == wilson_interval(0.75, 4)


def test_all_is_clustered_where_edits_share_a_structure() -> None:
    records = [record(k, right=k < 2, structure_id=f"crystal-{k // 2}") for k in range(4)]
    group = run_statistics(records, CONFIG).overall
    assert (group.strict.method, group.strict.structures) == ("clustered", 2)


def test_site_bins_meet() -> None:
    names = [site_bin(sites) for sites in range(1, 400)]
    assert list(dict.fromkeys(names)) == [site_bin(low) for low, _ in SITE_BINS]
    assert (site_bin(9), site_bin(10), site_bin(100), site_bin(101)) == ("1-9", "10-19", "60-100", "101+")


class TestUnanswered:
    def test_it_is_in_the_denominator_and_counted_apart(self) -> None:
        statistics = run_statistics([record(0, right=True), record(2, right=True)], CONFIG)
        group = statistics.overall
        assert (group.strict.right, group.strict.of, group.unanswered, statistics.unplaced) == (2, 4, 2, 2)
        assert (group.paper.of, group.tolerance[0.1].of) == (4, 4)
        assert group.verdicts["strict"] == {"correct": 2}

    def test_with_the_suite_it_is_counted_in_its_groups(self, small_suite: Suite) -> None:
        first, *rest = small_suite.tasks
        answered = record(0, right=True, action=first.action, structure_id=first.structure_id)
        config = CONFIG | {"tasks": len(small_suite.tasks)}
        statistics = run_statistics([answered], config, small_suite.tasks)
        assert (statistics.unplaced, statistics.overall.unanswered) == (0, len(rest))
        assert {group.name: group.strict.of for group in statistics.of_kind("action")} == dict.fromkeys(
            small_suite.actions, 3
        )
        assert sum(group.strict.of for group in statistics.of_kind("cell")) == len(small_suite.tasks)

    def test_a_missing_sample_is_wrong(self) -> None:
        records = [record(0, sample=0, right=True), record(0, sample=2, right=True)]
        group = run_statistics(records, CONFIG | {"tasks": 1, "samples": 4}).overall
        assert (group.strict.rate, group.attempts, group.unanswered) == (0.5, 4, 2)
        assert [rate.rate for rate in group.pass_at["strict"]] == pytest.approx([1 / 2, 5 / 6, 1, 1])

    def test_the_paper_profile_of_the_first_tasks_only(self, small_suite: Suite) -> None:
        config = CONFIG | {"tasks": len(small_suite.tasks), "paper_per_action": 1}
        group = run_statistics([], config, small_suite.tasks).overall
        assert (group.strict.of, group.paper.of) == (len(small_suite.tasks), len(small_suite.actions))

    def test_without_the_paper_profile_there_is_no_rate(self) -> None:
        records = [record(0, success_paper=None, verdict_paper=None, floor_paper=None)]
        group = run_statistics(records, CONFIG | {"profile": "strict"}).overall
        assert (group.paper.rate, group.floor.rate, group.paper_off_floor.rate, group.above_floor) == (None,) * 4

    def test_a_run_without_any_answer(self) -> None:
        statistics = run_statistics([], CONFIG)
        assert (statistics.overall.strict.rate, statistics.overall.reward) == (0.0, None)
        assert statistics.usage.cost is None

    def test_truncated_answers_are_counted(self) -> None:
        group = run_statistics([record(0, truncated=True, right=True), record(1, truncated=None)], CONFIG).overall
        assert (group.truncated, group.strict.right) == (1, 1)


class TestFloor:
    RECORDS = (
        record(0, right=True, floor_paper=True),
        record(1, right=True),
        record(2),
        record(3, right=True, floor_paper=True),
    )

    def test_it_is_the_share_of_tasks_that_pass_unchanged(self) -> None:
        group = run_statistics(self.RECORDS, CONFIG).overall
        assert (group.floor.right, group.floor.of) == (2, 4)

    def test_success_off_the_floor(self) -> None:
        group = run_statistics(self.RECORDS, CONFIG).overall
        assert (group.paper.rate, group.paper_off_floor.right, group.paper_off_floor.of) == (0.75, 1, 2)
        assert group.above_floor == pytest.approx((0.75 - 0.5) / (1 - 0.5))

    def test_the_floor_counts_tasks_not_samples(self) -> None:
        records = [record(0, sample=k, right=True, floor_paper=True) for k in range(3)]
        assert run_statistics(records, CONFIG | {"tasks": 1, "samples": 3}).overall.floor.of == 1

    def test_a_floor_of_one_leaves_nothing_above_it(self) -> None:
        group = run_statistics([record(0, right=True, floor_paper=True)], CONFIG | {"tasks": 1}).overall
        assert (group.above_floor, group.paper_off_floor.rate) == (None, None)

    def test_an_unanswered_task_of_another_composition_has_no_floor(self, small_suite: Suite) -> None:
        config = CONFIG | {"tasks": len(small_suite.tasks)}
        statistics = run_statistics([], config, small_suite.tasks)
        add, move = statistics.group("action", "add"), statistics.group("action", "move")
        assert add is not None
        assert move is not None
        assert (add.floor.of, move.floor.of, move.paper_off_floor.of) == (3, 0, 3)


def test_distances_are_named_and_counted() -> None:
    records = [
        record(0, right=True),
        record(1),
        record(2, max_displacement=None),
        record(3, success_paper=True, verdict_paper="correct", max_dist=0.4, rmsd=0.2),
    ]
    found = run_statistics(records, CONFIG).overall.distances
    assert {name: (each.n, each.unit) for name, each in found.items()} == {
        "max_displacement_all": (3, "Å"),
        "max_displacement_right": (1, "Å"),
        "max_dist_paper_right": (2, "(V/N)^(1/3)"),
        "max_dist_paper_right_angstrom": (2, "Å"),
        "rmsd_paper_right": (2, "(V/N)^(1/3)"),
        "rmsd_paper_right_angstrom": (2, "Å"),
    }
    assert found["max_displacement_all"].mean == pytest.approx((0.02 + 0.3 + 0.3) / 3)
    assert found["max_dist_paper_right"].mean == pytest.approx(0.22)
    assert found["max_dist_paper_right_angstrom"].mean == pytest.approx(0.55)
    assert found["max_displacement_right"].largest == 0.02


def test_success_by_tolerance() -> None:
    records = [record(k, max_displacement=value) for k, value in enumerate([0.01, 0.04, 0.2, None])]
    curve = run_statistics(records, CONFIG).overall.tolerance
    assert {tolerance: rate.right for tolerance, rate in curve.items()} == {0.01: 1, 0.05: 2, 0.1: 2, 0.25: 3, 0.5: 3}
    assert all(rate.of == 4 for rate in curve.values())


def test_tokens_latency_and_cost() -> None:
    prices = {"price_in": 2.0, "price_out": 8.0}
    records = [record(0), record(1, latency=4.0), record(2, prompt_tokens=None, completion_tokens=None, latency=None)]
    used = run_statistics(records, CONFIG | {"settings": prices}).usage
    assert (used.prompt_tokens, used.completion_tokens, used.counted) == (2000, 1000, 2)
    assert (used.mean_latency, used.cost) == (3.0, pytest.approx((2000 * 2 + 1000 * 8) / 1e6))
    assert run_statistics(records, CONFIG).usage.cost is None


def test_verdicts_are_counted_by_profile() -> None:
    records = [record(0, right=True), record(1, verdict_strict="timeout", verdict_paper=None, success_paper=None)]
    group = run_statistics(records, CONFIG).overall
    assert group.verdicts == {"strict": {"correct": 1, "timeout": 1}, "paper": {"correct": 1}}


def test_everything_is_json() -> None:
    statistics = run_statistics([record(k, right=k == 0) for k in range(3)], CONFIG)
    text = json.dumps(statistics.to_json(), allow_nan=False)
    groups = json.loads(text)["groups"]
    assert groups[0]["strict"]["rate"] == 0.25
    assert set(groups[0]["tolerance"]) == {"0.01", "0.05", "0.1", "0.25", "0.5"}


def test_records_of_older_runs_have_figures_too() -> None:
    older = {"index", "task_id", "action", "structure_id", "n_sites", "orthogonal", "level", "reward", "success",
             "max_displacement", "verdict_strict", "verdict_paper", "success_paper", "rmsd", "max_dist"}  # fmt: skip
    records = [{key: value for key, value in record(0, right=True).items() if key in older}]
    group = run_statistics(records, {"tasks": 1}).overall
    assert (group.strict.rate, group.floor.rate, group.distances["max_dist_paper_right_angstrom"].n) == (1.0, None, 0)
