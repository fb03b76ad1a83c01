"""A model on this machine as a policy: batches, sampling, mistakes; a tiny random one, no network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.records import stored_results
from atomworld_env.policies.by_name import policy_by_name
from atomworld_env.policies.local_model import Decoding, LocalModel, load_local_model
from atomworld_env.policies.policy import Question
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.task import Task

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model in a folder."""
    from training.small_policy.architecture import Shape, new_network
    from training.small_policy.tokenizer import build_tokenizer

    path = tmp_path_factory.mktemp("random_model")
    tokenizer = build_tokenizer(max_length=512)
    shape = Shape(width=32, layers=1, heads=2, feed_forward=32, max_length=512)
    new_network(tokenizer, shape, seed=0).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def questions(small_tasks: dict[str, Task]) -> list[Question]:
    template = load_template("short")
    chosen = [small_tasks[name] for name in ("change", "move", "add")]
    return [Question(task, template.messages("a crystal", task.prompt)) for task in chosen]


def load(folder: Path, **options: float) -> LocalModel:
    return load_local_model(f"hf:{folder}", replace(Decoding(max_new_tokens=8), **options))


def test_an_answer_does_not_depend_on_its_batch(folder: Path, questions: list[Question]) -> None:
    alone = list(load(folder, batch_size=1).answers(questions))
    together = list(load(folder, batch_size=3).answers(questions))
    assert alone == together
    assert len(alone) == 3


def test_sampling_follows_its_seed(folder: Path, questions: list[Question]) -> None:
    first, again, other = (list(load(folder, temperature=1.0, seed=seed).answers(questions)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first != list(load(folder).answers(questions))


def test_the_name_tells_how_answers_were_drawn(folder: Path) -> None:
    assert load_local_model(f"hf:{folder}").name == f"hf:{folder}"
    assert load(folder, temperature=0.5).name == f"hf:{folder} temperature=0.5 max_new_tokens=8"


def test_a_prompt_that_fills_the_context_still_gets_an_answer(folder: Path, questions: list[Question]) -> None:
    long = replace(questions[0], messages=[{"role": "user", "content": "x" * 500}])
    assert len(list(load(folder, max_new_tokens=400).answers([long]))) == 1


def test_a_folder_without_a_model_is_a_mistake_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^cannot load the model [^\n]*$"):
        policy_by_name(f"hf:{tmp_path}/nothing")


def test_an_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown policy .magic.; choose from oracle, .*hf:PATH"):
        policy_by_name("magic")


def test_the_command_evaluates_a_model(folder: Path, small_suite_folder: Path, tmp_path: Path) -> None:
    arguments = [
        "evaluate", "--policy", f"hf:{folder}", "--prompt", "short", "--suite", str(small_suite_folder),
        "--actions", "remove", "--per-action", "2", "--max-new-tokens", "4", "--profile", "strict",
        "--out", str(tmp_path / "run"), "--workers", "1", "--json",
    ]  # fmt: skip
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    assert read_manifest(tmp_path / "run")["config"]["policy"] == f"hf:{folder} max_new_tokens=4"
    records = stored_results(tmp_path / "run")
    assert [record["verdict_strict"] for record in records] == ["no_cif", "no_cif"]
