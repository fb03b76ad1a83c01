"""Fixed sets of tasks: made, written, loaded."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.errors import UsageError
from atomworld_env.structures.pool import default_pool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import RECIPES, Suite, SuiteRecipe, load_suite, make_suite
from atomworld_env.tasks.task import Task, dump_line, write_jsonl, write_parquet

SMALL = SuiteRecipe("small", SamplerConfig(split="test"), per_action=4, seed=0)

FINGERPRINTS = {"1+aflow.3fd23e5a8ebd": "13c8544cd9a6fabd"}
"""Of `SMALL`, by version. A new generator or pool gets a new version and a new line here."""


@pytest.fixture(scope="module")
def suite():
    return make_suite(SMALL)


def test_edits_are_interleaved(suite):
    actions = [task.action for task in suite.tasks]
    assert actions == list(ACTIONS) * 4
    assert suite.actions == tuple(ACTIONS)


def test_each_edit_has_distinct_structures(suite):
    for action in ACTIONS:
        tasks = [task for task in suite.tasks if task.action == action]
        kinds = {(default_pool().entry(task.structure_id).family, tuple(sorted(task.crystal.composition.items())))
                 for task in tasks}  # fmt: skip
        assert len(kinds) == len({task.structure_id for task in tasks}) == len(tasks) == 4


def test_each_edit_is_spread_over_families_first(suite):
    for action in ACTIONS:
        families = {default_pool().entry(task.structure_id).family for task in suite.tasks if task.action == action}
        assert len(families) == 4


def test_ids_are_unique_and_tasks_know_their_suite(suite):
    assert len({task.task_id for task in suite.tasks}) == len(suite.tasks)
    assert {task.suite for task in suite.tasks} == {"small"}
    assert {task.split for task in suite.tasks} == {"test"}


def test_made_again_it_is_the_same(suite):
    assert make_suite(SMALL).fingerprint == suite.fingerprint


def test_the_fingerprint_is_pinned(suite):
    version = TaskSampler(SMALL.config).version
    assert version in FINGERPRINTS, f"pin the new version: {version!r}: {suite.fingerprint!r}"
    assert suite.fingerprint == FINGERPRINTS[version]


def test_the_fingerprint_moves_with_any_task(suite):
    changed = (replace(suite.tasks[0], prompt="Do nothing."), *suite.tasks[1:])
    assert replace(suite, tasks=changed).fingerprint != suite.fingerprint
    assert replace(suite, tasks=suite.tasks[::-1]).fingerprint != suite.fingerprint


def test_another_seed_gives_other_tasks(suite):
    other = make_suite(replace(SMALL, seed=1))
    assert not {task.task_id for task in other.tasks} & {task.task_id for task in suite.tasks}


def test_more_tasks_per_edit_begin_with_the_same(suite):
    longer = make_suite(replace(SMALL, per_action=6))
    assert longer.restricted(per_action=4).tasks == suite.tasks


def test_progress_is_told(suite):
    told = []
    make_suite(
        SuiteRecipe("tiny", SamplerConfig(actions=("remove", "add")), 2, 0),
        progress=lambda action, made, wanted: told.append((action, made, wanted)),
    )
    assert told == [("remove", 1, 2), ("remove", 2, 2), ("add", 1, 2), ("add", 2, 2)]


def test_what_became_of_the_draws_is_counted(suite):
    assert suite.counts is not None
    assert suite.counts.accepted == Counter(dict.fromkeys(ACTIONS, 4))
    assert suite.counts.rejected[("add", "two atoms would be too close")] > 0


def test_too_few_structures_are_refused_in_one_line():
    recipe = SuiteRecipe("large", SamplerConfig(actions=("remove",), min_sites=90), 100_000, 0)
    with pytest.raises(UsageError, match=r"^only \d+ different structures of the pool admit remove, 100000 [^\n]*$"):
        make_suite(recipe)


def test_restricted_to_some_edits(suite):
    two = suite.restricted(("move", "add"), per_action=3)
    assert [task.action for task in two.tasks] == ["add", "move"] * 3
    with pytest.raises(UsageError, match=r"^suite small has no fly task; it has change[^\n]*$"):
        suite.restricted(("fly",))


def test_a_task_by_its_id(suite):
    assert suite.by_id(suite.tasks[7].task_id) is suite.tasks[7]
    with pytest.raises(UsageError, match=r"^suite small has no task 'nothing'$"):
        suite.by_id("nothing")


# Files


def test_folder_json_lines_and_parquet_hold_equal_tasks(suite, tmp_path):
    suite.write(tmp_path / "deep" / "folder")
    folder = tmp_path / "deep" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == ["suite.json", "tasks.jsonl", "tasks.parquet"]
    for path in (folder, folder / "tasks.jsonl", folder / "tasks.parquet"):
        loaded = load_suite(path)
        assert loaded.tasks == suite.tasks
        assert loaded.fingerprint == suite.fingerprint
        assert loaded.name == "small"
        assert loaded.counts is None


def test_the_summary_tells_what_is_in_the_folder(suite, tmp_path):
    suite.write(tmp_path)
    summary = json.loads((tmp_path / "suite.json").read_text(encoding="utf-8"))
    assert summary["fingerprint"] == suite.fingerprint
    assert summary["tasks"] == dict.fromkeys(ACTIONS, 4)
    assert summary["version"] == suite.tasks[0].version


def test_datasets_loads_it_unchanged(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    suite.write(tmp_path / "suite")
    loaded = datasets.load_dataset(
        "json", data_files=str(tmp_path / "suite" / "tasks.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded.column_names == list(suite.tasks[0].to_json())
    assert [Task.from_json(row) for row in loaded] == list(suite.tasks)
    assert [dump_line(Task.from_json(row)) for row in loaded] == [dump_line(task) for task in suite.tasks]


def test_a_broken_line_names_file_and_line(suite, tmp_path):
    path = tmp_path / "mine.jsonl"
    lines = [dump_line(task) for task in suite.tasks[:5]]
    lines[3] = lines[3][:100]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.jsonl, line 4: [^\n]*$"):
        load_suite(path)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_repeated_id_is_refused(suite, tmp_path, suffix):
    path = tmp_path / f"mine.{suffix}"
    write = write_parquet if suffix == "parquet" else write_jsonl
    write([*suite.tasks[:3], suite.tasks[1]], path)
    with pytest.raises(UsageError, match=rf"^[^\n]*mine\.{suffix}[^\n]*'{suite.tasks[1].task_id}' occurs twice[^\n]*$"):
        load_suite(path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.jsonl holds no task[^\n]*atomworld generate[^\n]*$"):
        load_suite(path)


@pytest.mark.parametrize(
    "name", [pytest.param("atomotor", id="a misspelt name"), pytest.param("nowhere/tasks.jsonl", id="no such file")]
)
def test_neither_a_name_nor_a_file_is_refused(name):
    with pytest.raises(UsageError, match=rf"^no suite '{name}': [^\n]*atommotor[^\n]*atomworld generate[^\n]*$"):
        load_suite(name)


def test_the_published_size_is_a_recipe():
    recipe = RECIPES["atommotor"]
    assert recipe.per_action * len(recipe.config.actions) == 2500
    assert (recipe.config.min_sites, recipe.config.max_sites, recipe.config.split) == (10, 100, "test")


@pytest.mark.slow
def test_the_published_size_can_be_made():
    suite = load_suite("atommotor")
    assert Counter(task.action for task in suite.tasks) == dict.fromkeys(ACTIONS, 250)
    assert len({task.task_id for task in suite.tasks}) == 2500


def test_a_suite_of_nothing_has_a_fingerprint():
    assert len(Suite("empty", ()).fingerprint) == 16


ATOMMOTOR_FINGERPRINT = "b4270a7033734eda"
"""Of AtomMotor-2K. It moves only with a new generator or pool, and then the changelog says so."""


def test_atommotor_is_the_suite_it_is_said_to_be() -> None:
    suite = load_suite("atommotor")
    assert suite.fingerprint == ATOMMOTOR_FINGERPRINT
    pool = default_pool()
    for action in ACTIONS:
        tasks = [task for task in suite.tasks if task.action == action]
        assert len(tasks) == len({task.structure_id for task in tasks}) == 250
        assert len({pool.entry(task.structure_id).family for task in tasks}) >= 50
        assert all(task.split == "test" and 10 <= task.n_sites <= 100 for task in tasks)
