"""`training.sft` on a tiny model: what is imitated, what is left out, and that a run resumes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("trl")

from tiny_model import save_tiny_model
from tiny_runs import TINY_SFT, history, run
from transformers import AutoTokenizer

from atomworld_env.errors import UsageError
from atomworld_env.tasks.task import Task
from rewards import verify
from training import sft
from training.checkpoints import last_complete_checkpoint

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"), context=2048)


@pytest.mark.parametrize("answers", ["oracle", "worked"])
@pytest.mark.parametrize("style", ["compact", "full"])
def test_what_is_imitated_is_right(answers: str, style: str, model: Path, compact_tasks: list[Task]) -> None:
    script = sft.SFTArguments(prompt="short", answers=answers, answer_style=style)
    data = sft.answered(compact_tasks[::5], script, AutoTokenizer.from_pretrained(model), most_tokens=10**6)
    assert len(data.rows) == 10
    for row, task in zip(data.rows, compact_tasks[::5], strict=True):
        (message,) = row["completion"]
        assert verify(message["content"], task.target).success_strict
        assert message["content"].startswith("<think>") == (answers == "worked")
        assert row["prompt"][-1]["role"] == "user"


def test_what_is_too_long_is_left_out_and_counted(model: Path, compact_tasks: list[Task]) -> None:
    script = sft.SFTArguments(prompt="short", answers="worked")
    tokenizer = AutoTokenizer.from_pretrained(model)
    whole = sft.answered(compact_tasks, script, tokenizer, most_tokens=10**6)
    cut = sft.answered(compact_tasks, script, tokenizer, most_tokens=whole.longest_answer)
    assert whole.left_out.total() == 0
    assert cut.left_out.total() == len(compact_tasks) - len(cut.rows) > 0
    with pytest.raises(UsageError, match="no prompt with its answer fits"):
        sft.answered(compact_tasks, script, tokenizer, most_tokens=3)
    with pytest.raises(UsageError, match="unknown answers"):
        sft.answered(compact_tasks, sft.SFTArguments(answers="guessed"), tokenizer, most_tokens=3)


def line(model: Path, folder: Path, *options: str) -> list[str]:
    return [*TINY_SFT, "--model_name_or_path", str(model), "--output_dir", str(folder), *options]


def test_a_run_learns_evaluates_and_saves(model: Path, tmp_path: Path) -> None:
    sft.main(*sft.parser().parse_args_and_config(line(model, tmp_path)))
    steps = [entry for entry in history(tmp_path, 4) if "loss" in entry]
    assert [entry["step"] for entry in steps] == [1, 2, 3, 4]
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-4"
    assert len(list((tmp_path / "evaluations").glob("*.jsonl"))) == 2


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(model: Path, tmp_path: Path) -> None:
    run("training.sft", line(model, tmp_path / "whole"))
    run("training.sft", line(model, tmp_path / "cut"))
    (tmp_path / "cut" / "checkpoint-4" / "atomworld_state.json").unlink()
    run("training.sft", line(model, tmp_path / "cut", "--resume_from_checkpoint", "last"))
    for resumed, uncut in zip(history(tmp_path / "cut", 4), history(tmp_path / "whole", 4), strict=True):
        # TRL counts the tokens of a resumed run from zero.
        assert {**resumed, "num_tokens": 0} == {**uncut, "num_tokens": 0}


@pytest.mark.slow
def test_the_worked_recipe_goes_through_on_a_cpu(model: Path, tmp_path: Path) -> None:
    recipe = Path(sft.__file__).parent / "recipes" / "sft_worked.yaml"
    run("training.sft", ["--config", str(recipe), *line(model, tmp_path, "--dtype", "float32")])
    assert (tmp_path / "adapter_model.safetensors").exists()


@pytest.mark.slow
def test_two_ranks(model: Path, tmp_path: Path) -> None:
    run("training.sft", line(model, tmp_path), ranks=2)
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-4"
