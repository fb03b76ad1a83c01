"""The tool environment: what a try is told and earns, and TRL's own tool loop around it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl")

from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task, dump_line
from training.oracle_answers import compact_answer, oracle_answer
from training.submit_tool import SubmitCif, tool_row


def bare(answer: str) -> str:
    return answer.removeprefix("<cif>\n").removesuffix("\n</cif>")


def of_action(tasks: list[Task], action: str) -> Task:
    return next(task for task in tasks if task.action == action)


def off_by(task: Task, shift: float) -> str:
    """The truth with its first atom off by so many Å along a."""
    target = task.target_crystal
    frac = np.array(target.frac)
    frac[0, 0] += shift / target.cell[0]
    return bare(compact_answer(Crystal.printed(target.cell, target.species, frac), range(len(target))))


@pytest.fixture
def move(compact_tasks: list[Task]) -> Task:
    return of_action(compact_tasks, "move")


def begun(task: Task, **options: Any) -> SubmitCif:
    tool = SubmitCif(**options)
    tool.reset(**tool_row(task, CrystalEdits()))
    return tool


def test_a_right_first_try_earns_all(move: Task) -> None:
    tool = begun(move)
    assert tool.get_reward() == 0.0
    assert tool.submit_cif(bare(oracle_answer(move))) == "Correct."
    assert tool.get_reward() == 1.0
    assert "accepted already" in tool.submit_cif("nonsense")
    assert tool.get_reward() == 1.0


def test_tags_around_the_cif_do_no_harm(move: Task) -> None:
    assert begun(move).submit_cif(oracle_answer(move)) == "Correct."


def test_a_corrected_answer_earns_less(move: Task) -> None:
    tool = begun(move, tries=3, kept_per_try=0.9)
    assert "off by between 0.3 and 1 Å. 2 tries left" in tool.submit_cif(off_by(move, 0.5))
    partial_credit = tool.get_reward()
    assert 0 < partial_credit < 0.5
    assert tool.submit_cif(bare(oracle_answer(move))) == "Correct."
    assert tool.get_reward() == pytest.approx(0.9)


def test_the_last_try_counts_and_then_none_is_left(move: Task) -> None:
    tool = begun(move, tries=2)
    tool.submit_cif(off_by(move, 0.5))
    assert tool.submit_cif("nothing").endswith("0 tries left.")
    assert tool.get_reward() == 0.0
    assert tool.submit_cif(bare(oracle_answer(move))) == "No try is left."
    assert tool.get_reward() == 0.0


def test_feedback_names_the_stage(compact_tasks: list[Task]) -> None:
    move, remove, cell = (of_action(compact_tasks, name) for name in ("move", "remove", "super_cell"))
    assert "cannot be used" in begun(move).submit_cif("data_x\nloop_\n_atom_site_label\n")
    assert "are off by 1 in all" in begun(remove).submit_cif(remove.structure)
    target = move.target_crystal
    wide = Crystal((target.cell[0] * 1.2, *target.cell[1:]), target.species, target.frac)
    assert "the cell is not" in begun(move).submit_cif(bare(compact_answer(wide, range(len(wide)))))
    assert "off by more than 1 Å" in begun(move).submit_cif(off_by(move, 1.2))
    assert "numbers of atoms" in begun(cell).submit_cif(cell.structure)


def test_feedback_does_not_give_the_answer_away(compact_tasks: list[Task]) -> None:
    """No number of the truth, no element: only counts, and distances in bands."""
    for task in compact_tasks:
        said = begun(task).submit_cif(task.structure)
        numbers = {word.strip(".;:()") for word in said.split() if any(c.isdigit() for c in word)}
        assert numbers <= {"2", "0.3", "1", *map(str, range(200))}, said
        assert not {number for number in numbers if "." in number} - {"0.3"}


def test_a_reset_forgets_the_rollout_before(compact_tasks: list[Task]) -> None:
    tool = begun(compact_tasks[0])
    tool.submit_cif(bare(oracle_answer(compact_tasks[0])))
    tool.reset(task=dump_line(compact_tasks[1]))
    assert tool.get_reward() == 0.0
    assert tool.submit_cif(bare(oracle_answer(compact_tasks[1]))) == "Correct."


def test_impossible_options_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one try"):
        SubmitCif(tries=0)


@pytest.mark.filterwarnings("default")
def test_trl_runs_the_tool_loop(compact_tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model whose vocabulary holds whole calls: TRL parses them, submits, and trains on what they earn."""
    from datasets import Dataset
    from tiny_model import save_tool_model
    from trl import GRPOConfig, GRPOTrainer

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    task = of_action(compact_tasks, "remove")
    calls = [json.dumps({"name": "submit_cif", "arguments": {"cif": bare(text)}})
             for text in (oracle_answer(task), task.structure)]  # fmt: skip
    folder = save_tool_model(tmp_path / "model", calls)
    family = CrystalEdits(template=load_template("short"))
    trainer = GRPOTrainer(
        model=str(folder),
        args=GRPOConfig(
            output_dir=str(tmp_path / "run"),
            max_steps=3,
            per_device_train_batch_size=8,
            num_generations=8,
            max_completion_length=160,
            max_tool_calling_iterations=2,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            activation_checkpointing=False,
            learning_rate=1e-2,
            seed=1,
        ),
        train_dataset=Dataset.from_list([tool_row(task, family)] * 24),
        environment_factory=partial(SubmitCif, tries=2, reward_scheme="strict"),
    )
    trainer.train()
    steps = [line for line in trainer.state.log_history if "reward" in line]
    assert len(steps) == 3
    assert any(line["tools/call_frequency"] > 0 for line in steps)
    assert all(line["tools/failure_frequency"] == 0 for line in steps)
    assert any(line["rewards/SubmitCif/mean"] > 0 for line in steps)
    assert any(line["reward_std"] > 0 for line in steps)
