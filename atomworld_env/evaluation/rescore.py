"""Stored answers verified again, without the model that gave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.records import Record, place, stored_results, stored_tasks
from atomworld_env.evaluation.run import evaluate
from atomworld_env.evaluation.stepping import Notify
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.prompts.prompt import PromptTemplate

VERDICT_KEYS = ("verdict_strict", "success", "verdict_paper", "success_paper")
"""What must not change when a stored answer is verified again with the same settings."""


@dataclass(frozen=True)
class StoredAnswers:
    """A policy that repeats the answers of a stored run.

    Attributes:
        name, settings: of the policy that gave them.
        records: lines of the stored run.
    """

    name: str
    settings: dict[str, Any]
    records: Sequence[Record]

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """The stored reply to each question; what had none stays without."""
        by_place = {(record["task_id"], record["sample"]): record for record in self.records}
        for number, question in enumerate(questions):
            record = by_place.get((question.task.task_id, question.sample))
            if record is None:
                yield number, Failure(FailureKind.CRASHED, "the stored run has no answer to this question")
            else:
                yield (
                    number,
                    Reply(
                        record["answer"],
                        record["truncated"],
                        record["prompt_tokens"],
                        record["completion_tokens"],
                        record["latency"],
                    ),
                )


@dataclass(frozen=True)
class Rescored:
    """What came of verifying a run again.

    Attributes:
        before, after: lines of the run, in the same order.
        changed: pairs of lines that differ in a verdict both have.
    """

    before: Sequence[Record]
    after: Sequence[Record]

    @property
    def changed(self) -> list[tuple[Record, Record]]:
        later = {place(record): record for record in self.after}
        pairs = [(record, later[place(record)]) for record in self.before if place(record) in later]
        return [pair for pair in pairs if any(_differ(*pair, key) for key in VERDICT_KEYS)]


def rescore(
    folder: Path,
    out: Path,
    *,
    profile: str | None = None,
    tolerance: float | None = None,
    strict_tags: bool | None = None,
    engine: str | None = None,
    workers: int = 1,
    progress: Notify | None = None,
) -> Rescored:
    """Verify the answers of a stored run again, with its settings or others, and write them as a run of its own.

    Args:
        folder: of the stored run.
        out: folder for the new lines; no run may be in it.
        profile, tolerance, strict_tags, engine: as for :func:`evaluate`; None for those of the stored run.

    Raises:
        UsageError: if there is no whole run in the folder, or there is one in `out`.
    """
    manifest = read_manifest(folder)
    config = manifest["config"]
    before = stored_results(folder)
    suite = stored_tasks(folder, config["suite"])
    if suite.fingerprint != config["fingerprint"]:
        raise UsageError(f"the tasks in {folder} are not those of its manifest (fingerprint); evaluate anew")
    after = evaluate(
        StoredAnswers(config["policy"], config["settings"], before),
        suite,
        out,
        samples=config["samples"],
        profile=config["profile"] if profile is None else profile,
        paper_per_action=config["paper_per_action"],
        tolerance=config["tolerance"] if tolerance is None else tolerance,
        reward_scheme=config["reward_scheme"],
        strict_tags=config["strict_tags"] if strict_tags is None else strict_tags,
        engine=config["engine"] if engine is None else engine,
        template=PromptTemplate(**manifest["prompt"]),
        time_limit=config["time_limit"],
        seed=config["seed"],
        workers=workers,
        progress=progress,
    )
    return Rescored(before, after)


def _differ(one: Record, other: Record, key: str) -> bool:
    return one[key] is not None and other[key] is not None and one[key] != other[key]
