"""A stored run with everything a report says about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomworld_env.evaluation.journal import failures_left
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.records import RESULTS, Record, place, stored_results, stored_tasks
from atomworld_env.evaluation.statistics import GroupStatistics, RunStatistics, run_statistics
from atomworld_env.tasks.suite import Suite

LONGEST_LABEL = 48
"""Characters of a run's name in tables and figures."""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """One run folder, read.

    Attributes:
        label: its name in tables and figures, different for each run of a report.
        folder: where it is.
        config, versions: of its manifest.
        records: its answers, in the order of the tasks.
        suite: its tasks, answered or not.
        failures: attempts without an answer, by the kind of their last failure.
        statistics: its figures.
    """

    label: str
    folder: Path
    config: dict[str, Any]
    versions: dict[str, str]
    records: list[Record]
    suite: Suite
    failures: dict[str, int]
    statistics: RunStatistics

    @property
    def overall(self) -> GroupStatistics:
        """The figures over all its tasks."""
        return self.statistics.overall

    @property
    def with_paper(self) -> bool:
        """Whether the paper profile was asked for any of its tasks."""
        return self.overall.paper.of > 0


def read_runs(folders: Sequence[Path]) -> list[StoredRun]:
    """The runs of some folders, in this order.

    Raises:
        UsageError: naming the folder that holds no run, or what in it cannot be read.
    """
    manifests = [read_manifest(folder) for folder in folders]
    labels = run_labels([str(manifest["config"]["policy"]) for manifest in manifests], folders)
    suites: dict[str, Suite] = {}
    runs = []
    for label, folder, manifest in zip(labels, folders, manifests, strict=True):
        config = manifest["config"]
        # Reading 2,500 tasks takes seconds; runs over one suite share them.
        fingerprint = str(config["fingerprint"])
        if fingerprint not in suites:
            suites[fingerprint] = stored_tasks(folder, str(config["suite"]))
        # A run that was stopped before its first answer has a manifest and no line.
        records = stored_results(folder) if (folder / RESULTS).is_file() else []
        runs.append(
            StoredRun(
                label,
                folder,
                config,
                {str(name): str(value) for name, value in (manifest.get("versions") or {}).items()},
                records,
                suites[fingerprint],
                failures_left(folder, {place(record) for record in records}),
                run_statistics(records, config, tasks=suites[fingerprint].tasks),
            )
        )
    return runs


def run_labels(policies: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """A short name for each run: its policy, with its folder where a policy occurs twice, all of them different."""
    short = [_shortened(policy) for policy in policies]
    counts = Counter(short)
    labels = [
        name if counts[name] == 1 else f"{name} ({_shortened(folder.resolve().name)})"
        for name, folder in zip(short, folders, strict=True)
    ]
    again = Counter(labels)
    return [f"{name} #{number}" if again[name] > 1 else name for number, name in enumerate(labels, start=1)]


def _shortened(name: str) -> str:
    """On one line, without characters that cannot be seen; the end of a path tells more than its beginning."""
    line = "".join(character if character.isprintable() else " " for character in name).strip() or "?"
    if len(line) <= LONGEST_LABEL:
        return line
    return f"{line[:14]}…{line[-(LONGEST_LABEL - 15) :]}"


def same_tasks(runs: Sequence[StoredRun]) -> bool:
    """Whether all runs are over the same tasks."""
    return len({run.config["fingerprint"] for run in runs}) == 1
