"""Fixed sets of tasks with a fingerprint: made, written, loaded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import family_of
from atomworld_env.structures.pool import PoolEntry, StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.sampling_counts import SamplingCounts
from atomworld_env.tasks.task import Task, dump_line, read_jsonl, read_parquet, write_jsonl, write_parquet

Progress = Callable[[str, int, int], None]
"""Called with the edit's name, how many of its tasks are made and how many are wanted."""


@dataclass(frozen=True)
class Suite:
    """An ordered set of tasks.

    Attributes:
        name: of the suite, or the file it was read from.
        tasks: interleaved by edit, so that the first ten tasks are one of each.
        counts: what became of the draws while it was made; None for a suite that was read.
    """

    name: str
    tasks: tuple[Task, ...]
    counts: SamplingCounts | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the JSON lines of the tasks, first 16 hex digits."""
        digest = hashlib.sha256()
        for task in self.tasks:
            digest.update(dump_line(task).encode() + b"\n")
        return digest.hexdigest()[:16]

    @property
    def actions(self) -> tuple[str, ...]:
        """The edits that occur, in order of first appearance."""
        return tuple(dict.fromkeys(task.action for task in self.tasks))

    @property
    def family(self) -> str:
        """Name of the family that the tasks are of.

        Raises:
            UsageError: if they are of several, or there is none.
        """
        found = sorted({family_of(action).name for action in self.actions})
        if len(found) != 1:
            raise UsageError(f"suite {self.name} holds tasks of {' and '.join(found) or 'no family'}; one is needed")
        return found[0]

    def by_id(self, task_id: str) -> Task:
        """The task with this id.

        Raises:
            UsageError: if the suite has no such task.
        """
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise UsageError(f"suite {self.name} has no task {task_id!r}")

    def restricted(self, actions: Sequence[str] | None = None, per_action: int | None = None) -> Suite:
        """The tasks of some edits only, and at most `per_action` of each.

        Raises:
            UsageError: if an edit does not occur in the suite.
        """
        wanted = self.actions if actions is None else tuple(actions)
        for action in wanted:
            if action not in self.actions:
                raise UsageError(f"suite {self.name} has no {action} task; it has {', '.join(self.actions)}")
        seen: Counter[str] = Counter()
        kept = []
        for task in self.tasks:
            if task.action in wanted and (per_action is None or seen[task.action] < per_action):
                seen[task.action] += 1
                kept.append(task)
        return replace(self, tasks=tuple(kept))

    def summary(self) -> dict[str, Any]:
        """Name, fingerprint, version, tasks of each edit, and what became of the draws."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "version": self.tasks[0].version if self.tasks else "",
            "tasks": dict(Counter(task.action for task in self.tasks)),
            "draws": None if self.counts is None else self.counts.to_json(),
        }

    def write(self, folder: Path) -> None:
        """Write ``tasks.jsonl``, ``tasks.parquet`` and ``suite.json`` (:meth:`summary`) into a folder.

        Each file is replaced in one go, so that a stop in the middle leaves whole files.
        """
        folder.mkdir(parents=True, exist_ok=True)
        refuse_another_suite(folder, self.fingerprint)
        summary = json.dumps(self.summary(), indent=2) + "\n"
        writers: dict[str, Callable[[Path], object]] = {
            "tasks.jsonl": lambda path: write_jsonl(self.tasks, path),
            "tasks.parquet": lambda path: write_parquet(self.tasks, path),
            "suite.json": lambda path: path.write_text(summary, encoding="utf-8"),
        }
        for name, write_file in writers.items():
            partial = folder / f"{name}.partial"
            write_file(partial)
            partial.replace(folder / name)


@dataclass(frozen=True)
class SuiteRecipe:
    """How a named suite is made.

    Attributes:
        name: of the suite.
        config: what its tasks are drawn from.
        per_action: tasks of each edit.
        seed: root of all its random numbers.
    """

    name: str
    config: SamplerConfig
    per_action: int
    seed: int


RECIPES = {
    "atommotor": SuiteRecipe("atommotor", SamplerConfig(split="test"), per_action=250, seed=0),
}
"""AtomMotor-2K: ten edits x 250 tasks on structures of 10-100 sites, all from the test split."""


def refuse_another_suite(folder: Path, fingerprint: str) -> None:
    """Keep a suite that is there from being written over by another one.

    Raises:
        UsageError: if the folder holds a suite with another fingerprint.
    """
    try:
        stored = json.loads((folder / "suite.json").read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if stored != fingerprint:
        raise UsageError(f"{folder} holds another suite (fingerprint {stored}); delete it or choose another --out")


def make_suite(recipe: SuiteRecipe, *, pool: StructurePool | None = None, progress: Progress | None = None) -> Suite:
    """Make a suite: each edit on `per_action` structures, no two of one family, composition and number of sites.

    Families take turns, so that every edit is spread over as many of them as admit it.

    Args:
        pool: the configured pool, where it has been read already.

    Raises:
        UsageError: if the pool has too few structures for an edit.
    """
    sampler = TaskSampler(recipe.config, pool=pool)
    columns = [
        list(_tasks_of_one_edit(sampler, recipe, action, number, progress))
        for number, action in enumerate(recipe.config.actions)
    ]
    tasks = tuple(task for row in zip(*columns, strict=True) for task in row)
    return Suite(recipe.name, tasks, sampler.counts)


def _tasks_of_one_edit(
    sampler: TaskSampler, recipe: SuiteRecipe, action: str, number: int, progress: Progress | None
) -> Iterator[Task]:
    rng = np.random.default_rng(np.random.SeedSequence([recipe.seed, number]))
    made = 0
    for entry in _families_in_turn(sampler, rng):
        if made == recipe.per_action:
            return
        task = sampler.edit(entry, action, int(rng.integers(2**53)), suite=recipe.name)
        if task is not None:
            made += 1
            if progress is not None:
                progress(action, made, recipe.per_action)
            yield task
    if made < recipe.per_action:
        raise UsageError(
            f"only {made} different structures of the pool admit {action}, {recipe.per_action} were asked for; "
            "ask for fewer per action or widen the pool or the site range"
        )


def _families_in_turn(sampler: TaskSampler, rng: np.random.Generator) -> Iterator[PoolEntry]:
    """Every distinct structure once: one of each family in random order, then a second of each, and so on."""
    queues = []
    for members in sampler.families.values():
        shuffled = [members[k] for k in rng.permutation(len(members))]
        distinct = {(entry.n_sites, tuple(sorted(entry.crystal.composition.items()))): entry for entry in shuffled}
        queues.append(list(distinct.values()))
    while queues:
        for k in rng.permutation(len(queues)):
            yield queues[k].pop()
        queues = [queue for queue in queues if queue]


def load_suite(name_or_path: str | Path, *, progress: Progress | None = None) -> Suite:
    """A named suite (made on the spot, the same bytes everywhere) or one in a file or folder.

    Args:
        name_or_path: a name of :data:`RECIPES` or of another family's suite, a ``.jsonl`` or ``.parquet`` file, or a
            folder with ``tasks.jsonl``.

    Raises:
        UsageError: if there is no such suite or a line of the file is broken.
    """
    from atomworld_env.tasks.family_suite import FAMILY_RECIPES, make_family_suite  # imports this module

    name = str(name_or_path)
    if name in RECIPES:
        return make_suite(RECIPES[name], progress=progress)
    if name in FAMILY_RECIPES:
        return make_family_suite(FAMILY_RECIPES[name], progress=progress)
    path = Path(name_or_path)
    if path.is_dir():
        path = path / "tasks.jsonl"
    if not path.is_file():
        raise UsageError(
            f"no suite {name!r}: it is neither one of {', '.join([*RECIPES, *FAMILY_RECIPES])} nor a file of tasks "
            "(competence and competence-lengths are for `atomworld evaluate` with a local model); make one with "
            "`atomworld generate`"
        )
    tasks = tuple((read_parquet if path.suffix == ".parquet" else read_jsonl)(path))
    if not tasks:
        raise UsageError(f"{path} holds no task; make it anew with `atomworld generate`")
    _refuse_repeated_ids(path, tasks)
    return Suite(tasks[0].suite or str(path), tasks)


def _refuse_repeated_ids(path: Path, tasks: Iterable[Task]) -> None:
    seen: set[str] = set()
    for number, task in enumerate(tasks, start=1):
        if task.task_id in seen:
            raise UsageError(f"{path}, task {number}: task_id {task.task_id!r} occurs twice; delete one of the two")
        seen.add(task.task_id)
