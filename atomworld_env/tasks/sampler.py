"""Well-posed tasks from a structure pool, the same bytes for the same seed in any process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from itertools import islice

import numpy as np

from atomworld_env.actions import Action
from atomworld_env.actions.action import Params, RejectedDraw
from atomworld_env.errors import UsageError
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.contacts import HEAVIEST_WITH_RADIUS, smallest_contact_ratio
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal
from atomworld_env.structures.pool import EMBEDDED_POOL, PoolEntry, StructurePool, load_pool
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.difficulty import difficulty
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.sampling_counts import SamplingCounts
from atomworld_env.tasks.task import Task
from rewards import Arrangement, Baseline, compare_strict

GENERATOR_VERSION = "1"
"""Moves when the same seed gives other tasks."""

STRUCTURES_BEFORE_ANOTHER_EDIT = 40
"""Structures tried for an edit that was drawn, not asked for, before another one is drawn: some pools and difficulty
ranges do not admit every edit, and a training run must not end for that."""

DISCRIMINATING_DISPLACEMENT = 0.3
"""Å. An unchanged input must be at least this far from the target where the composition does not tell them apart."""


class TaskSampler:
    """Draws tasks from one configuration.

    Attributes:
        config: what is drawn from.
        pool: the structures.
        counts: draws accepted and rejected so far, and structures that gave no task.
        families: the structures drawn from, by family.
    """

    def __init__(self, config: SamplerConfig | None = None, *, pool: StructurePool | None = None) -> None:
        self.config = SamplerConfig() if config is None else config
        self.pool = load_pool(self.config.pool) if pool is None else pool
        self.counts = SamplingCounts()
        self.families: dict[str, list[PoolEntry]] = {}
        for entry in self.pool.entries(self.config.split, self.config.min_sites, self.config.max_sites):
            self.families.setdefault(entry.family, []).append(entry)
        if not self.families:
            raise UsageError(
                f"pool {self.pool.name!r} has no structure of {self.config.min_sites} to {self.config.max_sites} sites "
                f"in split {self.config.split!r}; widen the site range or choose another split"
            )
        self._family_names = sorted(self.families)
        self._elements = drawable_elements(self.pool)

    @property
    def version(self) -> str:
        """Generator version and pool version; equal versions and seeds give equal tasks."""
        # The name of a user's pool is a path of his machine, which is nobody's business in a record.
        kind = self.pool.name if self.pool.name == EMBEDDED_POOL else "cifs"
        return f"{GENERATOR_VERSION}+{kind}.{self.pool.version}"

    def sample(self, seed: int, action: str | None = None) -> Task:
        """The task of a seed: a family is drawn evenly, then one of its structures, then the edit's parameters.

        Args:
            action: name of the edit. When not given it is drawn evenly from the configured ones, and another one if no
                structure tried admits it.

        Raises:
            UsageError: if the action is not known, or no structure tried admits it (without an action: any of them).
        """
        if action is not None and action not in self.config.edits:
            raise UsageError(f"unknown action {action!r}; choose from {', '.join(self.config.edits)}")
        if seed < 0:
            raise UsageError(f"a seed must be 0 or larger, got {seed}")
        split = -1 if self.config.split is None else SPLITS.index(self.config.split)
        rng = np.random.default_rng(np.random.SeedSequence([seed, split + 1]))
        if action is not None:
            task = self._on_some_structure(action, rng, self.config.max_structures)
            if task is not None:
                return task
            raise UsageError(self._refusal((action,)))
        left = list(self.config.actions)
        while left:
            name = left.pop(int(rng.integers(len(left))))
            task = self._on_some_structure(name, rng, min(STRUCTURES_BEFORE_ANOTHER_EDIT, self.config.max_structures))
            if task is not None:
                return task
        raise UsageError(self._refusal(self.config.actions))

    def _on_some_structure(self, action: str, rng: np.random.Generator, most: int) -> Task | None:
        for _ in range(most):
            members = self.families[self._family_names[rng.integers(len(self._family_names))]]
            entry = members[rng.integers(len(members))]
            task = self.edit(entry, action, int(rng.integers(2**53)))
            if task is not None:
                return task
        return None

    def _refusal(self, actions: Sequence[str]) -> str:
        reasons = ", ".join(
            f"{reason} ({count})"
            for counter in (self.counts.unsuitable, self.counts.rejected)
            for (of, reason), count in counter.most_common()
            if of in actions
        )
        return (
            f"pool {self.pool.name!r} gave no well-posed task of {', '.join(actions)}: {reasons}; widen the site "
            "range, the difficulty or the parameter ranges"
        )

    def edit(self, entry: PoolEntry, action: str, seed: int, *, suite: str = "") -> Task | None:
        """A task on one given structure, or None if no draw on it is well posed."""
        edit = self.config.edits[action]
        crystal = entry.crystal
        if self.config.decimals < 4:
            crystal = Crystal.printed(crystal.cell, crystal.species, crystal.frac, self.config.decimals)
        reason = edit.unsuitable(crystal)
        if reason is not None:
            self.counts.unsuitable[action, reason] += 1
            return None
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        for params in islice(edit.proposals(crystal, rng, self._elements), self.config.max_draws):
            try:
                target, baseline, hardness = self._checked(edit, crystal, params)
            except RejectedDraw as rejected:
                self.counts.rejected[action, rejected.reason] += 1
                continue
            self.counts.accepted[action] += 1
            structure = write_cif(crystal, style=self.config.cif_style, decimals=self.config.decimals)
            return Task(
                task_id=f"{action}-{_digest(structure, action, params, self.version)}",
                action=action,
                params=params,
                prompt=edit.instruction(params),
                structure=structure,
                target=write_cif(target, style="full", decimals=TARGET_DECIMALS),
                structure_id=entry.structure_id,
                n_sites=len(crystal),
                difficulty=hardness,
                seed=seed,
                suite=suite,
                split=entry.split,
                version=self.version,
                baseline=baseline,
            )
        self.counts.unsuitable[action, f"no well-posed draw in {self.config.max_draws}"] += 1
        return None

    def _checked(self, edit: Action, crystal: Crystal, params: Params) -> tuple[Crystal, Baseline, dict[str, float]]:
        edit.check(crystal, params)
        target = edit.apply(crystal, params)
        hardness = difficulty(edit, crystal, params, target)
        low, high = self.config.difficulty
        if not low <= hardness["score"] <= high:
            raise RejectedDraw("outside the difficulty asked for")
        if self.config.contact_factor > 0:
            touched = edit.touched(crystal, params)
            if touched and smallest_contact_ratio(target, touched)[0] < self.config.contact_factor:
                raise RejectedDraw("two atoms would be too close")
        unchanged = compare_strict(_arrangement(crystal), _arrangement(target))
        if unchanged.stage == "correct":
            raise RejectedDraw("the unchanged input would be right")
        displacement = unchanged.max_displacement
        if unchanged.composition_difference == 0 and (
            displacement is None or displacement < DISCRIMINATING_DISPLACEMENT
        ):
            raise RejectedDraw("the unchanged input would be almost right")
        # Rounded, because the last bits differ from one processor to the next and the record's bytes must not.
        baseline = Baseline(
            stage=unchanged.stage,
            max_displacement=_rounded(displacement),
            sum_displacement=_rounded(unchanged.sum_displacement),
            composition_difference=unchanged.composition_difference,
        )
        return target, baseline, hardness


def drawable_elements(pool: StructurePool) -> Sequence[str]:
    """Elements of the pool that an added or changed atom may become: those with a tabulated covalent radius."""
    from ase.data import atomic_numbers

    return [symbol for symbol in pool.elements if atomic_numbers[symbol] <= HEAVIEST_WITH_RADIUS]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, TARGET_DECIMALS)


def _arrangement(crystal: Crystal) -> Arrangement:
    return Arrangement(cell=crystal.cell, species=crystal.species, frac=crystal.frac)


def _digest(structure: str, action: str, params: Params, version: str) -> str:
    content = json.dumps([structure, action, params, version], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@cache
def _default_sampler(split: str) -> TaskSampler:
    return TaskSampler(SamplerConfig(split=split))


def sample_task(action: str | None = None, *, seed: int, split: str = "train") -> Task:
    """One task of the embedded pool, 10–100 sites, with the default ranges.

    The same seed gives the same task on any machine.

    >>> sample_task("move", seed=7).action
    'move'
    """
    return _default_sampler(split).sample(seed, action)
