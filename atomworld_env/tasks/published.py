"""The published benchmark as a suite: prompts and targets as stored, and every problem of a record by name."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from atomworld_env.actions import ACTIONS
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal
from atomworld_env.tasks.difficulty import difficulty
from atomworld_env.tasks.published_files import PublishedRecord
from atomworld_env.tasks.published_readings import check_target
from atomworld_env.tasks.published_wording import action_of_name, params_fit, read_wording
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import PUBLISHED, Task, crystal_of
from rewards import Baseline, PreparedTarget, Stage, TargetError, prepare_target, verify
from rewards.verification import baseline_of

KINDS = {
    "incomplete": "the record lacks its instruction, input or output; left out",
    "unknown_action": "the edit is none of the ten; left out",
    "target_unreadable": "the output cannot be read as one ordered crystal; left out",
    "input_unreadable": "the input cannot be read as one ordered crystal; left out",
    "duplicate": "the same record again; left out",
    "duplicate_id": "another record has the same id; kept, with a number behind its id",
    "wording_unknown": "the parameters cannot be read from the instruction, so the target is not checked against it",
    "target_contradicts_instruction": "the target is not what the instruction asks for",
    "two_readings": "the target is one of two readings that the instruction allows",
    "unchanged_passes_strict": "the unchanged input passes the strict profile",
    "unchanged_passes_paper": "the unchanged input passes the paper profile",
}
"""What each kind of problem means."""


@dataclass(frozen=True)
class Problem:
    """One problem of one record.

    Attributes:
        kind: a key of :data:`KINDS`.
        task_id: of the record, or "" if it has none.
        place: file and number.
        message: one sentence.
        left_out: whether the record is not in the suite because of it.
    """

    kind: str
    task_id: str
    place: str
    message: str
    left_out: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class ImportedSuite:
    """A suite made of published records, and what is wrong with them."""

    suite: Suite
    problems: tuple[Problem, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Records by kind of problem, in the order of :data:`KINDS`."""
        found = Counter(problem.kind for problem in self.problems)
        return {kind: found[kind] for kind in KINDS if found[kind]}


class _LeftOut(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def import_records(
    records: Iterable[PublishedRecord],
    *,
    name: str = PUBLISHED,
    split: str = "bench",
    with_paper: bool = True,
    progress: Callable[[int], None] | None = None,
) -> ImportedSuite:
    """Tasks of published records, in their order.

    The instruction is the published one, structure and target are the stored texts. `params` are what the wording
    says, or empty; a target is never changed, also where it contradicts its instruction.

    Args:
        with_paper: whether to look if the unchanged input passes the paper profile (30-50 ms for an edit that keeps
            the composition).
        progress: called with the number of records done.
    """
    tasks: dict[str, Task] = {}
    problems: list[Problem] = []
    for done, record in enumerate(records, start=1):
        try:
            task, found = _task(record, name, split, with_paper)
            if task.task_id in tasks:
                task = _renamed(task, tasks)
                found.insert(0, ("duplicate_id", f"kept as {task.task_id}"))
            tasks[task.task_id] = task
            problems += [Problem(kind, task.task_id, record.place, message) for kind, message in found]
        except _LeftOut as reason:
            problems.append(Problem(reason.kind, record.record_id or "", record.place, str(reason), left_out=True))
        if progress is not None:
            progress(done)
    return ImportedSuite(Suite(name, tuple(tasks.values())), tuple(problems))


def _task(record: PublishedRecord, suite: str, split: str, with_paper: bool) -> tuple[Task, list[tuple[str, str]]]:
    prompt, structure, target = record.prompt, record.structure, record.target
    if prompt is None or structure is None or target is None:
        parts = {"instruction": prompt, "input": structure, "output": target}
        lacking = [part for part, value in parts.items() if value is None]
        raise _LeftOut("incomplete", f"the record lacks its {' and '.join(lacking)}")
    action, params = _edit(record, prompt)
    truth, before = _prepared(target, "target_unreadable"), _prepared(structure, "input_unreadable")
    crystal, result = crystal_of(structure), crystal_of(target)
    baseline = _rounded(baseline_of(before, truth))
    found: list[tuple[str, str]] = []
    if params:
        finding = check_target(action, params, crystal, truth.arrangement, prompt)
        if finding is not None:
            found.append((finding.kind, finding.message))
    else:
        found.append(("wording_unknown", f"no known wording of {action}: {prompt[:80]!r}"))
    found += _unchanged(structure, truth, baseline, with_paper)
    task = Task(
        task_id=record.record_id or f"{action}-{_digest(prompt, structure, target)}",
        action=action,
        params=params,
        prompt=prompt,
        structure=structure,
        target=target,
        structure_id=record.structure_id or _digest(structure),
        n_sites=len(crystal),
        difficulty=_difficulty(action, params, crystal, result),
        seed=0,
        suite=suite,
        split=split,
        version=PUBLISHED,
        baseline=baseline,
    )
    return task, found


def _edit(record: PublishedRecord, prompt: str) -> tuple[str, dict[str, Any]]:
    """The edit by its field, else by the file's name, else by the wording; parameters by the wording."""
    said = read_wording(prompt)
    action = action_of_name(record.action) if record.action is not None else action_of_name(record.source)
    if action is None and record.action is None and said is not None:
        action = said[0]
    if action is None:
        named = record.action if record.action is not None else record.source
        raise _LeftOut("unknown_action", f"{named!r} is none of {', '.join(ACTIONS)}")
    if record.params is not None and params_fit(action, record.params):
        return action, dict(record.params)
    if said is not None and said[0] == action and params_fit(action, said[1]):
        return action, said[1]
    return action, {}


def _prepared(cif: str, kind: str) -> PreparedTarget:
    try:
        prepared = prepare_target(cif)
        _ = prepared.arrangement
    except TargetError as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise _LeftOut(kind, reason) from None
    return prepared


def _unchanged(
    structure: str, truth: PreparedTarget, baseline: Baseline, with_paper: bool
) -> Iterable[tuple[str, str]]:
    if baseline.stage is Stage.CORRECT:
        yield "unchanged_passes_strict", f"the unchanged input is {baseline.max_displacement:.3g} Å from the target"
    if with_paper and baseline.composition_difference == 0:
        verdict = verify(f"<cif>\n{structure}\n</cif>", truth, profile="paper")
        if verdict.success_paper:
            distance = verdict.max_dist_angstrom
            words = "" if distance is None else f" (max_dist {verdict.max_dist:.3g}, {distance:.3g} Å)"
            yield "unchanged_passes_paper", f"the unchanged input passes{words}"


def _difficulty(action: str, params: dict[str, Any], crystal: Crystal, target: Crystal) -> dict[str, float]:
    try:
        return difficulty(ACTIONS[action], crystal, params, target)
    except (
        ArithmeticError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ):  # parameters that are not known or do not fit: no lever to measure
        return difficulty(ACTIONS[action], crystal, params, target, lever=0.0)


def _renamed(task: Task, tasks: dict[str, Task]) -> Task:
    twin = tasks[task.task_id]
    if (task.prompt, task.structure, task.target) == (twin.prompt, twin.structure, twin.target):
        raise _LeftOut("duplicate", f"the same record as the first with id {task.task_id}")
    number = 2
    while f"{task.task_id}#{number}" in tasks:
        number += 1
    return replace(task, task_id=f"{task.task_id}#{number}")


def _rounded(baseline: Baseline) -> Baseline:
    """Rounded as in all records, so that a suite that is written and read has the same fingerprint."""

    def shortened(value: float | None) -> float | None:
        return None if value is None else round(value, TARGET_DECIMALS)

    return replace(
        baseline,
        max_displacement=shortened(baseline.max_displacement),
        sum_displacement=shortened(baseline.sum_displacement),
    )


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
