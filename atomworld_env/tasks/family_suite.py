"""Named suites of the families beside the edits: so many different tasks of each kind, from one split."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import FAMILIES, FamilyEntry
from atomworld_env.tasks.suite import Progress, Suite
from atomworld_env.tasks.task import Task

DRAWS_PER_TASK = 50
"""Draws for each task wanted, before it is said that there are no more different ones."""


@dataclass(frozen=True)
class FamilyRecipe:
    """How such a suite is made.

    Attributes:
        name: of the suite.
        family: a key of :data:`~atomworld_env.families.registry.FAMILIES`.
        per_action: tasks of each kind.
        seed: root of all its random numbers.
        split: of the structures or prototypes.
    """

    name: str
    family: str
    per_action: int
    seed: int = 0
    split: str = "test"


FAMILY_RECIPES = {
    entry.suite: FamilyRecipe(entry.suite, entry.name, entry.per_action)
    for entry in FAMILIES.values()
    if entry.suite is not None
}
"""The named suite of each family that has one."""


def make_family_suite(
    recipe: FamilyRecipe, *, actions: Collection[str] | None = None, progress: Progress | None = None
) -> Suite:
    """Make a suite; the same recipe gives the same tasks on every machine.

    Args:
        actions: kinds of task, all of the family when None; the tasks of a kind do not depend on the others.

    Raises:
        UsageError: if there are not so many different tasks of a kind.
    """
    entry = FAMILIES[recipe.family]
    wanted = [action for action in entry.actions if actions is None or action in actions]
    if entry.stored is not None:
        return Suite(recipe.name, _first_stored(entry, recipe, wanted))
    columns = [_column(entry, recipe, action, entry.actions.index(action), progress) for action in wanted]
    return Suite(recipe.name, tuple(task for row in zip(*columns, strict=True) for task in row))


def _first_stored(entry: FamilyEntry, recipe: FamilyRecipe, actions: Sequence[str]) -> tuple[Task, ...]:
    """The first stored tasks of each kind in turn; a kind with fewer ends sooner."""
    tasks = entry.load("stored")(recipe.split, recipe.name)
    columns = [tasks[action][: recipe.per_action] for action in actions]
    found = tuple(task for row in zip_longest(*columns) for task in row if task is not None)
    if not found:
        raise UsageError(f"no task of the split {recipe.split} is stored; choose another split")
    return found


def _column(
    entry: FamilyEntry, recipe: FamilyRecipe, action: str, number: int, progress: Progress | None
) -> list[Task]:
    family = entry.load("make")(recipe.split)
    found: dict[str, Task] = {}
    for draw in range(DRAWS_PER_TASK * recipe.per_action):
        words = np.random.SeedSequence([recipe.seed, number, draw]).generate_state(1, np.uint64)
        task: Task = family.sample(int(words[0] >> np.uint64(11)), action, suite=recipe.name)
        if task.task_id in found:
            continue
        found[task.task_id] = task
        if progress is not None:
            progress(action, len(found), recipe.per_action)
        if len(found) == recipe.per_action:
            return list(found.values())
    raise UsageError(
        f"only {len(found)} different tasks of the kind {action} came of {DRAWS_PER_TASK * recipe.per_action} draws, "
        f"{recipe.per_action} were asked for; ask for fewer with --per-action"
    )


def family_suite_card(suite: Suite) -> str:
    """The card as Markdown: what the suite holds, and one task of each kind in words."""
    summary = suite.summary()
    lines = [
        f"# Suite {suite.name}",
        "",
        f"{len(suite.tasks)} tasks for {FAMILIES[suite.family].env_id}, fingerprint `{suite.fingerprint}`, version "
        f"`{summary['version']}`.",
        "",
        "| kind | tasks | sites, mean | the first instruction |",
        "|---|---|---|---|",
    ]
    for action in suite.actions:
        tasks = [task for task in suite.tasks if task.action == action]
        sites = float(np.mean([task.n_sites for task in tasks]))
        words = " ".join(tasks[0].prompt.split())
        shown = words if len(words) <= 160 else words[:157] + "…"
        lines.append(f"| `{action}` | {len(tasks)} | {sites:.1f} | {shown.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"
