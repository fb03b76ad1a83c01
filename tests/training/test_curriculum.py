"""The curriculum: what opens a level, what is drawn more or less, and that a resumed one draws the same."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from atomworld_env.errors import UsageError
from atomworld_env.structures.pool import load_pool
from atomworld_env.tasks.sampler_config import SamplerConfig
from training.curriculum import Cell, CellRecord, Curriculum, CurriculumRule, GroupResult
from training.levels import admitted_levels, level_configs

LEVELS = {"move": [0, 1, 2], "swap": [0, 1]}


def curriculum(**options: object) -> Curriculum:
    return Curriculum(LEVELS, tasks=16, lag=2, seed=5, **options)  # type: ignore[arg-type]


def results(curriculum: Curriculum, generation: int, success: dict[Cell, float]) -> list[GroupResult]:
    return [
        GroupResult(cell, success.get(cell, 0.0), 0.0 < success.get(cell, 0.0) < 1.0)
        for cell in curriculum.plan(generation)
    ]


def test_only_first_levels_are_open_at_the_start() -> None:
    assert curriculum().cells == [Cell("move", 0), Cell("swap", 0)]


def test_a_learnt_level_opens_the_next_one_and_only_that() -> None:
    taught = curriculum()
    for generation in range(12):
        taught.record(generation, results(taught, generation, {Cell("move", 0): 0.8}))
    assert taught.highest_level("move") == 1
    assert taught.highest_level("swap") == 0
    assert Cell("move", 1) in {cell for g in (12, 13) for cell in taught.plan(g)}


def test_a_few_lucky_groups_open_nothing() -> None:
    taught = curriculum(rule=CurriculumRule(groups_before=40))
    taught.record(0, results(taught, 0, dict.fromkeys(taught.cells, 1.0)))
    assert taught.highest_level("move") == 0


@pytest.mark.parametrize("success", [0.0, 1.0])
def test_a_cell_without_spread_is_drawn_less(success: float) -> None:
    taught = curriculum(rule=CurriculumRule(opens_at=1.0, groups_before=10_000))
    for generation in range(20):
        taught.record(generation, results(taught, generation, {Cell("move", 0): success, Cell("swap", 0): 0.5}))
    weights = taught.weights()
    assert weights[Cell("move", 0)] == pytest.approx(weights[Cell("swap", 0)] * 0.1, rel=0.15)
    assert weights[Cell("move", 0)] > 0


def test_partial_credit_counts_half_where_nothing_is_right() -> None:
    rule = CurriculumRule(floor=0.1)
    assert rule.weight(CellRecord(success=0.0, spread=1.0)) == pytest.approx(0.1 + 0.9 * 0.5)
    assert rule.weight(CellRecord(success=0.5, spread=1.0)) == 1.0


def test_many_open_levels_do_not_make_an_edit_more_frequent() -> None:
    taught = curriculum()
    for generation in range(30):
        taught.record(generation, results(taught, generation, {Cell("move", k): 0.7 for k in range(3)}))
    assert taught.highest_level("move") == 2
    by_action: Counter[str] = Counter()
    for cell, weight in taught.weights().items():
        by_action[cell.action] += weight  # type: ignore[assignment]
    assert by_action["move"] <= 1.0 / (1.0 + 0.1)


def test_switched_off_all_levels_are_drawn_evenly() -> None:
    flat = curriculum(adaptive=False)
    flat.record(0, results(flat, 0, {Cell("move", 0): 1.0}))
    assert flat.weights() == pytest.approx(
        {cell: 0.5 / len(LEVELS[cell.action]) for cell in (Cell(a, k) for a, of in LEVELS.items() for k in of)}
    )


def test_a_restored_curriculum_draws_what_the_first_would_have_drawn() -> None:
    first = curriculum()
    for generation in range(6):
        first.record(generation, results(first, generation, {Cell("move", 0): 0.9, Cell("swap", 0): 0.4}))
    second = curriculum()
    second.restore(json.loads(json.dumps(first.state())))
    for generation in range(6, 20):
        assert second.plan(generation) == first.plan(generation)
        for each in (first, second):
            each.record(generation, results(each, generation, {Cell("move", 0): 0.7, Cell("move", 1): 0.2}))
    assert second.state() == first.state()


def test_the_plan_does_not_depend_on_when_it_is_asked_for() -> None:
    early, late = curriculum(), curriculum()
    ahead = []
    for generation in range(10):
        ahead.append(early.plan(generation + 1))
        early.record(generation, results(early, generation, {Cell("move", 0): 0.9}))
    for generation in range(10):
        late.record(generation, results(late, generation, {Cell("move", 0): 0.9}))
        assert late.plan(generation + 1) == ahead[generation]


def test_fetching_further_ahead_than_planned_is_refused() -> None:
    with pytest.raises(LookupError, match="dataloader_num_workers"):
        curriculum().plan(2)


def test_state_of_other_levels_is_refused() -> None:
    other = Curriculum({"move": [0]}, tasks=4, lag=1, seed=0)
    with pytest.raises(ValueError, match="other edits or levels"):
        curriculum().restore(other.state())


def test_levels_cut_the_sites_into_equal_ratios_without_gap() -> None:
    configs = level_configs(SamplerConfig(min_sites=2, max_sites=100), 4)
    bounds = [(config.min_sites, config.max_sites) for config in configs]
    assert bounds[0][0] == 2
    assert bounds[-1][1] == 100
    assert all(before[1] + 1 == after[0] for before, after in pairwise(bounds))
    assert len(level_configs(SamplerConfig(min_sites=2, max_sites=3), 5)) == 2


def test_levels_by_difficulty() -> None:
    configs = level_configs(SamplerConfig(difficulty=(0.2, 0.8)), 3, "difficulty")
    assert [config.difficulty for config in configs] == [(0.2, 0.4), (0.4, 0.6), (0.6, 0.8)]


def test_levels_that_admit_no_task_are_left_out() -> None:
    pool = load_pool("aflow")
    configs = level_configs(SamplerConfig(min_sites=1, max_sites=4, actions=("remove", "super_cell")), 2)
    levels = admitted_levels(configs, pool)
    assert levels["super_cell"] == [0, 1]
    assert levels["remove"] == [1]  # nothing would remain of one site
    with pytest.raises(UsageError, match="remove"):
        admitted_levels(configs[:1], pool)
