"""Answers that supervised training imitates are right under both profiles, in both styles."""

from __future__ import annotations

import pytest

from atomworld_env.structures.cif import CIF_STYLES, CifStyle
from atomworld_env.tasks.task import Task
from rewards import verify
from training.oracle_answers import kept_sites, oracle_answer


@pytest.mark.parametrize("style", CIF_STYLES)
def test_they_are_right(style: CifStyle, compact_tasks: list[Task]) -> None:
    for task in compact_tasks:
        verdict = verify(oracle_answer(task, style=style), task.target, strict_tags=True)
        assert verdict.success_strict, (task.task_id, verdict.message)


def test_they_are_right_under_the_paper_profile(compact_tasks: list[Task]) -> None:
    for task in compact_tasks[::7]:
        assert verify(oracle_answer(task), task.target, profile="paper").success_paper


def test_rows_that_an_edit_leaves_alone_repeat_the_input(compact_tasks: list[Task]) -> None:
    for task in compact_tasks:
        asked, answered = task.structure.splitlines(), oracle_answer(task).splitlines()
        if task.action in ("remove", "delete_below"):
            rows = answered[answered.index("_atom_site_fract_z") + 1 : -1]
            assert set(rows) <= set(asked)
        if task.action == "remove":
            assert len(set(asked) - set(answered)) == 2  # the row, and the formula that names the block
        if task.action in ("change", "move"):
            assert len(set(asked) - set(answered)) == 2


def test_a_block_name_never_claims_a_formula(compact_tasks: list[Task]) -> None:
    assert all(oracle_answer(task).splitlines()[1] == "data_edited" for task in compact_tasks)


def test_deleted_sites_leave_a_gap_in_the_labels(compact_tasks: list[Task]) -> None:
    task = next(task for task in compact_tasks if task.action == "remove" and task.params["index"] == 0)
    assert kept_sites(task.crystal, task.target_crystal) == list(range(1, task.n_sites))
