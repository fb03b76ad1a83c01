"""What every kind of answer earns on every kind of task under every scheme."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from atomworld_env.audit.answers import AnswerKind
from atomworld_env.audit.family_answers import KINDS
from atomworld_env.audit.verification import Item, verdicts_on_edits, verdicts_on_tasks
from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES
from atomworld_env.tasks.family_suite import FAMILY_RECIPES, make_family_suite
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Progress, Suite, SuiteRecipe, make_suite
from atomworld_env.tasks.task import Task
from rewards import SCHEMES, Verdict
from rewards.schemes import Scheme
from rewards.stages import Stage

UNDECIDED = (Stage.TIMEOUT, Stage.WORKER_LOST)

Notify = Callable[[int, int], None]
"""Called with the number of answers done and the number there are."""


@dataclass
class Tally:
    """Sums over the answers of one kind to one kind of task under one scheme.

    Attributes:
        answers: verified.
        left_out: not verified, because symmetry makes them right.
        total, squares, highest: sum, sum of squares and largest of the rewards.
        successes: strictly right (by the paper profile under the scheme ``paper``), or paid 1.
        undecided: verdicts ``timeout`` and ``worker_lost``; they earn 0 and count as answers.
        changing: answers to tasks that change the composition.
    """

    answers: int = 0
    left_out: int = 0
    total: float = 0.0
    squares: float = 0.0
    highest: float = 0.0
    successes: int = 0
    undecided: int = 0
    changing: int = 0

    @property
    def mean(self) -> float | None:
        """Mean reward, or None without an answer."""
        return self.total / self.answers if self.answers else None

    @property
    def standard_error(self) -> float:
        """Of the mean; 0 without two answers."""
        if self.answers < 2:
            return 0.0
        variance = max(0.0, self.squares - self.total**2 / self.answers) / (self.answers - 1)
        return math.sqrt(variance / self.answers)


@dataclass(frozen=True)
class Audit:
    """The outcome of one audit.

    Attributes:
        suite: the tasks.
        kinds: of answers, in order.
        schemes: names.
        tallies: by (kind, edit, scheme).
        strict_seconds, paper_seconds: wall time of verifying under either profile.
        strict_answers, paper_answers: how many were verified under either profile.
    """

    suite: Suite
    kinds: tuple[AnswerKind, ...]
    schemes: tuple[str, ...]
    tallies: Mapping[tuple[str, str, str], Tally] = field(repr=False)
    strict_seconds: float
    paper_seconds: float
    strict_answers: int
    paper_answers: int

    @property
    def actions(self) -> tuple[str, ...]:
        return self.suite.actions

    def tally(self, kind: str, action: str, scheme: str) -> Tally:
        """The sums of one kind; empty where nothing was asked."""
        return self.tallies.get((kind, action, scheme), Tally())


def audit_tasks(
    per_action: int, actions: Sequence[str], seed: int, *, family: str = "edits", progress: Progress | None = None
) -> Suite:
    """Tasks of the test split; those of an edit are each on another structure.

    Args:
        per_action: tasks of each kind; of stored tasks the first so many, or as many as there are.
        actions: kinds of task of the family.
        seed: root of the random numbers.
        family: key of :data:`~atomworld_env.families.registry.FAMILIES`.

    Raises:
        UsageError: if there are fewer than two of each kind, or more than the pool admits.
    """
    if per_action < 2:
        raise UsageError(f"--per-action must be 2 or more, got {per_action}: one answer is another task's target")
    if family == "edits":
        config = SamplerConfig(split="test", actions=tuple(actions))
        return make_suite(SuiteRecipe("audit", config, per_action, seed), progress=progress)
    recipe = next(recipe for recipe in FAMILY_RECIPES.values() if recipe.family == family)
    wanted = replace(recipe, name="audit", per_action=per_action, seed=seed)
    return make_family_suite(wanted, actions=tuple(actions), progress=progress)


def audit_suite(
    suite: Suite,
    *,
    kinds: Sequence[AnswerKind] | None = None,
    schemes: Mapping[str, Scheme] = SCHEMES,
    seed: int = 0,
    workers: int = 1,
    paper_per_action: int = 5,
    progress: Notify | None = None,
) -> Audit:
    """Answer every task in every way, verify, and pay by every scheme.

    Args:
        suite: at least two tasks of each kind.
        kinds: of answers; all that there are for the family when None.
        schemes: functions of verdict and baseline by name; one called ``paper`` is computed for the first
            `paper_per_action` tasks of each edit only, because its verdict may take seconds.
        seed: of the random parts of the answers.
        workers: processes that verify; 0 verifies in this process, where nothing slow is killed.
    """
    kinds = KINDS[suite.family] if kinds is None else kinds
    tallies: dict[tuple[str, str, str], Tally] = {}
    quick = {name: scheme for name, scheme in schemes.items() if name != "paper"}
    slow = {name: scheme for name, scheme in schemes.items() if name == "paper"}
    counts, seconds = [0, 0], [0.0, 0.0]
    wanted = number_of_answers(suite, kinds=kinds, schemes=schemes, paper_per_action=paper_per_action)
    done = 0
    for part, (chosen, profile, limit) in enumerate(((quick, "strict", None), (slow, "paper", paper_per_action))):
        if not chosen:
            continue
        started = perf_counter()
        verify_all = verdicts_on_edits if suite.family == "edits" else verdicts_on_tasks
        items = _items(suite, kinds, limit, seed, tallies, tuple(chosen))
        for item, verdict in verify_all(items, profile, workers):
            for name, scheme in chosen.items():
                key = (item.kind.name, item.task.action, name)
                _count(tallies.setdefault(key, Tally()), item, verdict, scheme)
            counts[part] += 1
            done += 1
            if progress is not None and done % 20 == 0:
                progress(done, wanted)
        seconds[part] = perf_counter() - started
    if progress is not None:
        progress(wanted, wanted)
    return Audit(suite, tuple(kinds), tuple(schemes), tallies, seconds[0], seconds[1], counts[0], counts[1])


def _questions(
    suite: Suite, kinds: Sequence[AnswerKind], per_action: int | None
) -> Iterator[tuple[Task, Task, AnswerKind]]:
    """Task, a task of the same edit on another structure, and kind: all kinds of one task in a row."""
    of_edit = {action: [task for task in suite.tasks if task.action == action] for action in suite.actions}
    shown = FAMILIES[suite.family].crystal_in != "target"

    def source(task: Task) -> str:
        return task.structure if shown else task.target

    for action, tasks in of_edit.items():
        if len({source(task) for task in tasks}) < 2:
            raise UsageError(f"{action} needs tasks on two structures, suite {suite.name} has {len(tasks)} on one")
    seen: Counter[str] = Counter()
    for task in suite.tasks:
        place, tasks = seen[task.action], of_edit[task.action]
        seen[task.action] += 1
        if per_action is not None and place >= per_action:
            continue
        others = (tasks[(place + step) % len(tasks)] for step in range(1, len(tasks)))
        other = next(each for each in others if source(each) != source(task))
        for kind in kinds:
            asked = kind.actions is None or task.action in kind.actions
            if asked and (kind.most_per_action is None or place < kind.most_per_action):
                yield task, other, kind


def number_of_answers(
    suite: Suite,
    *,
    kinds: Sequence[AnswerKind] | None = None,
    schemes: Mapping[str, Scheme] = SCHEMES,
    paper_per_action: int = 5,
) -> int:
    """How many answers an audit is about, those that symmetry makes right included."""
    kinds = KINDS[suite.family] if kinds is None else kinds
    limits: list[int | None] = [None] if any(name != "paper" for name in schemes) else []
    limits += [paper_per_action] if "paper" in schemes else []
    return sum(1 for limit in limits for _ in _questions(suite, kinds, limit))


def _items(
    suite: Suite,
    kinds: Sequence[AnswerKind],
    per_action: int | None,
    seed: int,
    tallies: dict[tuple[str, str, str], Tally],
    schemes: tuple[str, ...],
) -> Iterator[Item]:
    for task, other, kind in _questions(suite, kinds, per_action):
        text, right = kind.answer(task, other, seed)
        if not right:
            yield Item(task, kind, text)
            continue
        for scheme in schemes:
            tallies.setdefault((kind.name, task.action, scheme), Tally()).left_out += 1


def _count(tally: Tally, item: Item, verdict: Verdict, scheme: Scheme) -> None:
    earned = min(1.0, sum(scheme(verdict, item.task.baseline).values()))
    tally.answers += 1
    tally.total += earned
    tally.squares += earned**2
    tally.highest = max(tally.highest, earned)
    tally.successes += verdict.stage is Stage.CORRECT or earned >= 1.0
    tally.undecided += verdict.stage in UNDECIDED
    tally.changing += item.task.baseline.composition_difference > 0
