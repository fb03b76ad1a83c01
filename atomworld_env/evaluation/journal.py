"""What a run keeps of replies before they are verified, and of questions that got no reply."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atomworld_env.evaluation.records import append_line, drop_cut_line, read_lines
from atomworld_env.policies.policy import Failure, Question, Reply

UNVERIFIED = "unverified.jsonl"
FAILURES = "failures.jsonl"

FAILURE_KEYS = ("index", "sample", "task_id", "kind", "message", "seconds", "time")


class Journal:
    """Two files beside the results, appended to as replies come.

    ``unverified.jsonl`` holds each reply from the moment it came: an answer that cost minutes or money is not lost when
    the run is killed before its verdict. It goes when all are verified. ``failures.jsonl`` holds what the machinery
    failed at (a network, a server, memory), which is asked again and never scored.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / UNVERIFIED
        for path in (self._path, folder / FAILURES):
            drop_cut_line(path)
        self._replies = self._path.open("a", encoding="utf-8", newline="\n")
        self._failures = (folder / FAILURES).open("a", encoding="utf-8", newline="\n")

    def earlier_replies(self) -> Iterator[tuple[tuple[int, int], Reply]]:
        """Place in the run and reply, of all that came before the run was resumed."""
        for line in read_lines(self._path, ("index", "sample", "reply")):
            yield (line["index"], line["sample"]), Reply(**line["reply"])

    def reply(self, index: int, sample: int, reply: Reply) -> None:
        """Keep a reply."""
        append_line(self._replies, {"index": index, "sample": sample, "reply": vars(reply)})

    def failure(self, index: int, question: Question, failure: Failure) -> None:
        """Keep a failure."""
        values = (
            index, question.sample, question.task.task_id, str(failure.kind), failure.message, failure.seconds,
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        )  # fmt: skip
        append_line(self._failures, dict(zip(FAILURE_KEYS, values, strict=True)))

    def close(self, *, finished: bool) -> None:
        """Close the files.

        Args:
            finished: whether all replies have their verdict on disk.
        """
        self._replies.close()
        self._failures.close()
        if finished:
            self._path.unlink(missing_ok=True)


def stored_failures(folder: Path) -> list[dict[str, Any]]:
    """All failures of a run, in order; also those of questions that were answered later."""
    path = folder / FAILURES
    return list(read_lines(path, FAILURE_KEYS)) if path.is_file() else []


def failures_left(folder: Path, answered: set[tuple[int, int]]) -> dict[str, int]:
    """How many questions have no answer, by the kind of their last failure."""
    last = {(line["index"], line["sample"]): line["kind"] for line in stored_failures(folder)}
    left: dict[str, int] = {}
    for place, kind in last.items():
        if place not in answered:
            left[kind] = left.get(kind, 0) + 1
    return left
