"""What evaluation asks of a policy, and what it gets back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from atomworld_env.prompts.prompt import Message
from atomworld_env.tasks.task import Task


@dataclass(frozen=True)
class Question:
    """What a policy is asked.

    Attributes:
        task: with its truth; only the baselines of this package look at more than its id.
        messages: the prompt a model reads.
        sample: which of several answers to the same task this one is, from 0.
    """

    task: Task
    messages: list[Message]
    sample: int = 0


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Attributes:
        text: the answer, verified as it is.
        truncated: whether it was cut off at a limit of length; None where that is not known.
        prompt_tokens, completion_tokens: as the model's own tokenizer or the server counts them; None if unknown. The
            tokens of hidden reasoning are part of the completion.
        seconds: from asking to the end of the answer; for a batch, of the batch.
    """

    text: str
    truncated: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None


class FailureKind(StrEnum):
    """Why there is no answer although the question was asked."""

    NETWORK = "network"
    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    REFUSED = "refused"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Failure:
    """The machinery failed, not the model: nothing to verify, to be asked again.

    Attributes:
        kind: of failure.
        message: one line.
        seconds: spent on it, retries included.
    """

    kind: FailureKind
    message: str
    seconds: float | None = None


class Policy(Protocol):
    """Answers questions, in order, one text each."""

    @property
    def name(self) -> str:
        """Name of the policy, as manifests and tables show it."""
        ...

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        """One answer per question, in order, each as soon as it is known."""
        ...


@runtime_checkable
class ModelPolicy(Protocol):
    """A policy that may answer in any order, counts tokens, and may fail to answer."""

    @property
    def name(self) -> str:
        """Name of the policy, as manifests and tables show it."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides what it answers, as plain JSON values; no secrets. A resumed run must have the same."""
        ...

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """The number of a question in the list and what came of it, each as soon as it is known, in any order."""
        ...


AnyPolicy = Policy | ModelPolicy


def replies_of(policy: AnyPolicy, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
    """What came of each question, whichever kind of policy it is.

    Raises:
        ValueError: if a policy gives fewer or more answers than there are questions.
    """
    if isinstance(policy, ModelPolicy):
        yield from policy.replies(questions)
        return
    for number, (_, answer) in enumerate(zip(questions, policy.answers(questions), strict=True)):
        yield number, Reply(answer)


def settings_of(policy: AnyPolicy) -> dict[str, Any]:
    """What a manifest keeps of the policy beside its name."""
    return dict(policy.settings) if isinstance(policy, ModelPolicy) else {}
