"""A language model on this machine's GPUs, run by vLLM in this process: ``vllm:PATH``.

vllm (extra ``vllm``) is imported when a model is loaded, never with this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.policies.sampling import Decoding, full_name, stream_seed
from atomworld_env.policies.thinking import Continuation, Prompt, answer_text, continue_all, prompt_of

PREFIX = "vllm:"

CHUNK = 256
"""Questions handed to the engine at once. It batches them as it likes and answers when all are done, so a chunk is
what a killed run loses."""


@dataclass(frozen=True)
class VllmModel:
    """A policy that asks an engine of vLLM.

    Attributes:
        name: as manifests show it.
        engine: a ``vllm.LLM``.
        decoding: how answers are drawn.
        engine_options: what the engine was made with.
        chunk: questions handed to it at once.
    """

    name: str
    engine: Any
    decoding: Decoding = field(default_factory=Decoding)
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    chunk: int = CHUNK

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides the answers."""
        return {
            "kind": "vllm",
            "model": self.name.split(" ")[0].removeprefix(PREFIX),
            "engine": dict(self.engine_options),
            **self.decoding.to_json(),
            "software": {"vllm": _version()},
        }

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """What came of each question, a chunk at a time.

        A prompt that leaves no room for an answer gets an empty, truncated one.
        """
        tokenizer = self.engine.get_tokenizer()
        longest = int(self.engine.llm_engine.model_config.max_model_len)
        for start in range(0, len(questions), self.chunk):
            begun = perf_counter()
            fitting: list[tuple[int, Prompt, int]] = []
            for number in range(start, min(start + self.chunk, len(questions))):
                prompt = prompt_of(tokenizer, questions[number].messages, self.decoding)
                room = min(self.decoding.max_new_tokens, longest - len(prompt.tokens))
                if room < 1:
                    yield number, Reply("", True, len(prompt.tokens), 0, perf_counter() - begun)
                else:
                    fitting.append((number, prompt, room))
            yield from self._chunk(tokenizer, questions, fitting, begun)

    def _chunk(
        self, tokenizer: Any, questions: Sequence[Question], fitting: Sequence[tuple[int, Prompt, int]], begun: float
    ) -> Iterator[tuple[int, Reply | Failure]]:
        numbers = [number for number, _, _ in fitting]
        prompts = [prompt for _, prompt, _ in fitting]

        def further(rows: Sequence[int], texts: Sequence[list[int]], limits: Sequence[int]) -> list[Continuation]:
            return self._continue([questions[numbers[row]] for row in rows], texts, limits)

        try:
            answers = continue_all(tokenizer, prompts, [room for _, _, room in fitting], self.decoding, further)
        except (RuntimeError, ValueError) as error:  # how the engine says that it ran out of memory, or is dead
            words = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            kind = FailureKind.OUT_OF_MEMORY if "out of memory" in words.lower() else FailureKind.CRASHED
            for number in numbers:
                yield number, Failure(kind, words, perf_counter() - begun)
            return
        seconds = perf_counter() - begun
        for number, prompt, answer in zip(numbers, prompts, answers, strict=True):
            text = answer_text(tokenizer, prompt, answer, self.decoding.stop)
            yield number, Reply(text, not answer.ended, len(prompt.tokens), len(answer.tokens), seconds)

    def _continue(
        self, questions: Sequence[Question], texts: Sequence[list[int]], limits: Sequence[int]
    ) -> list[Continuation]:
        from vllm import SamplingParams

        decoding = self.decoding
        parameters = [
            SamplingParams(
                max_tokens=limit,
                temperature=decoding.temperature,
                top_p=decoding.top_p,
                top_k=decoding.top_k,
                seed=stream_seed(question, decoding.seed, len(text)),
                stop=list(decoding.stop) or None,
                include_stop_str_in_output=True,  # cut off where all policies cut
            )
            for question, text, limit in zip(questions, texts, limits, strict=True)
        ]
        outputs = self.engine.generate(
            [{"prompt_token_ids": text} for text in texts], sampling_params=parameters, use_tqdm=False
        )
        return [
            Continuation(list(each.outputs[0].token_ids), each.outputs[0].finish_reason == "stop") for each in outputs
        ]


def load_vllm_model(name: str, decoding: Decoding, engine_options: Mapping[str, Any]) -> VllmModel:
    """The model of ``vllm:PATH``; PATH is a folder or a name on the hub.

    Args:
        engine_options: of ``vllm.LLM``, such as ``tensor_parallel_size``.

    Raises:
        UsageError: if the extra ``vllm`` is not installed or the model cannot be loaded.
    """
    path = name.removeprefix(PREFIX)
    if find_spec("vllm") is None:
        raise UsageError(f"{name} needs vllm; install it with `pip install 'atomworld-env[vllm]'`")
    from vllm import LLM

    try:
        engine = LLM(model=path, seed=decoding.seed, **engine_options)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(f"vLLM cannot load {path!r}: {reason}; see --vllm-options") from None
    if getattr(engine.get_tokenizer(), "chat_template", None) is None:
        raise UsageError(f"the tokenizer of {path!r} has no chat template; use an instruction-tuned model")
    return VllmModel(full_name(name, decoding), engine, decoding, dict(engine_options))


def _version() -> str:
    try:
        return version("vllm")
    except PackageNotFoundError:
        return "unknown"
