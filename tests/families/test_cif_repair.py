"""CIF-Repair: nothing posed that cannot be mended, nothing that passes unmended, the fixed suite."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import acos, cos, degrees, radians, sqrt
from pathlib import Path

import numpy as np
import pytest

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.run import evaluate
from atomworld_env.families.action_names import REPAIRS
from atomworld_env.families.cif_repair import PREFIX, CifRepair
from atomworld_env.families.cif_repair_faults import FAULTS
from atomworld_env.families.cif_repair_losses import angles_of_volume
from atomworld_env.families.cif_repair_posing import lost_values, placeholder_answer
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.crystal import cell_matrix
from atomworld_env.structures.pool import default_pool
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, dump_line, read_parquet, usable, write_parquet
from rewards import SCHEMES, Stage, reward, verify

FINGERPRINT = "8dd7c889300dbc11"
TEMPLATE = load_template(default="cif_repair")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite("cif-repair")


# A mender that knows nothing but the prompt: it takes what looks like cell, sites and formula from any text.

CELL = re.compile(
    r"^[`\s]*_(?:cell|lattice)_(?:length_|angle_)?(a|b|c|[xyzuvwijk]|alpha|beta|gamma)\s+(\d+\.\d+)", re.MULTILINE
)
ORDER = ("abc", "xyz", "uvw", "ijk")


def mended(prompt: str) -> str:
    text, _, told = prompt.partition("Damaged file:")[2].partition("Instruction:")
    text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    cell: list[float | None] = [None] * 6
    for name, value in CELL.findall(text):
        place = (
            3 + ("alpha", "beta", "gamma").index(name)
            if len(name) > 1
            else next(axes.index(name) for axes in ORDER if name in axes)
        )
        cell[place] = float(value)
    volume = re.search(r"_volume\s+(\d+\.\d+)", text)
    if None in cell and volume is not None:
        cell[cell.index(None)] = from_volume(cell, float(volume[1]))
    rows = site_rows(text)
    asked = re.findall(r"_atom_site_fract_([xyz])", told)
    lines = [
        f"{symbol}{index} {symbol} {' '.join(places(numbers, asked))}" for index, (symbol, numbers) in enumerate(rows)
    ]
    tags = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    shown = ["?" if value is None else f"{value:.4f}" for value in cell]
    return "\n".join([
        "data_mended",
        *(f"_cell_{tag} {value}" for tag, value in zip(tags, shown, strict=True)),
        "loop_", "_atom_site_label", "_atom_site_type_symbol", *(f"_atom_site_fract_{axis}" for axis in "xyz"),
        *lines,
    ]) + "\n"  # fmt: skip


def site_rows(text: str) -> list[tuple[str, list[str]]]:
    """Element and coordinates of every row, read from the right or not at all."""
    rows = []
    for line in text.splitlines():
        words = line.replace("`", " ").split()
        numbers = re.findall(r"\d\.\d{4}", line)
        symbol = re.fullmatch(r"([A-Z][a-z]?)\d*", words[0]) if words else None
        is_cut = bool(symbol) and any(re.fullmatch(r"[A-Z][a-z]?\d+", word) for word in words[:2])
        if symbol and (len(numbers) >= 2 or is_cut) and "_" not in line:
            rows.append((symbol[1], numbers))
    return rows


def places(numbers: list[str], asked: list[str]) -> list[str]:
    """The three coordinates of a row, a question mark where the instruction says that one is lost."""
    if len(numbers) == 3:
        return numbers
    left = iter(numbers)
    return ["?" if axis in asked else next(left) for axis in "xyz"]


def from_volume(cell: list[float | None], volume: float) -> float:
    """The one number that a cell of this volume lacks; of two angles the larger."""
    lacking = cell.index(None)
    if lacking < 3:
        unit = [1.0 if value is None else value for value in cell]
        return volume / float(np.linalg.det(cell_matrix(tuple(unit))))
    a, b, c = (float(value) for value in cell[:3] if value is not None)
    y, z = (cos(radians(value)) for value in cell[3:] if value is not None)
    under = (y * z) ** 2 - y * y - z * z + 1 - (volume / (a * b * c)) ** 2
    return degrees(acos(y * z - sqrt(max(0.0, under))))


def test_names_and_faults_belong_together() -> None:
    assert sorted(f"{PREFIX}{name}" for name in FAULTS) == sorted(REPAIRS)


def test_the_suite_is_pinned_and_covers_each_fault(suite: Suite) -> None:
    assert suite.fingerprint == FINGERPRINT
    assert len(suite.tasks) == 280
    assert set(Counter(task.action for task in suite.tasks).values()) == {10}
    assert {task.split for task in suite.tasks} == {"test"}
    assert {task.params["style"] for task in suite.tasks} == {"full", "compact"}
    assert all(4 <= task.n_sites <= 40 for task in suite.tasks)
    assert all(usable(task) is task for task in suite.tasks)


def test_a_mender_that_reads_the_prompt_alone_mends_every_file(suite: Suite) -> None:
    family = CifRepair()
    failed = []
    for task in suite.tasks:
        answer = f"<cif>\n{mended(family.prompt(task))}</cif>"
        if not family.verify(task, answer, profile="strict").success_strict:
            failed.append(task.task_id)
    assert failed == []


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_no_damaged_file_passes_and_the_mended_one_does(suite: Suite, engine: str) -> None:
    family = CifRepair(engine=engine)
    for task in suite.tasks:
        for answer in (f"<cif>{task.structure}</cif>", f"```cif\n{task.structure}\n```", task.structure):
            assert not family.verify(task, answer, profile="strict").success_strict, task.task_id
            assert not verify(answer, task.target, engine=engine, tolerance=0.3).success_strict
        assert verify(f"<cif>{task.target}</cif>", task.target, engine=engine).success_strict
        assert family.verify(task, f"<cif>{placeholder_answer(task)}</cif>", profile="strict").success_strict


def test_placeholders_are_asked_for_where_nothing_gives_the_value_and_nowhere_else(suite: Suite) -> None:
    kinds = {"unknown_length", "unknown_angle", "unknown_coordinate", "cut_site"}
    family = CifRepair()
    for task in suite.tasks:
        lost = lost_values(task.params)
        asks = task.action.removeprefix(PREFIX) in kinds
        assert task.params["derivable"] is not asks
        assert bool(lost) is asks is ("write ? there" in task.prompt)
        if not asks:
            assert placeholder_answer(task) == task.target
            continue
        assert "?" not in task.structure
        assert "_cell_volume" not in task.structure or lost[0].label
        assert all(value.tag in task.prompt and value.label in task.prompt for value in lost)
        # Another value in that place is wrong, the true one is right.
        for factor, right in ((1.0, True), (1.2, False)):
            answer = placeholder_answer(task)
            for value in lost:
                wrong = float(value.value) * factor if not value.label else float(value.value) + (factor - 1)
                answer = re.sub(r"(?<=\s)\?(?=\s)", f"{wrong:.4f}", answer, count=1)
            found = family.verify(task, f"<cif>{answer}</cif>", profile="strict")
            assert found.success_strict is right, task.task_id


def test_a_placeholder_in_a_derivable_task_is_wrong(suite: Suite) -> None:
    family = CifRepair()
    for task in suite.tasks:
        if task.action == "repair_lost_length":
            tag = task.params["variants"][0]
            answer = re.sub(rf"({tag}\s+)\S+", r"\1?", task.target)
            assert family.verify(task, f"<cif>{answer}</cif>", profile="strict").stage is Stage.CIF_INVALID


@pytest.mark.parametrize(
    ("cell", "angles"),
    [
        pytest.param((4.0, 5.0, 6.0, 90.0, 90.0, 90.0), [90.0], id="right"),
        pytest.param((4.0, 5.0, 6.0, 80.0, 90.0, 90.0), [80.0, 100.0], id="two solutions"),
        pytest.param((4.0, 4.0, 6.0, 60.0, 60.0, 60.0), [60.0, 90.0], id="rhombohedral"),
    ],
)
def test_angles_of_a_volume(cell: tuple[float, ...], angles: list[float]) -> None:
    volume = float(np.linalg.det(cell_matrix(cell)))
    found = angles_of_volume(volume, (cell[0], cell[1], cell[2]), (cell[4], cell[5]))
    assert sorted(set(np.round(found, 3))) == pytest.approx(angles, abs=1e-3)
    for angle in found:
        assert np.linalg.det(cell_matrix((*cell[:3], angle, *cell[4:]))) == pytest.approx(volume)


@pytest.mark.parametrize("action", REPAIRS)
def test_each_fault_on_other_seeds_and_splits(action: str) -> None:
    for split in SPLITS:
        family = CifRepair(split=split)
        task = family.sample(77, action)
        assert (task.action, task.split) == (action, split)
        assert task.structure != task.target
        entry = default_pool().entry(task.structure_id)
        assert np.allclose(task.target_crystal.frac, entry.crystal.frac)
        assert task.target_crystal.species == entry.crystal.species
        answer = f"<cif>\n{mended(family.prompt(task))}</cif>"
        assert family.verify(task, answer, profile="strict").success_strict


@pytest.mark.parametrize("faults", [2, 3])
def test_several_faults_in_one_file(faults: int) -> None:
    family = CifRepair(faults=faults)
    for seed in range(12):
        task = family.sample(seed)
        assert len(task.params["faults"]) == len(set(task.params["faults"])) == faults
        assert f"{faults} faults" in task.prompt
        assert not family.verify(task, f"<cif>{task.structure}</cif>", profile="strict").success_strict
        assert family.verify(task, f"<cif>{task.target}</cif>", profile="strict").success_strict
        assert family.verify(task, f"<cif>{placeholder_answer(task)}</cif>", profile="strict").success_strict


def test_the_instruction_does_not_name_the_fault(suite: Suite) -> None:
    derivable = {task.prompt for task in suite.tasks if task.params["derivable"]}
    assert len(derivable) == 1


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert dump_line(CifRepair().sample(5)) == dump_line(CifRepair().sample(5))
    assert CifRepair().sample(5).task_id != CifRepair().sample(6).task_id


def test_records_come_back_from_json_and_parquet(suite: Suite, tmp_path: Path) -> None:
    tasks = suite.tasks[:56]
    assert [Task.from_json(json.loads(dump_line(task))) for task in tasks] == list(tasks)
    write_parquet(tasks, tmp_path / "tasks.parquet")
    assert [dump_line(task) for task in read_parquet(tmp_path / "tasks.parquet")] == [dump_line(task) for task in tasks]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": ("repair_nothing",)}, "unknown action 'repair_nothing'"),
        ({"actions": ()}, "no action"),
        ({"split": "half"}, "unknown split 'half'"),
        ({"min_sites": 9, "max_sites": 3}, "min_sites"),
        ({"faults": 0}, "1 to 4 faults"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CifRepair(**arguments)


def test_a_record_that_is_not_complete_is_refused(suite: Suite) -> None:
    record = suite.tasks[0].to_json()
    with pytest.raises(ValueError, match="do not fit repair_lost_length"):
        usable(Task.from_json(record | {"params": {}}))
    with pytest.raises(ValueError, match="target"):
        usable(Task.from_json(record | {"target": "data_"}))


def test_floors_earn_what_they_must(suite: Suite) -> None:
    family = CifRepair()
    earned: dict[str, list[float]] = {}
    for task in suite.tasks:
        for name in ("noop", "echo", "empty", "garbage"):
            found = family.verify(task, BASELINES[name].answer(task), profile="strict")
            assert found.stage is not Stage.CORRECT, (name, task.task_id)
            earned.setdefault(name, []).append(reward(found, baseline=task.baseline))
            assert reward(found, "strict", baseline=task.baseline) == 0
        right = family.verify(task, BASELINES["oracle"].answer(task), profile="strict")
        assert all(reward(right, scheme, baseline=task.baseline) > 1 - 1e-6 for scheme in SCHEMES if scheme != "paper")
    assert max(max(values) for values in earned.values()) <= 0.05


def test_a_tolerant_reader_mends_few_files(suite: Suite) -> None:
    family = CifRepair()
    mends = Counter(
        task.action
        for task in suite.tasks
        if family.verify(task, BASELINES["tolerant_reader"].answer(task), profile="strict").success_strict
    )
    assert sum(mends.values()) < 0.1 * len(suite.tasks)
    assert set(mends) <= {"repair_units", "repair_fence", "repair_swapped_columns", "repair_stray_text"}


@pytest.mark.parametrize("policy", ["oracle", "noop", "echo"])
def test_evaluation_of_ceiling_and_floors(policy: str, suite: Suite, tmp_path: Path) -> None:
    records = evaluate(load_policy(policy), suite.restricted(None, 1), tmp_path, template=TEMPLATE)
    assert len(records) == len(FAULTS)
    assert {record["success"] for record in records} == {policy == "oracle"}
    assert FAMILIES["cif_repair"].suite == suite.name


def test_the_worked_example_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cif-repair.md").read_text(encoding="utf-8")
    task = CifRepair(split="train", min_sites=4, max_sites=4).sample(4, "repair_lost_length")
    assert "".join(f"    {line}".rstrip() + "\n" for line in task.structure.splitlines()) in page
    assert f"> {task.prompt}\n" in page
    assert "_cell_length_b   4.9821" in task.target
    assert all(name in page for name in FAULTS)
