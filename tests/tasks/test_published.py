"""The published benchmark as a suite: what is kept, what is left out, and every problem by its name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from ase import Atoms
from published_layout import (
    OBLIQUE,
    as_atoms,
    as_input,
    as_output,
    published_edits,
    published_records,
    record,
    write_json,
)

import atomworld_env
from atomworld_env.errors import UsageError
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.cif import write_cif
from atomworld_env.tasks.published import KINDS, ImportedSuite, import_records
from atomworld_env.tasks.published_export import export_record, export_tasks
from atomworld_env.tasks.published_files import read_published
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import PUBLISHED, Task, usable

EDITS = published_edits()


def imported(tmp_path: Path, *records: Any) -> ImportedSuite:
    return import_records(read_published(write_json(list(records), tmp_path / "records.json")))


def kinds(tmp_path: Path, *records: Any) -> list[str]:
    return [problem.kind for problem in imported(tmp_path, *records).problems]


def of(action: str, **other: Any) -> dict[str, Any]:
    return {**record(action, *EDITS[action]), **other}


def test_every_edit_becomes_a_task_with_prompt_input_and_target_as_stored(tmp_path: Path) -> None:
    records = published_records()
    suite = imported(tmp_path, *records).suite
    assert [task.action for task in suite.tasks] == [
        "add", "change", "remove", "move", "move_towards", "insert_between", "swap", "delete_below", "rotate_around",
        "super_cell",
    ]  # fmt: skip
    for task, stored in zip(suite.tasks, records, strict=True):
        assert task.task_id == stored["problem_id"]
        assert (task.prompt, task.structure, task.target) == (
            stored["action_prompt"], stored["input"], stored["output"],
        )  # fmt: skip
        assert (task.structure_id, task.n_sites, task.version) == ("mp-1", 5, PUBLISHED)
        assert not task.crystal.is_orthogonal
        assert task.params


def test_the_stored_target_is_right_in_the_environment_and_the_input_is_not(tmp_path: Path) -> None:
    env = gymnasium.make(atomworld_env.ENV_ID, suite=imported(tmp_path, *published_records()).suite, profile="both")
    for task in env.unwrapped.suite.tasks:  # type: ignore[attr-defined]
        observation, _ = env.reset(options={"task": task})
        assert task.prompt in observation["prompt"]
        _, reward, *_, info = env.step(f"<cif>{task.target}</cif>")
        assert (reward, info["success"], info["success_paper"]) == (1.0, True, True)
        env.reset(options={"task": task})
        assert env.step(f"<cif>{task.structure}</cif>")[1] < 0.5


@pytest.mark.parametrize("name", ["tasks.jsonl", "tasks.parquet"])
@pytest.mark.parametrize("wording", ["as published", "unknown"])
def test_a_written_suite_loads_unchanged(tmp_path: Path, name: str, wording: str) -> None:
    records = published_records() if wording == "as published" else [of("AddAtomAction", action_prompt="Add a barium.")]
    made = imported(tmp_path, *records).suite
    made.write(tmp_path / "suite")
    loaded = load_suite(tmp_path / "suite" / name)
    assert loaded.tasks == made.tasks
    assert loaded.fingerprint == made.fingerprint


def test_an_empty_params_is_for_published_tasks_only(small_tasks: dict[str, Task]) -> None:
    with pytest.raises(ValueError, match="the parameters do not fit move"):
        usable(replace(small_tasks["move"], params={}))


# One record of each kind of problem.


def test_target_unreadable(tmp_path: Path) -> None:
    broken = of("AddAtomAction", output="data_x\n_cell_length_a 3\n")
    result = imported(tmp_path, broken, of("MoveAtomAction"))
    assert [task.action for task in result.suite.tasks] == ["move"]
    (problem,) = [each for each in result.problems if each.left_out]
    assert (problem.kind, problem.task_id, problem.place) == (
        "target_unreadable", "id-AddAtomAction", "records.json, record 0",
    )  # fmt: skip


def test_a_target_with_partial_occupancy_is_unreadable(tmp_path: Path) -> None:
    half = as_output(EDITS["AddAtomAction"][1]).replace("1.0000\n  Ba", "0.5000\n  Ba")
    assert kinds(tmp_path, of("AddAtomAction", output=half)) == ["target_unreadable"]


def test_input_unreadable(tmp_path: Path) -> None:
    assert kinds(tmp_path, of("AddAtomAction", input="no CIF at all")) == ["input_unreadable"]


@pytest.mark.parametrize("key", ["action_prompt", "input", "output"])
def test_incomplete(tmp_path: Path, key: str) -> None:
    lacking = of("AddAtomAction")
    del lacking[key]
    assert kinds(tmp_path, lacking, "not even an object") == ["incomplete"] * 2


def test_unknown_action(tmp_path: Path) -> None:
    other = of("AddAtomAction", action_type="DeleteAroundAtomAction")
    assert kinds(tmp_path, other) == ["unknown_action"]


def test_duplicate_and_duplicate_id(tmp_path: Path) -> None:
    first, same, other = of("AddAtomAction"), of("AddAtomAction"), of("ChangeAtomAction", problem_id="id-AddAtomAction")
    result = imported(tmp_path, first, same, other)
    assert [task.task_id for task in result.suite.tasks] == ["id-AddAtomAction", "id-AddAtomAction#2"]
    assert [problem.kind for problem in result.problems] == ["duplicate", "duplicate_id"]


def test_wording_unknown(tmp_path: Path) -> None:
    result = imported(tmp_path, of("AddAtomAction", action_prompt="Put barium somewhere."))
    assert [problem.kind for problem in result.problems] == ["wording_unknown"]
    assert result.suite.tasks[0].params == {}


def test_including_itself_not_obeyed(tmp_path: Path) -> None:
    prompt, atoms = EDITS["DeleteBelowAtomAction"]
    (problem,) = imported(
        tmp_path, record("DeleteBelowAtomAction", prompt.replace("Excluding", "Including"), atoms)
    ).problems
    assert problem.kind == "target_contradicts_instruction"
    assert problem.message == "the target keeps the site itself and those level with it, against the instruction"


def test_including_itself_obeyed(tmp_path: Path) -> None:
    prompt, atoms = EDITS["DeleteBelowAtomAction"]
    obeyed = atoms[[k for k in range(len(atoms)) if atoms.positions[k, 2] > 0.31 * OBLIQUE.matrix[2, 2]]]
    assert kinds(tmp_path, record("DeleteBelowAtomAction", prompt.replace("Excluding", "Including"), obeyed)) == []


def test_rotation_that_swings_the_copies_in_the_cell(tmp_path: Path) -> None:
    (problem,) = imported(tmp_path, of("RotateAroundAtomAction")).problems
    assert problem.kind == "target_contradicts_instruction"
    assert "swings the copies in the cell" in problem.message


@pytest.mark.parametrize("action", ["MoveTowardsAtomAction", "InsertBetweenAtomsAction"])
def test_two_readings_where_the_listed_site_is_not_the_nearest_image(tmp_path: Path, action: str) -> None:
    (problem, *_) = imported(tmp_path, of(action)).problems
    assert problem.kind == "two_readings"
    assert problem.message.startswith("the target goes to the other site as listed")


@pytest.mark.parametrize(
    ("action", "spoil"),
    [
        pytest.param("AddAtomAction", lambda atoms: atoms[:-1] + Atoms("Ba", positions=[[0.0, 0.3, 0.4]]), id="add"),
        pytest.param("ChangeAtomAction", lambda atoms: as_atoms(OBLIQUE), id="change"),
        pytest.param("RemoveAtomAction", lambda atoms: atoms[1:], id="remove"),
        pytest.param("MoveAtomAction", lambda atoms: as_atoms(OBLIQUE), id="move"),
        pytest.param("SwapAtomsAction", lambda atoms: as_atoms(OBLIQUE), id="swap"),
        pytest.param("SuperCellAction", lambda atoms: as_atoms(OBLIQUE) * (2, 1, 1), id="super_cell"),
        pytest.param(
            "InsertBetweenAtomsAction", lambda atoms: atoms[:-1] + Atoms("Fe", positions=[[3, 3, 3]]), id="insert"
        ),
    ],
)  # fmt: skip
def test_any_other_target_contradicts_its_instruction(tmp_path: Path, action: str, spoil: Any) -> None:
    prompt, atoms = EDITS[action]
    found = imported(tmp_path, record(action, prompt, spoil(atoms))).problems
    assert found[0].kind == "target_contradicts_instruction"
    assert "not what the instruction asks for" in found[0].message


def test_an_instruction_that_names_no_site_contradicts(tmp_path: Path) -> None:
    result = imported(tmp_path, of("RemoveAtomAction", action_prompt="Remove the atom at index 99 from the cif file."))
    assert [problem.kind for problem in result.problems] == ["target_contradicts_instruction"]
    assert "there is no site 99" in result.problems[0].message


def test_unchanged_passes_both_profiles(tmp_path: Path) -> None:
    still = record(
        "MoveAtomAction", "Move the atom at index 0 by [0. 0. 0.] angstrom in the cif file.", as_atoms(OBLIQUE)
    )
    assert kinds(tmp_path, still) == ["unchanged_passes_strict", "unchanged_passes_paper"]


def test_unchanged_passes_paper_alone(tmp_path: Path) -> None:
    assert kinds(tmp_path, of("MoveAtomAction")) == ["unchanged_passes_paper"]


def test_every_kind_has_a_meaning() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f'"{kind}"' not in source] == []


# CIFs that are not P 1.


def test_a_cif_with_symmetry_is_carried_out(tmp_path: Path) -> None:
    rock_salt = (
        "data_NaCl\n_symmetry_space_group_name_H-M 'F m -3 m'\n_symmetry_Int_Tables_number 225\n"
        + "".join(f"_cell_length_{axis} 5.64\n" for axis in "abc")
        + "".join(f"_cell_angle_{angle} 90\n" for angle in ("alpha", "beta", "gamma"))
        + "loop_\n_atom_site_type_symbol\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n"
        "_atom_site_fract_z\n_atom_site_occupancy\nNa Na0 0 0 0 1\nCl Cl1 0.5 0.5 0.5 1\n"
    )
    result = imported(
        tmp_path, of("SuperCellAction", input=rock_salt, output=rock_salt, action_prompt="Leave it as it is.")
    )
    (task,) = result.suite.tasks
    assert (task.n_sites, task.crystal.is_orthogonal, len(task.target_crystal)) == (8, True, 8)
    assert usable(task) is task


# Layouts.


def test_action_by_file_name_or_wording(tmp_path: Path) -> None:
    bare = {key: of("RotateAroundAtomAction")[key] for key in ("action_prompt", "input", "output")}
    by_wording = import_records(read_published(write_json([bare], tmp_path / "bench.json"))).suite.tasks[0]
    odd = {**bare, "action_prompt": "As you like it."}
    by_name = import_records(read_published(write_json([odd], tmp_path / "rotate_around_atom_action.json"))).suite
    assert by_wording.action == by_name.tasks[0].action == "rotate_around"
    assert by_wording.task_id.startswith("rotate_around-")


def test_a_folder_with_a_file_for_each_edit(tmp_path: Path) -> None:
    for stored in published_records():
        write_json([stored], tmp_path / f"{stored['action_type']}.json")
    assert len(import_records(read_published(tmp_path)).suite.tasks) == 10


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in published_records()), encoding="utf-8")
    assert len(list(read_published(path))) == 10


def test_csv_with_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "input_cifs.hdf5", "w") as file:
        file.create_dataset("mp-7.cif", data=as_input(OBLIQUE))
    prompt, atoms = EDITS["AddAtomAction"]
    with h5py.File(tmp_path / "add_atom_action.hdf5", "w") as file:
        file.create_dataset("mp-7_processed.cif", data=as_output(atoms))
    rows = [f"mp-7.cif,{prompt},mp-7_processed.cif", f"mp-8.cif,{prompt},mp-8_processed.cif"]
    lines = ["input_cif,action_prompt,output_cif", *rows]
    (tmp_path / "add_atom_action.csv").write_text("\n".join(lines), encoding="utf-8")
    result = import_records(read_published(tmp_path))
    (task,) = result.suite.tasks
    assert (task.task_id, task.action, task.structure_id) == ("add_atom_action/mp-7", "add", "mp-7")
    assert task.target == as_output(atoms)
    assert [(problem.kind, problem.task_id) for problem in result.problems] == [("incomplete", "add_atom_action/mp-8")]


def test_a_hugging_face_data_set_on_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    records = published_records()
    both = datasets.DatasetDict(
        {"train": datasets.Dataset.from_list(records[:3]), "bench": datasets.Dataset.from_list(records)}
    )
    both.save_to_disk(tmp_path / "saved")
    assert len(list(read_published(tmp_path / "saved"))) == 10
    assert len(list(read_published(tmp_path / "saved", "train"))) == 3
    assert len(list(read_published(tmp_path / "saved" / "train"))) == 3
    (tmp_path / "hub" / "data").mkdir(parents=True)
    for split, rows in both.items():
        rows.to_parquet(tmp_path / "hub" / "data" / f"{split}-00000-of-00001.parquet")
    read = list(read_published(tmp_path / "hub"))
    assert [each.prompt for each in read] == [stored["action_prompt"] for stored in records]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("records.txt", "", "has none of the endings"),
        ("records.json", "{", "cannot be read"),
        ("records.json", '{"a": 1}', "not a list of records"),
        ("records.parquet", "no parquet", "cannot be read"),
        ("add.csv", "input_cif,action_prompt,output_cif\n", "keeps its CIFs in it"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        list(read_published(tmp_path / name))


# Our suites, out and in.


def test_export_and_import_is_the_identity(small_suite: Suite, tmp_path: Path) -> None:
    (path,) = export_tasks(small_suite.tasks, tmp_path / "ours.json")
    back = import_records(read_published(path))
    assert [problem.kind for problem in back.problems if problem.kind != "unchanged_passes_paper"] == []
    for task, ours in zip(back.suite.tasks, small_suite.tasks, strict=True):
        same = ("task_id", "action", "params", "prompt", "structure", "target", "structure_id", "n_sites", "difficulty")
        assert [getattr(task, key) for key in same] == [getattr(ours, key) for key in same]
        assert task.baseline.stage == ours.baseline.stage
        # The reader of CIFs takes 0.3333 for 1/3, the sampler takes what is printed.
        assert task.baseline.max_displacement == pytest.approx(ours.baseline.max_displacement, abs=2e-3)
    again = [export_record(task) for task in back.suite.tasks]
    assert again == json.loads(path.read_text(encoding="utf-8"))


def test_a_folder_is_written_with_a_file_for_each_edit(small_suite: Suite, tmp_path: Path) -> None:
    files = export_tasks(small_suite.tasks, tmp_path / "out")
    assert {file.name for file in files} >= {"AddAtomAction.json", "SuperCellAction.json"}
    assert len(list(read_published(tmp_path / "out"))) == len(small_suite.tasks)


def test_a_printed_cif_is_what_the_fixture_holds() -> None:
    assert write_cif(OBLIQUE) in as_input(OBLIQUE)


def test_the_template_of_the_page_on_comparing_is_one(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "comparing-with-the-paper.md"
    (text,) = re.findall(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    (tmp_path / "published-like.txt").write_text(text, encoding="utf-8")
    assert "move it" in load_template(str(tmp_path / "published-like.txt")).render("data_x", "move it")
    assert "nearest" not in text
    assert all(f"`{kind}`" in page.read_text(encoding="utf-8") for kind in KINDS)


@pytest.mark.parametrize(
    ("action", "other"),
    [
        ("SuperCellAction", {"action_prompt": "Create a supercell with the size 99999x99999x99999."}),
        ("SuperCellAction", {"params": {"factors": [10**9, 10**9, 10**9]}, "action_prompt": "Repeat it."}),
        ("MoveAtomAction", {"action_prompt": "Move the atom at index 0 by [1e400 0. 0.] angstrom in the cif file."}),
        ("MoveAtomAction", {"action_prompt": "Move the atom at index 0 by [1e300 0. 0.] angstrom in the cif file."}),
        ("RemoveAtomAction", {"params": {"index": "one"}, "action_prompt": "Remove it."}),
        ("MoveAtomAction", {"params": {"index": 0, "displacement": [float("nan")] * 3}, "action_prompt": "Move it."}),
        ("RotateAroundAtomAction", {"params": {"index": 0, "radius": 3.0, "angle": 90, "axis": [0.0, 0.0, 0.0]}}),
        ("AddAtomAction", {"action_prompt": "Add one Ba atom at the Cartesian coordinate [" + "1" * 200_000}),
        ("AddAtomAction", {"action_prompt": "half a pair \ud800"}),
        ("AddAtomAction", {"mp_id": {"a": [1]}, "problem_id": 7}),
        ("SwapAtomsAction", {"action_prompt": "Swap atoms at indices " + "9" * 50 + " and 1 in the cif file."}),
    ],
)  # fmt: skip
def test_no_record_raises_or_hangs(tmp_path: Path, action: str, other: dict[str, Any]) -> None:
    result = imported(tmp_path, of(action, **other))
    result.suite.write(tmp_path / "suite")
    assert load_suite(tmp_path / "suite").fingerprint == result.suite.fingerprint


@pytest.mark.parametrize("content", ["{", '{"splits": 3}', "[]"])
def test_a_broken_data_set_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "dataset_dict.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="save_to_disk"):
        list(read_published(tmp_path))
