"""The task record: JSON, JSON Lines, Parquet."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.errors import UsageError
from atomworld_env.tasks.sampler import sample_task
from atomworld_env.tasks.task import Task, dump_line, read_jsonl, read_parquet, write_jsonl, write_parquet


@pytest.fixture(scope="module")
def tasks():
    return [sample_task(action, seed=5) for action in ACTIONS]


def test_the_record_has_the_documented_fields(tasks):
    for task in tasks:
        assert list(task.to_json()) == [
            "task_id",
            "action",
            "params",
            "prompt",
            "structure",
            "target",
            "structure_id",
            "n_sites",
            "difficulty",
            "seed",
            "suite",
            "split",
            "version",
            "baseline",
        ]


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        pytest.param("change", ["index", "element"], id="change"),
        pytest.param("remove", ["index"], id="remove"),
        pytest.param("add", ["element", "position"], id="add"),
        pytest.param("insert_between", ["index", "towards", "element", "distance"], id="insert_between"),
        pytest.param("swap", ["index", "other"], id="swap"),
        pytest.param("delete_below", ["index", "include_level"], id="delete_below"),
        pytest.param("move", ["index", "displacement"], id="move"),
        pytest.param("move_towards", ["index", "towards", "distance"], id="move_towards"),
        pytest.param("rotate_around", ["index", "radius", "angle", "axis"], id="rotate_around"),
        pytest.param("super_cell", ["factors"], id="super_cell"),
    ],
)
def test_params_by_action(tasks, action, keys):
    (task,) = (task for task in tasks if task.action == action)
    assert list(task.params) == keys
    kinds = {"index": int, "towards": int, "other": int, "angle": int, "distance": float, "radius": float}
    for key, kind in kinds.items():
        assert type(task.params.get(key, kind())) is kind
    for key in ("position", "displacement", "axis"):
        assert [type(value) for value in task.params.get(key, [0.0] * 3)] == [float] * 3
    assert [type(value) for value in task.params.get("factors", [1] * 3)] == [int] * 3


def test_json_and_back_is_the_same_task(tasks):
    for task in tasks:
        assert Task.from_json(json.loads(dump_line(task))) == task


def test_the_line_is_one_line_of_strict_json(tasks):
    for task in tasks:
        line = dump_line(task)
        assert "\n" not in line
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        assert "Å" in line or "Å" not in task.prompt  # readable, not \\u00c5


def test_crystals_are_those_of_the_two_texts(tasks):
    for task in tasks:
        assert len(task.crystal) == task.n_sites
        assert task.crystal.cell[3:] == task.target_crystal.cell[3:]


def test_unknown_keys_are_ignored_and_null_params_dropped(tasks):
    record = tasks[0].to_json() | {"note": "mine"}
    record["params"] = record["params"] | {"radius": None}
    assert Task.from_json(record) == tasks[0]


def test_arrays_as_a_data_frame_gives_them_become_lists(tasks):
    (task,) = (task for task in tasks if task.action == "move")
    record = task.to_json()
    record["params"] = record["params"] | {"displacement": np.array(record["params"]["displacement"])}
    assert Task.from_json(record) == task


@pytest.mark.parametrize("key", [field.name for field in fields(Task)])
def test_a_missing_key_is_named(tasks, key):
    record = tasks[0].to_json()
    del record[key]
    with pytest.raises(ValueError, match=rf"^the task lacks {key}$"):
        Task.from_json(record)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"params": "index=1"}, "params must be an object", id="params"),
        pytest.param({"target": None}, "target must be text", id="target"),
        pytest.param({"prompt": 7}, "prompt must be text", id="prompt"),
        pytest.param({"difficulty": 0.5}, "difficulty must be an object", id="difficulty"),
        pytest.param({"baseline": {}}, "baseline", id="empty baseline"),
        pytest.param({"baseline": None}, "baseline must be an object", id="no baseline"),
    ],
)
def test_a_wrong_value_is_named_in_one_line(tasks, change, message):
    with pytest.raises(ValueError, match=rf"^[^\n]*{message}[^\n]*$"):
        Task.from_json(tasks[0].to_json() | change)


@pytest.mark.parametrize(
    "record", [pytest.param([], id="list"), pytest.param("x", id="text"), pytest.param(None, id="null")]
)
def test_what_is_no_object_is_refused(record):
    with pytest.raises(ValueError, match=r"^a task is a JSON object$"):
        Task.from_json(record)


def test_json_lines_round_trip(tasks, tmp_path):
    path = tmp_path / "tasks.jsonl"
    write_jsonl(tasks, path)
    assert list(read_jsonl(path)) == tasks
    first = path.read_bytes()
    write_jsonl(read_jsonl(path), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == first
    assert first.count(b"\n") == len(tasks)
    assert b"\r" not in first


def test_parquet_round_trip_is_equal_to_json_lines(tasks, tmp_path):
    write_jsonl(tasks, tmp_path / "tasks.jsonl")
    write_parquet(tasks, tmp_path / "tasks.parquet")
    assert list(read_parquet(tmp_path / "tasks.parquet")) == list(read_jsonl(tmp_path / "tasks.jsonl"))
    assert [dump_line(task) for task in read_parquet(tmp_path / "tasks.parquet")] == [dump_line(t) for t in tasks]


def test_blank_lines_are_skipped(tasks, tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"\n{dump_line(tasks[0])}\n\n{dump_line(tasks[1])}\n\n", encoding="utf-8")
    assert list(read_jsonl(path)) == tasks[:2]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda line: line[:-20], id="cut short"),
        pytest.param(lambda line: "not JSON", id="not JSON"),
        pytest.param(lambda line: "[1, 2]", id="a list"),
        pytest.param(lambda line: line.replace('"target"', '"goal"'), id="a key missing"),
        pytest.param(lambda line: line.replace("_atom_site_fract_x", "_atom_site_fract_q"), id="no crystal"),
        pytest.param(lambda line: line.replace('"baseline": {"stage"', '"baseline": {"phase"'), id="baseline"),
    ],
)
def test_a_broken_line_names_file_line_and_mend(tasks, tmp_path, spoil):
    path = tmp_path / "mine.jsonl"
    lines = [dump_line(task) for task in tasks[:3]]
    lines[1] = spoil(lines[1])
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.jsonl, line 2: [^\n]*atomworld generate[^\n]*$"):
        list(read_jsonl(path))


def test_bytes_that_are_no_text_are_a_broken_line(tasks, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(dump_line(tasks[0]).encode() + b"\n\xff\xfe\x00\n")
    with pytest.raises(UsageError, match=r"mine\.jsonl, line 2"):
        list(read_jsonl(path))


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    path = tmp_path / "mine.parquet"
    path.write_text("not Parquet", encoding="utf-8")
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.parquet is not a Parquet file[^\n]*$"):
        list(read_parquet(path))


def test_a_broken_row_names_file_and_row(tasks, tmp_path):
    path = tmp_path / "mine.parquet"
    write_parquet([tasks[0], replace(tasks[1], target="data_x")], path)
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.parquet, row 1: [^\n]*$"):
        list(read_parquet(path))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"action": "fly"}, "unknown action 'fly'; choose from change", id="action"),
        pytest.param({"params": {}}, "the parameters do not fit move", id="params"),
        pytest.param({"difficulty": {}}, "difficulty lacks its level", id="difficulty"),
        pytest.param({"structure": "junk"}, "the structure cannot be used", id="structure"),
        pytest.param({"target": "data_x"}, "the target cannot be used", id="target"),
    ],
)
def test_a_task_that_cannot_be_used_is_refused_when_it_is_loaded(change, reason, tmp_path):
    record = sample_task("move", seed=1).to_json()
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps(record | change) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"line 2: {reason}[^\n]*$"):
        list(read_jsonl(path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("  1.0\n", "  0.5\n", id="occupancy"),
        pytest.param("_cell_length_a   ", "_cell_length_a   -", id="negative-length"),
    ],
)
def test_a_truth_that_only_the_paper_profile_takes_is_refused(old, new, tmp_path):
    record = sample_task("move", seed=1).to_json()
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(record | {"target": record["target"].replace(old, new)}) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 1: the target cannot be used"):
        list(read_jsonl(path))


def test_a_line_nested_too_deep_is_refused(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text("[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 1: not JSON"):
        list(read_jsonl(path))
