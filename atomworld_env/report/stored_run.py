"""A stored run with everything a report says about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomworld_env.evaluation.journal import failures_left
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.records import RESULTS, Record, place, stored_results, stored_tasks
from atomworld_env.evaluation.statistics import GroupStatistics, RunStatistics, run_statistics
from atomworld_env.families.registry import FAMILIES
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
        model: number of its model on the page, from 0, which gives its colour and mark. Runs of one model over
            different families share it, with whatever settings; a second run over the same family has another.
    """

    label: str
    folder: Path
    config: dict[str, Any]
    versions: dict[str, str]
    records: list[Record]
    suite: Suite
    failures: dict[str, int]
    statistics: RunStatistics
    model: int

    @property
    def family(self) -> str:
        """The family of its tasks."""
        return self.suite.family

    @property
    def model_name(self) -> str:
        """Its policy without the settings of sampling."""
        return _model_name(self.config)

    @property
    def overall(self) -> GroupStatistics:
        """The figures over all its tasks."""
        return self.statistics.overall

    @property
    def with_paper(self) -> bool:
        """Whether the paper profile was asked for any of its tasks."""
        return self.overall.paper.of > 0


def read_runs(folders: Sequence[Path]) -> list[StoredRun]:
    """The runs of some folders: those of edits first, then by family, in the order given within each.

    Raises:
        UsageError: naming the folder that holds no run, or what in it cannot be read.
    """
    manifests = [read_manifest(folder) for folder in folders]
    labels = run_labels([str(manifest["config"]["policy"]) for manifest in manifests], folders)
    suites: dict[str, Suite] = {}
    for folder, manifest in zip(folders, manifests, strict=True):
        config = manifest["config"]
        # Reading 2,500 tasks takes seconds; runs over one suite share them.
        fingerprint = str(config["fingerprint"])
        if fingerprint not in suites:
            suites[fingerprint] = stored_tasks(folder, str(config["suite"]))
    families = list(FAMILIES)
    order = sorted(
        range(len(folders)), key=lambda k: families.index(suites[str(manifests[k]["config"]["fingerprint"])].family)
    )
    models: dict[tuple[str, int], int] = {}
    seen: Counter[tuple[str, str]] = Counter()
    runs = []
    for k in order:
        label, folder, manifest, config = labels[k], folders[k], manifests[k], manifests[k]["config"]
        suite = suites[str(config["fingerprint"])]
        name = _model_name(config)
        model = models.setdefault((name, seen[name, suite.family]), len(models))
        seen[name, suite.family] += 1
        # A run that was stopped before its first answer has a manifest and no line.
        records = stored_results(folder) if (folder / RESULTS).is_file() else []
        runs.append(
            StoredRun(
                label,
                folder,
                config,
                {str(name): str(value) for name, value in (manifest.get("versions") or {}).items()},
                records,
                suite,
                failures_left(folder, {place(record) for record in records}),
                run_statistics(records, config, tasks=suite.tasks),
                model,
            )
        )
    return runs


def _model_name(config: Mapping[str, Any]) -> str:
    settings = config.get("settings") or {}
    if settings.get("kind") and settings.get("model"):
        return f"{settings['kind']}:{settings['model']}"
    return str(config["policy"])


def by_family(runs: Sequence[StoredRun]) -> dict[str, list[tuple[int, StoredRun]]]:
    """The runs of each family, each with its number among all."""
    found: dict[str, list[tuple[int, StoredRun]]] = {}
    for number, run in enumerate(runs):
        found.setdefault(run.family, []).append((number, run))
    return found


def run_labels(policies: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """A short name for each run: its policy, with its folder where a policy occurs twice, all of them different."""
    short = [shortened(policy) for policy in policies]
    counts = Counter(short)
    labels = [
        name if counts[name] == 1 else f"{name} ({shortened(folder.resolve().name)})"
        for name, folder in zip(short, folders, strict=True)
    ]
    again = Counter(labels)
    return [f"{name} #{number}" if again[name] > 1 else name for number, name in enumerate(labels, start=1)]


def shortened(name: str) -> str:
    """On one line, without characters that cannot be seen; the end of a path tells more than its beginning."""
    line = "".join(character if character.isprintable() else " " for character in name).strip() or "?"
    if len(line) <= LONGEST_LABEL:
        return line
    return f"{line[:14]}…{line[-(LONGEST_LABEL - 15) :]}"


def same_tasks(runs: Sequence[StoredRun]) -> bool:
    """Whether all runs are over the same tasks."""
    return len({run.config["fingerprint"] for run in runs}) == 1
