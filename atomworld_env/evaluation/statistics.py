"""All figures of one run: success with intervals, floors, distances, verdicts, usage.

What a report does::

    records = stored_results(folder)
    config = read_manifest(folder)["config"]
    statistics = run_statistics(records, config)        # tasks=suite.tasks as well, where the suite is at hand
    row = statistics.group("action", "move")            # or ("all", "all"), ("level", "3"), ("sites", "20-39"),
                                                        # ("cell", "oblique"), ("action/cell", "move/oblique"),
                                                        # ("action/sites", "move/20-39")
    row.strict.rate, row.strict.interval                # success, 95 % interval; None where nothing was asked
    row.paper, row.floor                                # the noop floor stands beside every paper-profile number
    row.paper_off_floor, row.above_floor                # success where the unchanged input fails; (p-f)/(1-f)
    row.pass_at["strict"][4 - 1]                        # pass@4
    row.distances["max_dist_paper_right"].mean          # the published column
    row.tolerance[0.25].rate
    row.verdicts["strict"], row.unanswered, row.truncated
    statistics.usage.cost
    statistics.to_json()                                # all of it

Every rate is an :class:`~atomworld_env.evaluation.intervals.Rate`; its denominator holds the attempts that were never
answered. ``docs/statistics.md`` says how each number is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from atomworld_env.evaluation.asked import AskedTask, asked_tasks
from atomworld_env.evaluation.distances import Distances, distances, tolerance_curve
from atomworld_env.evaluation.intervals import Rate, rate_of
from atomworld_env.evaluation.pass_at_k import pass_rates
from atomworld_env.evaluation.records import Record
from atomworld_env.evaluation.usage import Usage, usage

if TYPE_CHECKING:
    from atomworld_env.tasks.task import Task

SITE_BINS = ((1, 9), (10, 19), (20, 39), (40, 59), (60, 100), (101, None))
"""Sites of the input, both ends included; the last bin is open."""


@dataclass(frozen=True)
class GroupStatistics:
    """The figures of one group of tasks.

    Attributes:
        kind: ``all``, ``action``, ``level``, ``sites``, ``cell``, ``action/cell`` or ``action/sites``.
        name: of the group, such as ``move``, ``3``, ``20-39``, ``oblique``, ``move/oblique``.
        tasks: how many.
        attempts: tasks times samples.
        unanswered: attempts without an answer; not right, and in every denominator.
        truncated: answers that were cut off at the length limit; verified like all others.
        strict, paper: success over the attempts; `paper` over the tasks that it was asked for.
        floor: share of the tasks whose unchanged input passes the paper profile, among those where that is known.
        paper_off_floor: success under the paper profile on the other tasks: those whose unchanged input fails. Tasks
            where that is not known (never answered) are among them.
        above_floor: (p - f)/(1 - f), p success under the paper profile and f the floor; None if f is 1 or unknown.
        pass_at: by profile, pass@1 … pass@k.
        reward: mean over the answers.
        verdicts: by profile, number of answers of each verdict.
        distances: by name, see :data:`~atomworld_env.evaluation.distances.NAMED`.
        tolerance: success by tolerance in Å.
    """

    kind: str
    name: str
    tasks: int
    attempts: int
    unanswered: int
    truncated: int
    strict: Rate
    paper: Rate
    floor: Rate
    paper_off_floor: Rate
    above_floor: float | None
    pass_at: dict[str, list[Rate]]
    reward: float | None
    verdicts: dict[str, dict[str, int]]
    distances: dict[str, Distances]
    tolerance: dict[float, Rate]

    def to_json(self) -> dict[str, Any]:
        """Plain values; rates as in :meth:`Rate.to_json`."""
        return {
            **vars(self),
            **{key: getattr(self, key).to_json() for key in ("strict", "paper", "floor", "paper_off_floor")},
            "pass_at": {profile: [rate.to_json() for rate in rates] for profile, rates in self.pass_at.items()},
            "distances": {name: each.to_json() for name, each in self.distances.items()},
            "tolerance": {f"{tolerance:g}": rate.to_json() for tolerance, rate in self.tolerance.items()},
        }


@dataclass(frozen=True)
class RunStatistics:
    """The figures of one run.

    Attributes:
        tasks, samples: what was asked: attempts are tasks times samples.
        groups: in the order all, action, level, sites, cell, and the two by action.
        unplaced: unanswered tasks whose edit nobody knows (the suite was not at hand); they are in ``all`` only.
        usage: tokens, latency, cost.
    """

    tasks: int
    samples: int
    groups: tuple[GroupStatistics, ...]
    unplaced: int
    usage: Usage

    def of_kind(self, kind: str) -> list[GroupStatistics]:
        """The groups of one kind, in order."""
        return [group for group in self.groups if group.kind == kind]

    def group(self, kind: str, name: str) -> GroupStatistics | None:
        """One group, or None if the run has no such task."""
        return next((group for group in self.groups if (group.kind, group.name) == (kind, name)), None)

    @property
    def overall(self) -> GroupStatistics:
        """The group of all tasks."""
        return self.groups[0]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "tasks": self.tasks,
            "samples": self.samples,
            "unplaced": self.unplaced,
            "usage": self.usage.to_json(),
            "groups": [group.to_json() for group in self.groups],
        }


def run_statistics(
    records: Sequence[Record], config: Mapping[str, Any], tasks: Sequence[Task] | None = None
) -> RunStatistics:
    """The figures of a run.

    Args:
        records: the lines of ``results.jsonl``.
        config: the manifest's ``config``: what was asked, and the prices in its ``settings``.
        tasks: of the suite that was run, in its order; with them an attempt that was never answered is counted in
            the groups it belongs to.
    """
    asked = asked_tasks(records, config, tasks)
    groups = tuple(group_statistics(kind, name, members) for kind, name, members in _grouped(asked))
    return RunStatistics(
        tasks=len(asked),
        samples=max((task.asked for task in asked), default=int(config.get("samples") or 1)),
        groups=groups,
        unplaced=sum(task.action is None for task in asked),
        usage=usage(records, config.get("settings") or {}),
    )


def group_statistics(kind: str, name: str, tasks: Sequence[AskedTask]) -> GroupStatistics:
    """The figures of some tasks."""
    records = [record for task in tasks for record in task.records]
    with_paper = [task for task in tasks if task.with_paper]
    off_floor = [task for task in with_paper if not task.floor]
    known = [task for task in with_paper if task.floor is not None]
    paper = success(with_paper, "paper")
    floor = rate_of([int(bool(task.floor)) for task in known], [1] * len(known), [task.structure_id for task in known])
    above = None
    if paper.rate is not None and floor.rate is not None and floor.rate < 1:
        above = (paper.rate - floor.rate) / (1 - floor.rate)
    return GroupStatistics(
        kind=kind,
        name=name,
        tasks=len(tasks),
        attempts=sum(task.asked for task in tasks),
        unanswered=sum(task.unanswered for task in tasks),
        truncated=sum(bool(record.get("truncated")) for record in records),
        strict=success(tasks, "strict"),
        paper=paper,
        floor=floor,
        paper_off_floor=success(off_floor, "paper"),
        above_floor=above,
        pass_at={"strict": pass_rates(tasks, "strict"), "paper": pass_rates(with_paper, "paper")},
        reward=fmean(record["reward"] for record in records) if records else None,
        verdicts={
            profile: dict(Counter(record[key] for record in records if record.get(key) is not None))
            for profile, key in (("strict", "verdict_strict"), ("paper", "verdict_paper"))
        },
        distances=distances(records),
        tolerance=tolerance_curve(tasks),
    )


def success(tasks: Sequence[AskedTask], profile: str) -> Rate:
    """Success over all attempts at the tasks; with several samples of each this is mean@k."""
    return rate_of(
        [task.right(profile) for task in tasks],
        [task.asked for task in tasks],
        [task.structure_id for task in tasks],
    )


def site_bin(sites: int) -> str:
    """Name of the bin of :data:`SITE_BINS`, such as ``20-39`` or ``101+``."""
    for low, high in SITE_BINS:
        if high is None or sites <= high:
            return f"{low}+" if high is None else f"{low}-{high}"
    raise AssertionError("the last bin is open")


def _grouped(tasks: Sequence[AskedTask]) -> Iterator[tuple[str, str, list[AskedTask]]]:
    yield "all", "all", list(tasks)
    placed = [task for task in tasks if task.action is not None]
    actions = list(dict.fromkeys(str(task.action) for task in placed))
    bins = [site_bin(low) for low, _ in SITE_BINS]
    cells = ["orthogonal", "oblique"]
    levels = sorted({str(task.level) for task in placed if task.level is not None})
    kinds: dict[str, tuple[list[str], Callable[[AskedTask], str]]] = {
        "action": (actions, lambda task: str(task.action)),
        "level": (levels, lambda task: str(task.level)),
        "sites": (bins, _bin),
        "cell": (cells, _cell),
        "action/cell": (
            [f"{action}/{cell}" for action in actions for cell in cells],
            lambda task: f"{task.action}/{_cell(task)}",
        ),
        "action/sites": (
            [f"{action}/{each}" for action in actions for each in bins],
            lambda task: f"{task.action}/{_bin(task)}",
        ),
    }
    for kind, (names, name_of) in kinds.items():
        members: dict[str, list[AskedTask]] = {name: [] for name in names}
        for task in placed:
            if (name := name_of(task)) in members:
                members[name].append(task)
        yield from ((kind, name, group) for name, group in members.items() if group)


def _bin(task: AskedTask) -> str:
    return "unknown" if task.n_sites is None else site_bin(task.n_sites)


def _cell(task: AskedTask) -> str:
    return "orthogonal" if task.orthogonal else "oblique"
