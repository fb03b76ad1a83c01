"""The card of a suite: what was drawn, what was accepted, and how acceptance shifts the parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from atomworld_env.actions import Action
from atomworld_env.actions.action import Params
from atomworld_env.structures.contacts import covalent_radius
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.images import nearest_image
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler, drawable_elements
from atomworld_env.tasks.suite import Suite, SuiteRecipe
from atomworld_env.tasks.task import Task

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Measure = Callable[[Crystal, Params], float]

MEASURES: dict[str, dict[str, Measure]] = {
    "change": {"covalent radius of X, Å": lambda crystal, params: covalent_radius(params["element"])},
    "add": {"covalent radius of X, Å": lambda crystal, params: covalent_radius(params["element"])},
    "insert_between": {
        "covalent radius of X, Å": lambda crystal, params: covalent_radius(params["element"]),
        "d / distance of the sites": lambda crystal, params: (
            params["distance"] / nearest_image(crystal, params["index"], params["towards"]).distance
        ),
        "d, Å": lambda crystal, params: params["distance"],
    },
    "swap": {
        "distance of the sites, Å": lambda crystal, params: (
            nearest_image(crystal, params["index"], params["other"]).distance
        )
    },
    "delete_below": {
        "fractional z of the site": lambda crystal, params: float(crystal.frac[params["index"], 2]),
        "sites level with it deleted too": lambda crystal, params: float(params["include_level"]),
    },
    "move": {"length of the vector, Å": lambda crystal, params: float(np.linalg.norm(params["displacement"]))},
    "move_towards": {"d, Å": lambda crystal, params: params["distance"]},
    "rotate_around": {
        "r, Å": lambda crystal, params: params["radius"],
        "angle, degrees": lambda crystal, params: float(params["angle"]),
    },
    "super_cell": {"na · nb · nc": lambda crystal, params: float(np.prod(params["factors"]))},
}
"""The numbers of each edit that acceptance may shift."""


def suite_card(suite: Suite, recipe: SuiteRecipe, pool: StructurePool | None = None) -> str:
    """The card as Markdown: spread, acceptance, reasons for refusal, and parameters as drawn and as accepted."""
    sampler = TaskSampler(recipe.config, pool=pool)
    config = recipe.config
    lines = [
        f"# Suite {suite.name}",
        "",
        f"{len(suite.tasks)} tasks, {recipe.per_action} for each of {len(config.actions)} edits; fingerprint "
        f"`{suite.fingerprint}`, version `{sampler.version}`, seed {recipe.seed}. Structures of {config.min_sites} to "
        f"{config.max_sites} sites of pool {config.pool}, split {config.split or 'all'}.",
        *(f"Left out of the pool: {count} files, {reason}." for reason, count in sampler.pool.skipped.most_common()),
        "",
        "## Spread",
        "",
        *_table(
            [
                "edit",
                "families",
                "structures",
                "orthogonal cells",
                "sites, median",
                "sites, most",
                "levels 1–5",
            ],
            (_spread(sampler, [task for task in suite.tasks if task.action == action]) for action in config.actions),
        ),
        "",
        "## Acceptance",
        "",
        "A draw is refused when the task would not be well posed. A structure is given up when it cannot have the "
        f"edit, or after {config.max_draws} refused draws.",
        "",
        *_table(
            ["edit", "draws accepted", "structures given up", "reasons for refusal (draws)"],
            _acceptance(suite),
        ),
        "",
        "## Parameters as drawn and as accepted",
        "",
        "Quantiles. *Drawn*: one unchecked draw on each structure of the suite; *accepted*: the tasks.",
        "",
        *_table(
            ["edit", "parameter", "", *(f"{100 * quantile:.0f} %" for quantile in QUANTILES)],
            _shifts(suite, recipe, sampler),
        ),
        "",
    ]
    return "\n".join(lines)


def _spread(sampler: TaskSampler, tasks: Sequence[Task]) -> list[str]:
    families = {sampler.pool.entry(task.structure_id).family for task in tasks}
    sites = [task.n_sites for task in tasks]
    levels = Counter(int(task.difficulty["level"]) for task in tasks)
    orthogonal = sum(task.crystal.is_orthogonal for task in tasks) / len(tasks)
    return [
        tasks[0].action,
        str(len(families)),
        str(len({task.structure_id for task in tasks})),
        f"{100 * orthogonal:.0f} %",
        f"{np.median(sites):.0f}",
        str(max(sites)),
        " / ".join(str(levels[level]) for level in range(1, 6)),
    ]


def _acceptance(suite: Suite) -> Iterable[list[str]]:
    if suite.counts is None:
        return
    for action, counts in suite.counts.to_json().items():
        rejected, unsuitable = dict(counts["rejected"]), dict(counts["unsuitable"])  # type: ignore[call-overload]
        accepted = suite.counts.accepted[action]
        drawn = accepted + sum(rejected.values())
        given_up = sum(unsuitable.values())
        yield [
            action,
            f"{100 * accepted / drawn:.0f} % of {drawn}",
            f"{given_up} of {given_up + accepted}",
            "; ".join(f"{reason}: {count}" for reason, count in rejected.items()) or "none",
        ]


def _shifts(suite: Suite, recipe: SuiteRecipe, sampler: TaskSampler) -> Iterable[list[str]]:
    elements = drawable_elements(sampler.pool)
    rng = np.random.default_rng(np.random.SeedSequence([recipe.seed, len(suite.tasks)]))
    for action in recipe.config.actions:
        tasks = [task for task in suite.tasks if task.action == action]
        edit: Action = recipe.config.edits[action]
        drawn = [next(edit.proposals(task.crystal, rng, elements)) for task in tasks]
        for name, measure in MEASURES.get(action, {}).items():
            before = [measure(task.crystal, params) for task, params in zip(tasks, drawn, strict=True)]
            after = [measure(task.crystal, task.params) for task in tasks]
            for kind, values in (("drawn", before), ("accepted", after)):
                yield [
                    action,
                    name,
                    kind,
                    *(f"{np.quantile(values, quantile):.2f}" for quantile in QUANTILES),
                ]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
