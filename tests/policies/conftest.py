"""A tiny random model in a folder, and questions to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomworld_env.policies.policy import Question
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.task import Task


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of 512 positions in a folder."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from training.small_policy.architecture import Shape, new_network
    from training.small_policy.tokenizer import build_tokenizer

    path = tmp_path_factory.mktemp("random_model")
    tokenizer = build_tokenizer(max_length=512)
    shape = Shape(width=32, layers=1, heads=2, feed_forward=32, max_length=512)
    new_network(tokenizer, shape, seed=0).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def questions(small_tasks: dict[str, Task]) -> list[Question]:
    """Three short questions."""
    template = load_template("short")
    chosen = [small_tasks[name] for name in ("change", "move", "add")]
    return [Question(task, template.messages("a crystal", task.prompt)) for task in chosen]


@pytest.fixture(scope="session")
def many_questions(small_tasks: dict[str, Task]) -> list[Question]:
    """Three samples of each edit."""
    template = load_template("short")
    return [
        Question(task, template.messages(task.structure, task.prompt), sample)
        for task in small_tasks.values()
        for sample in range(3)
    ]
