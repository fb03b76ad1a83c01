"""How a model draws its answers, whatever machinery runs it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.policy import Question


@dataclass(frozen=True)
class Decoding:
    """How answers are drawn.

    Attributes:
        max_new_tokens: longest answer, thought included; shortened where the model has no positions left.
        temperature: 0 for the likeliest token each time, else tokens are sampled.
        seed: of the sampling; each question and sample has a stream of its own.
        top_p: sample from the likeliest tokens that hold this probability together; 1 for all.
        top_k: sample from so many of the likeliest tokens; 0 for all.
        stop: texts that end an answer; they are not part of it.
        thinking: whether the chat template is asked for thought (``enable_thinking``); None leaves it to the template.
        thinking_budget: tokens after which a thought that is still open is closed; None for no such limit.
    """

    max_new_tokens: int = 2048
    temperature: float = 0.0
    seed: int = 0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ()
    thinking: bool | None = None
    thinking_budget: int | None = None

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.temperature < 0 or self.top_k < 0:
            raise UsageError("max_new_tokens must be at least 1, temperature and top_k at least 0")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top_p is a probability above 0 and at most 1, not {self.top_p:g}")
        if not all(self.stop):
            raise UsageError("a stop string is empty; it would end every answer at once")
        if self.thinking_budget is not None and not 1 <= self.thinking_budget < self.max_new_tokens:
            raise UsageError(
                f"a thinking budget of {self.thinking_budget} tokens leaves no answer within "
                f"{self.max_new_tokens}; it must be at least 1 and below max_new_tokens"
            )

    @property
    def sampled(self) -> bool:
        """Whether tokens are drawn at random."""
        return self.temperature > 0

    @property
    def template_options(self) -> dict[str, Any]:
        """What the chat template is asked for."""
        return {} if self.thinking is None else {"enable_thinking": self.thinking}

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests."""
        return {**asdict(self), "stop": list(self.stop)}


def full_name(name: str, decoding: Decoding) -> str:
    """A policy's name with whatever of the length and temperature is not the default, as tables show it."""
    default = Decoding()
    sampled = f" temperature={decoding.temperature:g}" if decoding.temperature != default.temperature else ""
    length = f" max_new_tokens={decoding.max_new_tokens}" if decoding.max_new_tokens != default.max_new_tokens else ""
    return f"{name}{sampled}{length}"


def stream_seed(question: Question, seed: int, start: int = 0) -> int:
    """Seed (31 bits) of the random numbers of one answer, the same whatever else is asked, and when.

    Args:
        start: tokens already there, where an answer is made in parts that must not draw the same numbers.
    """
    name = f"{seed}\n{question.task.task_id}\n{question.sample}\n{start}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") >> 1
