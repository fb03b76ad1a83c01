"""Greedy answers of the model that is being trained, whatever it is sharded or served with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import GenerationConfig
from trl.distributed import DistributedBackend
from trl.models import unwrap_model_for_generation

from atomworld_env.prompts.prompt import Message


@dataclass(frozen=True)
class Answer:
    """A greedy answer.

    Attributes:
        text: without the end-of-turn token.
        tokens: its length.
        clipped: it ran into the limit before its end.
    """

    text: str
    tokens: int
    clipped: bool


def greedy_answers(
    trainer: Any, prompts: Sequence[list[Message]], *, max_new_tokens: int, batch_size: int
) -> list[Answer]:
    """Answers to all prompts, on every rank; the ranks share the work.

    Uses no random numbers, so that training goes on as if nobody had asked.

    Args:
        trainer: a TRL trainer; where it generates with vLLM, so does this.
        batch_size: prompts on one rank at a time.
    """
    accelerator, tokenizer = trainer.accelerator, trainer.processing_class
    ranks, rank = accelerator.num_processes, accelerator.process_index
    # Every rank generates equally often: a sharded model is gathered by all ranks together.
    share = -(-len(prompts) // ranks)
    mine = [min(rank * share + k, len(prompts) - 1) for k in range(share)]
    options = getattr(trainer, "chat_template_kwargs", None) or {}
    ids = [
        tokenizer.apply_chat_template(
            prompts[k], add_generation_prompt=True, tokenize=True, return_dict=True, **options
        )["input_ids"]
        for k in mine
    ]
    if getattr(trainer, "use_vllm", False):
        answered = _with_vllm(trainer, ids, max_new_tokens)
    else:
        answered = list(_with_transformers(trainer, ids, max_new_tokens, batch_size))
    ends = _end_tokens(trainer)
    answers = [
        Answer(tokenizer.decode(each, skip_special_tokens=True), len(each), not each or each[-1] not in ends)
        for each in answered
    ]
    gathered: list[Answer] = gather_object(answers)
    return gathered[: len(prompts)]  # what follows repeats the last prompt


def _end_tokens(trainer: Any) -> list[int]:
    known = getattr(trainer, "eos_token_ids", None)
    return list(known) if known else [trainer.processing_class.eos_token_id]


def _with_vllm(trainer: Any, ids: Sequence[list[int]], max_new_tokens: int) -> list[list[int]]:
    served = trainer.vllm_generation
    if trainer.state.global_step != trainer._last_loaded_step:
        served.sync_weights()
        trainer._last_loaded_step = trainer.state.global_step
    before = served.temperature, served.max_completion_length
    served.temperature, served.max_completion_length = 0.0, max_new_tokens
    try:
        _, answered, _, _ = served.generate(prompts=list(ids), images=None, num_generations=1)
    finally:
        served.temperature, served.max_completion_length = before
    return [list(each) for each in answered]


def _with_transformers(
    trainer: Any, ids: Sequence[list[int]], max_new_tokens: int, batch_size: int
) -> Iterator[list[int]]:
    tokenizer, accelerator = trainer.processing_class, trainer.accelerator
    ends = _end_tokens(trainer)
    settings = GenerationConfig(
        do_sample=False,
        max_new_tokens=max_new_tokens,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=ends,
        disable_compile=True,
    )
    backend = DistributedBackend(accelerator)
    # Sharded weights are gathered in every forward pass: a rank that is done goes on until all are.
    synced = True if backend.is_fsdp and accelerator.num_processes > 1 else None
    was_training = trainer.model.training
    trainer.model.eval()
    try:
        with (
            unwrap_model_for_generation(
                trainer.model_wrapped,
                accelerator,
                gather_deepspeed3_params=getattr(trainer.args, "ds3_gather_for_generation", True),
                gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
            ) as model,
            torch.no_grad(),
            backend.summon_full_params(trainer.model_wrapped, recurse=False),
        ):
            for start in range(0, len(ids), batch_size):
                batch = tokenizer.pad(
                    {"input_ids": list(ids[start : start + batch_size])}, padding_side="left", return_tensors="pt"
                ).to(accelerator.device)
                length = batch["input_ids"].shape[1]
                output = model.generate(
                    input_ids=batch["input_ids"],
                    attention_mask=batch["attention_mask"],
                    generation_config=settings,
                    synced_gpus=synced,
                )
                for row in output[:, length:].tolist():
                    yield _until_end(row, ends)
    finally:
        trainer.model.train(was_training)


def _until_end(row: list[int], ends: Sequence[int]) -> list[int]:
    """The tokens up to the first end-of-turn token, that one included."""
    for place, token in enumerate(row):
        if token in ends:
            return row[: place + 1]
    return row
