"""A language model on this machine, loaded by transformers: ``hf:PATH``, and ``hf:small`` for the one that ships.

torch and transformers are imported when a model is loaded or asked, never with this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.continuous_batching import continue_continuously
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.policies.sampling import Decoding, full_name, stream_seed
from atomworld_env.policies.thinking import Continuation, Prompt, answer_text, continue_all, prompt_of
from atomworld_env.policies.token_batches import RowStreams, continue_batch, is_out_of_memory, release_memory

PREFIX = "hf:"
SMALL = "small"
SMALL_POLICY = f"{PREFIX}{SMALL}"

BATCH_SIZE = 16
"""Questions answered together when nothing else is said."""


@dataclass(frozen=True)
class LocalModel:
    """A policy that asks a causal language model.

    Attributes:
        name: as manifests show it; it holds whatever of length and temperature is not the default.
        network: a transformers model with ``generate``.
        tokenizer: with a chat template.
        decoding: how answers are drawn.
        batch_size: questions answered together; halved when the memory does not hold them.
        continuous_batching: let a question enter as soon as another is answered, instead of batch after batch.
    """

    name: str
    network: Any
    tokenizer: Any
    decoding: Decoding = field(default_factory=Decoding)
    batch_size: int = BATCH_SIZE
    continuous_batching: bool = False

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UsageError("batch_size must be at least 1")
        if self.continuous_batching and (self.decoding.stop or self.decoding.thinking_budget is not None):
            raise UsageError("continuous batching knows no stop strings and no thinking budget; leave out one of them")

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides the answers; the size of batches does not."""
        config = getattr(self.network, "config", None)
        return {
            "kind": "hf",
            "model": self.name.split(" ")[0].removeprefix(PREFIX),
            "revision": getattr(config, "_commit_hash", None),
            "dtype": str(getattr(self.network, "dtype", None)).removeprefix("torch."),
            "continuous_batching": self.continuous_batching,
            **self.decoding.to_json(),
            "software": {package: version(package) for package in ("torch", "transformers")},
        }

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        """One answer per question, in order.

        Raises:
            MemoryError: if the memory does not hold even one question.
        """
        known: dict[int, str] = {}
        place = 0
        for number, reply in self.replies(questions):
            if isinstance(reply, Failure):
                raise MemoryError(reply.message)
            known[number] = reply.text
            while place in known:
                yield known.pop(place)
                place += 1

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """What came of each question; the longest prompts first, so that batches are padded little."""
        prompts = [prompt_of(self.tokenizer, question.messages, self.decoding) for question in questions]
        order = sorted(range(len(prompts)), key=lambda number: -len(prompts[number].tokens))
        if self.continuous_batching:
            yield from self._continuous_replies(prompts, order)
            return
        waiting = deque(order)
        size = self.batch_size
        while waiting:
            batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
            begun = perf_counter()
            answers = self._batch([questions[number] for number in batch], [prompts[number] for number in batch])
            seconds = perf_counter() - begun
            if isinstance(answers, str):  # outside the handler, whose traceback holds on to the tensors
                release_memory()
                size = max(1, len(batch) // 2)
                if len(batch) == 1:
                    yield batch[0], Failure(FailureKind.OUT_OF_MEMORY, answers, seconds)
                else:
                    waiting.extendleft(reversed(batch))
                continue
            for number, answer in zip(batch, answers, strict=True):
                yield number, self._reply(prompts[number], answer, seconds)

    def _batch(self, questions: Sequence[Question], prompts: Sequence[Prompt]) -> list[Continuation] | str:
        """The answers of one batch, or in words why the memory did not hold it."""
        streams = None
        if self.decoding.sampled:
            seeds = [stream_seed(question, self.decoding.seed) for question in questions]
            streams = RowStreams(seeds, self.decoding, self.network.device)

        def further(rows: Sequence[int], texts: Sequence[list[int]], limits: Sequence[int]) -> list[Continuation]:
            drawn = None if streams is None else streams.of_rows(rows)
            return continue_batch(self.network, self.tokenizer, texts, limits, self.decoding.stop, drawn)

        limits = [self._room(prompt) for prompt in prompts]
        try:
            return continue_all(self.tokenizer, prompts, limits, self.decoding, further)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return f"out of memory with {len(prompts)} questions at once: {str(error).splitlines()[0]}"

    def _continuous_replies(
        self, prompts: Sequence[Prompt], order: Sequence[int]
    ) -> Iterator[tuple[int, Reply | Failure]]:
        limits = [self._room(prompt) for prompt in prompts]
        texts = [prompt.tokens for prompt in prompts]
        for number, answer, seconds in continue_continuously(
            self.network, self.tokenizer, texts, limits, order, self.decoding
        ):
            if isinstance(answer, Failure):
                yield number, answer
            else:
                yield number, self._reply(prompts[number], answer, seconds)

    def _reply(self, prompt: Prompt, answer: Continuation, seconds: float) -> Reply:
        text = answer_text(self.tokenizer, prompt, answer, self.decoding.stop)
        return Reply(text, not answer.ended, len(prompt.tokens), len(answer.tokens), seconds)

    def _room(self, prompt: Prompt) -> int:
        positions = getattr(self.network.config, "max_position_embeddings", None)
        room = self.decoding.max_new_tokens
        return room if positions is None else max(1, min(room, positions - len(prompt.tokens)))


def load_local_model(
    name: str,
    decoding: Decoding | None = None,
    *,
    batch_size: int = BATCH_SIZE,
    continuous_batching: bool = False,
) -> LocalModel:
    """The model of ``hf:PATH`` or ``hf:small``, on the GPU if there is one; PATH is a folder or a name on the hub.

    Raises:
        UsageError: if the extra ``train`` is not installed or the model cannot be loaded.
    """
    decoding = Decoding() if decoding is None else decoding
    network, tokenizer = load_network(name)
    if tokenizer.chat_template is None:
        path = name.removeprefix(PREFIX)
        raise UsageError(f"the tokenizer of {path!r} has no chat template; use an instruction-tuned model")
    return LocalModel(full_name(name, decoding), network, tokenizer, decoding, batch_size, continuous_batching)


def load_network(name: str) -> tuple[Any, Any]:
    """Network and tokenizer of ``hf:PATH`` or ``hf:small``, on the GPU if there is one; the tokenizer can pad.

    Raises:
        UsageError: if the extra ``train`` is not installed or the model cannot be loaded.
    """
    path = name.removeprefix(PREFIX)
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise UsageError(f"{name} needs torch and transformers; install them with `pip install 'atomworld-env[train]'`")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(shipped_model()) if path == SMALL else path
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        network = AutoModelForCausalLM.from_pretrained(folder, **_placement(folder))
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(
            f"cannot load the model {path!r}: {reason}; give a folder written by save_pretrained"
        ) from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return network.eval(), tokenizer


def _placement(folder: str) -> dict[str, Any]:
    """Where the weights go and how they are kept: bfloat16 on a GPU, as they are stored on a CPU."""
    import torch
    from transformers import AutoConfig

    if not torch.cuda.is_available():
        return {"dtype": "auto"}
    quantised = getattr(AutoConfig.from_pretrained(folder), "quantization_config", None) is not None
    return {
        "dtype": torch.bfloat16 if torch.cuda.is_bf16_supported() and not quantised else "auto",
        "device_map": "auto" if torch.cuda.device_count() > 1 else "cuda",
    }


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
