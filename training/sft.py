"""Supervised training of a language model on right answers, with TRL's SFTTrainer.

    python -m training.sft --model_name_or_path MODEL --output_dir runs/sft --tasks 2000 --max_sites 30 \\
        --cif_style compact --max_length 4096
    python -m training.sft --config training/recipes/sft_worked.yaml --model_name_or_path MODEL --output_dir runs/worked
    accelerate launch --config_file training/recipes/accelerate_fsdp2.yaml --num_processes 4 -m training.sft \\
        --config training/recipes/sft_worked.yaml --model_name_or_path MODEL --output_dir runs/worked

``--answers oracle`` teaches the edited CIF alone, ``--answers worked`` the arithmetic that leads to it, written out
inside ``<think>…</think>``. Only answers are learnt, not prompts. After a kill the same line with
``--resume_from_checkpoint last`` goes on.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from datasets import Dataset
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser, get_peft_config, get_quantization_config

from atomworld_env.errors import UsageError
from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.pool import load_pool
from atomworld_env.tasks.suite import load_suite
from atomworld_env.tasks.task import Task
from training.checkpoints import CompleteCheckpoints, check_saving, start_on_all_ranks
from training.command import check_reporters, command_parser, run_command
from training.heldout import HeldOutEvaluation
from training.heldout_tasks import tasks_to_hold_out
from training.leakage import refuse_leakage
from training.model_loading import context_length, load_tokenizer, model_arguments, model_path
from training.oracle_answers import oracle_answer
from training.run_arguments import TaskArguments, option
from training.task_dataset import structure_family
from training.task_drawing import draw_tasks
from training.training_tasks import fits_in
from training.worked_answers import worked_answer

_LOGGER = logging.getLogger(__name__)

ANSWERS: dict[str, Callable[..., str]] = {"oracle": oracle_answer, "worked": worked_answer}


@dataclass
class SFTArguments(TaskArguments):
    """Options beside those of SFTConfig and ModelConfig."""

    answers: str = option("oracle", "What is imitated: 'oracle', the CIF alone, or 'worked', with its arithmetic.")
    answer_style: str = option("compact", "How the CIF of an answer is printed: 'compact' or 'full'.")


@dataclass(frozen=True)
class AnsweredTasks:
    """Rows for the trainer, and how long they are.

    Attributes:
        rows: with the columns `prompt` and `completion`, both messages.
        longest_answer: in tokens.
        left_out: tasks whose prompt and answer were too long together, by edit.
    """

    rows: list[dict[str, Any]]
    longest_answer: int
    left_out: Counter[str]


def answered(
    tasks: Sequence[Task], script: SFTArguments, tokenizer: Any, *, most_tokens: int, pool: Any = None
) -> AnsweredTasks:
    """Tasks with the answers asked for; those longer than `most_tokens` are left out, never cut short.

    Raises:
        UsageError: if no task is left, or there is no such kind of answer.
    """
    if script.answers not in ANSWERS:
        raise UsageError(f"unknown answers {script.answers!r}; choose from {', '.join(ANSWERS)}")
    family = CrystalEdits(template=load_template(script.prompt))
    found = AnsweredTasks([], 0, Counter())
    longest = 0
    for task, answer in _with_answers(tasks, script):
        prompt, completion = family.messages(task), [{"role": "assistant", "content": answer}]
        whole, asked = _tokens(tokenizer, [*prompt, *completion]), _tokens(tokenizer, prompt, asked=True)
        if whole > most_tokens:
            found.left_out[task.action] += 1
            continue
        longest = max(longest, whole - asked)
        found.rows.append({"prompt": prompt, "completion": completion})
    if not found.rows:
        raise UsageError(f"no prompt with its answer fits into {most_tokens} tokens; raise --max_length, or take "
                         "smaller structures or the compact CIF style")  # fmt: skip
    return AnsweredTasks(found.rows, longest, found.left_out)


def _with_answers(tasks: Sequence[Task], script: SFTArguments) -> Iterator[tuple[Task, str]]:
    write, style = ANSWERS[script.answers], script.answer_style
    return ((task, write(task, style=style)) for task in tasks)


def _tokens(tokenizer: Any, messages: Sequence[dict[str, str]], *, asked: bool = False) -> int:
    chat = tokenizer.apply_chat_template(list(messages), add_generation_prompt=asked, tokenize=True, return_dict=True)
    return len(chat["input_ids"])


def main(script: SFTArguments, config: SFTConfig, model: ModelConfig) -> SFTTrainer:
    """Train; the trainer when it is done.

    Raises:
        UsageError: for options that do not go together.
    """
    check_saving(config)
    check_reporters(config)
    path = model_path(model)
    tokenizer = load_tokenizer(path, model)
    context = context_length(path)
    config.max_length = context if config.max_length is None else min(config.max_length, context)
    pool, template = load_pool(script.pool), load_template(script.prompt)
    family = CrystalEdits(pool=pool, template=template)
    if script.suite is None and script.tasks is None:
        raise UsageError("say what to train on: --tasks, or a --suite")
    tasks = (
        draw_tasks(script.sampler_config(script.train_split), config.seed, int(script.tasks or 0))
        if script.suite is None
        else _of_suite(script.suite, script.actions)
    )
    data = answered(tasks, script, tokenizer, most_tokens=config.max_length)
    if data.left_out:
        _LOGGER.info("%d of %d tasks are longer than %d tokens and left out: %s", data.left_out.total(), len(tasks),
                     config.max_length, ", ".join(f"{a} {n}" for a, n in data.left_out.most_common()))  # fmt: skip
    fits = fits_in(tokenizer, config.max_length - data.longest_answer)
    unseen = tasks_to_hold_out(script, family, pool, fits, config.seed)
    refuse_leakage(*([{"task_id": task.task_id, "family": structure_family(task, pool)} for task in side]
                     for side in (tasks, unseen)), names=("training", "evaluation"))  # fmt: skip
    checkpoint = start_on_all_ranks(config, {**asdict(script), "model_name_or_path": path, "use_peft": model.use_peft})
    config.model_init_kwargs = model_arguments(model, config)
    trainer = SFTTrainer(
        model=path,
        args=config,
        train_dataset=Dataset.from_list(data.rows),
        processing_class=tokenizer,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )
    if unseen:
        evaluation = HeldOutEvaluation(
            unseen,
            template,
            every=script.heldout_every,
            max_new_tokens=data.longest_answer,
            batch_size=script.heldout_batch_size,
            profile=script.heldout_profile,
        )
        evaluation.trainer = trainer
        trainer.add_callback(evaluation)
    trainer.add_callback(CompleteCheckpoints(dict, trainer.accelerator.wait_for_everyone))
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    trainer.save_model(config.output_dir)
    return trainer


def _of_suite(name: str, actions: list[str] | None) -> list[Task]:
    suite = load_suite(name)
    if suite.family != "edits":
        raise UsageError(f"supervised training knows the edits alone; for {suite.family} take python -m training.grpo")
    return list(suite.restricted(actions).tasks)


def parser() -> TrlParser:
    """Of the command line and of a recipe."""
    return command_parser((SFTArguments, SFTConfig, ModelConfig), "training.sft", __doc__)


if __name__ == "__main__":
    run_command(main, parser())
