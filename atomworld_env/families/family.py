"""What a family of tasks provides; environments, policies, evaluation and training are written against this."""

from __future__ import annotations

from typing import Protocol

from atomworld_env.prompts.prompt import Message
from atomworld_env.tasks.task import Task
from rewards import Verdict


class Family(Protocol):
    """Sample a task from a seed, state it, verify an answer.

    Attributes:
        name: of the family, a key of :data:`atomworld_env.families.registry.FAMILIES`.
    """

    name: str

    @property
    def tolerance(self) -> float | None:
        """Up to which distance an answer is right, in the family's unit; None where there is no such number."""
        ...

    @property
    def actions(self) -> tuple[str, ...]:
        """The kinds of task it samples."""
        ...

    def sample(self, seed: int, action: str | None = None) -> Task:
        """The task of a seed, the same in every process."""
        ...

    def prompt(self, task: Task) -> str:
        """Everything a model needs to answer, as one text."""
        ...

    def messages(self, task: Task) -> list[Message]:
        """The same as chat messages."""
        ...

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        """The verdict on an answer; total: it never raises because of the answer."""
        ...
