"""What evaluation asks of a policy, and how one is found by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from atomworld_env.prompts.prompt import Message
from atomworld_env.tasks.task import Task


@dataclass(frozen=True)
class Question:
    """What a policy is asked.

    Attributes:
        task: with its truth; only the baselines of this package look at more than its id.
        messages: the prompt a model reads.
    """

    task: Task
    messages: list[Message]


class Policy(Protocol):
    """Answers questions, in order, one text each."""

    @property
    def name(self) -> str:
        """Name of the policy, as manifests and tables show it."""
        ...

    def answers(self, questions: Sequence[Question]) -> Iterator[str]:
        """One answer per question, in order, each as soon as it is known."""
        ...
