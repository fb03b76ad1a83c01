"""A language model on this machine, loaded by transformers: ``hf:PATH``, and ``hf:small`` for the one that ships.

torch and transformers are imported when a model is loaded or asked, never with this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.policy import Question

PREFIX = "hf:"
SMALL = "small"
SMALL_POLICY = f"{PREFIX}{SMALL}"


@dataclass(frozen=True)
class Decoding:
    """How answers are drawn.

    Attributes:
        max_new_tokens: longest answer; shortened where the model has no positions left.
        temperature: 0 for the likeliest token each time, else tokens are sampled.
        seed: of the sampling; each batch of questions has a stream of its own.
        batch_size: questions answered together.
    """

    max_new_tokens: int = 2048
    temperature: float = 0.0
    seed: int = 0
    batch_size: int = 16

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.batch_size < 1 or self.temperature < 0:
            raise UsageError("max_new_tokens and batch_size must be at least 1, temperature at least 0")


@dataclass(frozen=True)
class LocalModel:
    """A policy that asks a causal language model.

    Attributes:
        name: as manifests show it; it holds whatever of the decoding is not the default.
        network: a transformers model with ``generate``.
        tokenizer: with a chat template.
        decoding: how answers are drawn.
    """

    name: str
    network: Any
    tokenizer: Any
    decoding: Decoding = Decoding()

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        """One answer per question, a batch at a time."""
        size = self.decoding.batch_size
        for start in range(0, len(questions), size):
            yield from self._batch(questions[start : start + size])

    def _batch(self, questions: Sequence[Question]) -> list[str]:
        import torch

        inputs = self.tokenizer.apply_chat_template(
            [question.messages for question in questions],
            add_generation_prompt=True,
            padding=True,
            padding_side="left",  # the answer continues the prompt, so the prompts end together
            return_tensors="pt",
            return_dict=True,
        ).to(self.network.device)
        length = inputs["input_ids"].shape[1]
        sampled = self.decoding.temperature > 0
        options = {"do_sample": True, "temperature": self.decoding.temperature, "top_k": 0, "top_p": 1.0}
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(self._seed(questions))
            tokens = self.network.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=self._room(length),
                pad_token_id=self.tokenizer.pad_token_id,
                **(options if sampled else {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}),
            )
        answers: list[str] = self.tokenizer.batch_decode(tokens[:, length:], skip_special_tokens=True)
        return answers

    def _room(self, prompt_length: int) -> int:
        positions = getattr(self.network.config, "max_position_embeddings", None)
        room = self.decoding.max_new_tokens
        return room if positions is None else max(1, min(room, positions - prompt_length))

    def _seed(self, questions: Sequence[Question]) -> int:
        names = "\n".join([str(self.decoding.seed), *(question.task.task_id for question in questions)])
        return int.from_bytes(hashlib.sha256(names.encode()).digest()[:4], "big")


def load_local_model(name: str, decoding: Decoding | None = None) -> LocalModel:
    """The model of ``hf:PATH`` or ``hf:small``, on the GPU if there is one.

    Raises:
        UsageError: if the extra ``train`` is not installed or the model cannot be loaded.
    """
    decoding = Decoding() if decoding is None else decoding
    path = name.removeprefix(PREFIX)
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise UsageError(f"{name} needs torch and transformers; install them with `pip install 'atomworld-env[train]'`")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(shipped_model()) if path == SMALL else path
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        network = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(
            f"cannot load the model {path!r}: {reason}; give a folder written by save_pretrained"
        ) from None
    if tokenizer.chat_template is None:
        raise UsageError(f"the tokenizer of {path!r} has no chat template; use an instruction-tuned model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if torch.cuda.is_available():
        network = network.to("cuda")
    return LocalModel(_full_name(name, decoding), network.eval(), tokenizer, decoding)


def shipped_model() -> Path:
    """Folder of the small policy's checkpoint inside the package `training`, found without importing it.

    Raises:
        UsageError: if this installation has none.
    """
    package = find_spec("training")
    for place in () if package is None else package.submodule_search_locations or ():
        folder = Path(place) / "small_policy" / "checkpoint"
        if (folder / "config.json").is_file():
            return folder
    raise UsageError("this installation has no small policy; make one with `python -m training.pretrain`")


def _full_name(name: str, decoding: Decoding) -> str:
    default = Decoding()
    sampled = f" temperature={decoding.temperature:g}" if decoding.temperature != default.temperature else ""
    length = f" max_new_tokens={decoding.max_new_tokens}" if decoding.max_new_tokens != default.max_new_tokens else ""
    return f"{name}{sampled}{length}"
