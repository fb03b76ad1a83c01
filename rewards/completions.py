"""What a trainer hands to a reward function, as samples: the answer in a completion, the ground truth in a row."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rewards.verdict import Baseline, Verdict
from rewards.verification import TargetError, baseline_of, prepare_target

_LOGGER = logging.getLogger(__name__)

# Added to the tolerance where distances from two crystals are compared whose cells may differ within 0.5 %.
_CELL_SLACK = 0.1


def answer_text(completion: Any) -> str | None:
    """The text that a completion answers with; None where there is none.

    Of a list of messages, that is what the assistant says last: all its messages after the last one of another role. So
    a rollout that ends in the result of a tool has given no answer. Content in parts counts with its text parts.
    """
    if isinstance(completion, str):
        return completion
    messages = [completion] if isinstance(completion, Mapping) else completion
    if not isinstance(messages, list | tuple):
        return None
    said: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
            break
        said.append(_content_text(message.get("content")))
    return "\n".join(text for text in reversed(said) if text) or None


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else []
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


@dataclass(eq=False)
class Sample:
    """A completion with the ground truth of its task, and later its verdict and reward.

    Attributes:
        answer: what the completion answers with.
        baseline: of the task; None if neither a baseline nor an input structure was given.
        fault: why the ground truth cannot be used; None if it can.
        verdict, reward: None until verified, and for good where there is a fault.
    """

    answer: str | None
    target: str
    structure: str | None
    task_id: Any
    baseline: Baseline | None
    fault: str | None
    verdict: Verdict | None = None
    reward: float | None = None

    @classmethod
    def of(cls, answer: str | None, target: Any, structure: Any, baseline: Any, task_id: Any) -> Sample:
        """The sample of one row of the data set. A ground truth with a fault is warned of once.

        Raises:
            ValueError: if the baseline is none, naming the task.
        """
        try:
            given = None if baseline is None else _baseline(baseline)
        except ValueError as error:
            raise ValueError(f"task {task_id}: {error}") from None
        truth = _read(target, structure if given is None else None)
        if truth.fault is not None:
            _warn_once(str(task_id), truth.fault)
        return cls(answer, target, structure, task_id, given or truth.baseline, truth.fault)

    @property
    def outcome(self) -> str:
        """The stage, or ``broken_target``."""
        return "broken_target" if self.verdict is None else str(self.verdict.stage)

    def may_be_copy(self, tolerance: float) -> bool:
        """False where the answer cannot be the input structure within the tolerance.

        By the triangle inequality a copy is as far from the target as the input is, within the tolerance; the limit is
        taken wide, as the cell of the answer may differ a little.
        """
        verdict, baseline = self.verdict, self.baseline
        if verdict is None or baseline is None or not verdict.parsable or verdict.success_strict:
            return False
        if verdict.composition_difference != baseline.composition_difference:
            return False
        mine, theirs = verdict.max_displacement, baseline.max_displacement
        if mine is not None and theirs is not None and abs(mine - theirs) > tolerance + _CELL_SLACK:
            return False
        return self.structure is not None and _read(self.structure, None).fault is None


@dataclass(frozen=True)
class _Truth:
    fault: str | None
    baseline: Baseline | None = None


def _read(target: Any, structure: Any) -> _Truth:
    """Whether a ground truth can be used, and its baseline if an input structure is given."""
    if not isinstance(target, str) or not isinstance(structure, str | None):
        return _Truth("the target or input structure is no text")
    return _read_texts(target, structure)


@lru_cache(maxsize=4096)  # the tasks of a step come again in every completion of their group
def _read_texts(target: str, structure: str | None) -> _Truth:
    try:
        truth = prepare_target(target)
        _ = truth.arrangement
        return _Truth(None, None if structure is None else baseline_of(structure, truth))
    except TargetError as error:
        return _Truth(str(error))


def _baseline(given: Any) -> Baseline:
    """Of the dict of a task record, or of that as JSON text, as some writers of data sets store nested values."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            raise ValueError(f"the baseline is no JSON: {given[:40]!r}") from None
    return given if isinstance(given, Baseline) else Baseline.from_json(given)


@lru_cache(maxsize=4096)
def _warn_once(task_id: str, fault: str) -> None:
    # Not by `warnings`: where those are errors, one bad row would end all ranks.
    _LOGGER.warning("task %s earns no reward: %s", task_id, fault)
