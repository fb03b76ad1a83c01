"""Evaluation during training: whose answers count as what, which tasks, and where reporters show the figures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("trl")

import torch
from tiny_model import save_tiny_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.integrations.integration_utils import rewrite_logs

from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.pool import load_pool
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task
from training.greedy_answers import Answer, greedy_answers
from training.heldout import HeldOutEvaluation, figures, is_copy
from training.heldout_tasks import held_out_tasks
from training.oracle_answers import oracle_answer

SHORT = load_template("short")


def evaluation(tasks: list[Task], **options: object) -> HeldOutEvaluation:
    return HeldOutEvaluation(tasks, SHORT, every=0, max_new_tokens=4, batch_size=2, **options)  # type: ignore[arg-type]


def answers_of(texts: list[str]) -> list[Answer]:
    return [Answer(text, len(text), clipped=not text) for text in texts]


def test_an_oracle_is_right_and_a_copy_is_counted(compact_tasks: list[Task]) -> None:
    tasks = compact_tasks[::5]
    right = figures(evaluation(tasks)._records(answers_of([oracle_answer(task) for task in tasks])))
    assert right["success_strict"] == right["parsable"] == right["reward"] == 1.0
    assert right["copied"] == right["clipped"] == 0.0
    assert right["max_displacement"] < 0.01
    copied = figures(evaluation(tasks)._records(answers_of([f"<cif>{task.structure}</cif>" for task in tasks])))
    assert copied["copied"] == copied["parsable"] == 1.0
    assert copied["success_strict"] == 0.0
    assert copied["success_strict/move"] == 0.0
    nothing = figures(evaluation(tasks)._records(answers_of([""] * len(tasks))))
    assert nothing["parsable"] == nothing["copied"] == 0.0
    assert nothing["clipped"] == 1.0
    assert nothing["max_displacement"] == 10.0


def test_a_copy_is_right_as_an_answer_to_change_nothing(compact_tasks: list[Task]) -> None:
    task = compact_tasks[0]
    assert is_copy(f"<cif>{task.structure}</cif>", task)
    assert not is_copy(oracle_answer(task), task)


@pytest.mark.slow
def test_both_profiles_in_worker_processes(compact_tasks: list[Task]) -> None:
    tasks = compact_tasks[::5]
    found = figures(evaluation(tasks, profile="both")._records(answers_of([oracle_answer(task) for task in tasks])))
    assert found["success_paper"] == found["success_strict"] == 1.0


def test_held_out_tasks_are_different_and_of_their_split() -> None:
    config = SamplerConfig(split="validation", min_sites=2, max_sites=8, actions=("remove", "change"))
    pool, family = load_pool("aflow"), CrystalEdits(template=SHORT)
    tasks = held_out_tasks(config, pool, family, per_action=5, fits=lambda messages: True, seed=0)
    assert [task.action for task in tasks] == ["remove"] * 5 + ["change"] * 5
    assert {task.split for task in tasks} == {"validation"}
    assert len({task.task_id for task in tasks}) == 10
    again = held_out_tasks(config, pool, family, per_action=5, fits=lambda messages: True, seed=0)
    assert again == tasks


def test_reporters_show_the_figures_under_eval() -> None:
    shown = rewrite_logs({"eval_success_strict": 0.5, "eval_success_strict/move": 0.1, "atomworld/copied": 0.2})
    assert set(shown) == {"eval/success_strict", "eval/success_strict/move", "train/atomworld/copied"}


@pytest.mark.filterwarnings("default")
def test_greedy_answers_use_no_random_numbers_and_leave_the_model_training(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = save_tiny_model(tmp_path_factory.mktemp("model"))
    model = AutoModelForCausalLM.from_pretrained(folder).train()
    accelerator = SimpleNamespace(
        num_processes=1, process_index=0, device="cpu", unwrap_model=lambda model, **_: model,
        state=SimpleNamespace(deepspeed_plugin=None, fsdp_plugin=None),
    )  # fmt: skip
    trainer = SimpleNamespace(
        accelerator=accelerator, processing_class=AutoTokenizer.from_pretrained(folder), model=model,
        model_wrapped=model, args=SimpleNamespace(gradient_checkpointing_kwargs=None),
    )  # fmt: skip
    prompts = [[{"role": "user", "content": "word " * length}] for length in (1, 7, 3)]
    before = torch.get_rng_state()
    together = greedy_answers(trainer, prompts, max_new_tokens=4, batch_size=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.training
    # Padding changes nothing, and the order is that of the prompts.
    alone = [greedy_answers(trainer, [prompt], max_new_tokens=4, batch_size=1)[0] for prompt in prompts]
    assert together == alone
    assert all(answer.tokens == 4 for answer in together if answer.clipped)
    assert any(answer.clipped for answer in together)
