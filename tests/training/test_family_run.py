"""GRPO on other families than the edits: the same command, the same columns and curves, answers in workers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import pyarrow.parquet
from tiny_model import save_tiny_model
from tiny_runs import history

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.properties import by_name
from training import grpo
from training.family_reward import FamilyReward, repeats_input
from training.family_tasks import FamilyTasks, family_name, held_out_of_family
from training.rollout_record import SAMPLE_COLUMNS
from training.task_dataset import grpo_row

# transformers and TRL warn of each other's renamed fields.
pytestmark = pytest.mark.filterwarnings("default")

TINY = shlex.split(
    "--use_cpu --bf16 false --report_to none --use_vllm false --max_completion_length 3 --num_generations 4 "
    "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --steps_per_generation 2 --heldout_tasks 1 "
    "--heldout_every 0 --logging_steps 1 --save_steps 2 --max_steps 2 --learning_rate 1e-2 --reward_workers 1"
)

FEW = [name for name in ("coordinates", "cif_repair", "cif_gen") if name in FAMILIES]
"""Families whose tasks are made and verified at once."""

POINTS = ("<answer>[[0, 0, 0], [1, 1, 1]]</answer>", "<answer>[[0, 0, 0], [3, 1, 1], [0, 4, 2]]</answer>")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"), context=16384, answers=POINTS)


def train(model: Path, folder: Path, *options: str) -> Any:
    line = [*TINY, "--model_name_or_path", str(model), "--output_dir", str(folder), *options]
    return grpo.main(*grpo.parser().parse_args_and_config(line))


@pytest.mark.parametrize("family", FEW)
def test_any_family_trains_and_is_evaluated(family: str, model: Path, tmp_path: Path) -> None:
    actions = FAMILIES[family].actions[:2]
    train(model, tmp_path, "--family", family, "--actions", *actions)
    table = pyarrow.parquet.read_table(tmp_path / "samples")
    assert set(table.schema.names) == set(SAMPLE_COLUMNS.names)
    samples = table.to_pylist()
    assert len(samples) == 2 * 8
    assert {sample["action"] for sample in samples} <= set(actions)
    by_index: dict[int, set[str]] = {}
    for sample in samples:
        by_index.setdefault(sample["index"], set()).add(sample["task_id"])
        assert (sample["reward"] == 0.0) == (sample["verdict"] in ("no_cif", "cif_invalid"))
        assert sample["copied"] is False
    assert all(len(tasks) == 1 for tasks in by_index.values())  # a group shares its task
    for line in [line for line in history(tmp_path, 2) if "reward" in line]:
        for name in ("success_strict", "copied", "parsable", "zero_spread", "max_displacement"):
            assert f"atomworld/{name}" in line
        assert any(key.startswith("atomworld/success_strict/") for key in line)
    evaluated = [line for line in history(tmp_path, 2) if "eval_success_strict" in line]
    assert evaluated[0]["step"] == 0
    records = [json.loads(line) for line in (tmp_path / "evaluations" / "step_000002.jsonl").read_text().splitlines()]
    assert sorted(record["action"] for record in records) == sorted(actions)


def test_the_family_is_that_of_the_suite(model: Path, tmp_path: Path) -> None:
    trainer = train(model, tmp_path, "--suite", "coordinates", "--heldout_tasks", "0", "--max_steps", "1",
                    "--actions", "point_move")  # fmt: skip
    samples = pyarrow.parquet.read_table(tmp_path / "samples").to_pylist()
    assert {sample["action"] for sample in samples} == {"point_move"}
    assert {sample["verdict"] for sample in samples} & {"composition_mismatch", "structure_mismatch", "no_cif"}
    assert trainer.state.global_step == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--family", "nonsense"], "unknown family"),
        (["--family", "edits", "--suite", "coordinates"], "leave --family out"),
        (["--family", "coordinates", "--actions", "swap"], "unknown action 'swap'"),
        (["--family", "coordinates", "--heldout_split", "train"], "share 1 structure families"),
        (
            ["--family", "coordinates", "--heldout_suite", "coordinates", "--train_split", "test"],
            "any of the split test",
        ),
        (["--suite", "coordinates", "--heldout_suite", "coordinates"], "task ids"),
        (["--family", "coordinates", "--heldout_profile", "both"], "no paper profile"),
        (["--family", "coordinates", "--reward_profile", "both"], "no paper profile"),
        (["--family", "coordinates", "--reward_scheme", "paper"], "no paper profile"),
        (["--family", "coordinates", "--max_steps", "-1"], "how long to train"),
        (["--family", "coordinates", "--max_completion_length", "16300"], "fits"),
    ],
)
def test_what_does_not_go_together_is_refused(options: list[str], message: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        train(model, tmp_path, *options)
    assert not list(tmp_path.glob("checkpoint-*"))


def test_which_family() -> None:
    assert family_name(None, None) == "edits"
    assert family_name("coordinates", None) == "coordinates"


def coordinates(split: str = "train") -> Any:
    return FAMILIES["coordinates"].load("make")(split)


def rows(seed: int = 0) -> FamilyTasks:
    family = coordinates()
    return FamilyTasks(family, family.actions, kept=8, fits=lambda messages: True, seed=seed)


def test_rows_are_the_same_whatever_was_asked_before() -> None:
    forwards, backwards = rows(), rows()
    made = [forwards.row(k) for k in range(24)]
    assert [backwards.row(k) for k in reversed(range(24))] == made[::-1]
    assert {row["action"] for row in made} == set(coordinates().actions)
    assert len({row["task_id"] for row in made}) == 24
    assert {row["task_id"] for row in made}.isdisjoint(rows(seed=1).row(k)["task_id"] for k in range(24))


def test_held_out_tasks_are_of_their_split() -> None:
    (script, *_) = grpo.parser().parse_args_and_config(
        ["--heldout_tasks", "3", "--output_dir", "x", "--use_cpu", "--bf16", "false"]
    )
    tasks = held_out_of_family(script, coordinates("validation"), lambda messages: True, 0)
    assert [task.action for task in tasks] == [action for action in coordinates().actions for _ in range(3)]
    assert {task.split for task in tasks} == {"validation"}
    assert len({task.task_id for task in tasks}) == 12


def test_the_reward_is_that_of_the_environment() -> None:
    family = coordinates()
    tasks = [family.sample(seed, action) for seed, action in enumerate(family.actions)]
    policies = ("oracle", "noop", "one_point_off", "empty")
    listed = [grpo_row(task, family)["task"] for task in tasks for _ in policies]
    answers = [load_policy(name).answer(task) for task in tasks for name in policies]
    metrics: dict[str, float] = {}
    columns: dict[str, Sequence[Any]] = {}
    function = FamilyReward("coordinates", "shaped", template=load_template(default="coordinates"), workers=1)
    try:
        completions = [[{"role": "assistant", "content": answer}] for answer in answers]
        earned = function(
            completions=completions, task=listed, log_metric=metrics.__setitem__, log_extra=columns.__setitem__
        )
    finally:
        function.close()
    by_policy = {name: earned[k :: len(policies)] for k, name in enumerate(policies)}
    assert by_policy["oracle"] == [1.0] * 4
    assert by_policy["noop"] == pytest.approx([0.05] * 4)
    assert by_policy["empty"] == [0.0] * 4
    off = dict(zip(family.actions, by_policy["one_point_off"], strict=True))
    assert off.pop("point_insert_between") == pytest.approx(0.05)  # the point that is off is the new one
    assert all(0.2 < value < 0.5 for value in off.values() if value is not None)
    assert metrics["atomworld/success_strict"] == 0.25
    assert metrics["atomworld/copied"] == 0.25
    assert metrics["atomworld/parsable"] == 0.75
    assert metrics["atomworld/no_cif"] == 0.25
    assert columns["coordinates_shaped/copied"] == [name == "noop" for _ in tasks for name in policies]
    assert columns["coordinates_shaped/task_id"] == [task.task_id for task in tasks for _ in policies]


def test_answers_that_cannot_be_verified_are_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_name, "find_spec", lambda name: None if name == "pyscf" else object())
    template = load_template(default="structprop")
    with pytest.raises(UsageError, match="band gap of a new crystal needs pyscf"):
        FamilyReward("structprop", "shaped", template=template)
    reward = FamilyReward("structprop", "shaped", template=template, actions=["raise_bulk_modulus"], timeout=60.0)
    assert reward._timeout >= 300.0  # as long as the oracle may take
    reward.close()


def test_an_answer_that_repeats_the_input() -> None:
    task = coordinates().sample(0)
    assert repeats_input(f"so <answer>{task.structure}\n</answer>", task)
    assert not repeats_input(f"<answer>{task.target}</answer>", task)
    assert not repeats_input("", task)
