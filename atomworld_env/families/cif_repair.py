"""CIF-Repair: mend a damaged CIF so that it describes the original crystal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.action_names import REPAIRS
from atomworld_env.families.cif_repair_fault import Damage
from atomworld_env.families.cif_repair_faults import FAULTS
from atomworld_env.families.cif_repair_posing import instruction, lost_values, unchanged_verdict
from atomworld_env.families.cif_repair_text import CifText, NoPlaceError
from atomworld_env.families.edits import prepared
from atomworld_env.prompts.prompt import Message, PromptTemplate, load_template
from atomworld_env.structures.cif import CifStyle, write_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS
from atomworld_env.structures.pool import EMBEDDED_POOL, PoolEntry, StructurePool, load_pool
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.difficulty import LEVELS, MOST_SITES
from atomworld_env.tasks.sampler_config import ALL_SPLITS
from atomworld_env.tasks.task import Task
from rewards import Baseline, Verdict
from rewards.placeholders import verify_with_placeholders
from rewards.strict import DEFAULT_TOLERANCE

GENERATOR_VERSION = "cif-repair-1"
"""Moves when the same seed gives other tasks."""

PREFIX = "repair_"
STREAM = 0x6372
"""Keeps the random numbers of this family apart from those of others with the same seed."""

SHARE_COMPACT = 0.25
"""Of the files that may be in the style ``compact``."""

_MOST_STRUCTURES = 400
_DRAWS = 4  # on one structure


class CifRepair:
    """Damaged CIFs of any crystal of a pool.

    Args:
        actions: kinds of task, ``repair_`` and a key of :data:`FAULTS`; all when None.
        split: train, validation, test, or ``all``; a pool is split by prototype.
        pool: name of a pool or a pool already loaded.
        min_sites, max_sites: bounds on the sites of a crystal.
        faults: damages in one file. Those beside the first take nothing away, so that all remains derivable.
        template: the prompt.
        tolerance: of the strict profile, in Å.
        strict_tags: accept the CIF only as the published protocol does.
        engine: of the verification, see :func:`rewards.verify`.

    Raises:
        UsageError: for what does not exist.
    """

    name = "cif_repair"

    def __init__(
        self,
        *,
        actions: tuple[str, ...] | None = None,
        split: str = "train",
        pool: str | StructurePool = EMBEDDED_POOL,
        min_sites: int = 4,
        max_sites: int = 40,
        faults: int = 1,
        template: PromptTemplate | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        strict_tags: bool = False,
        engine: str = "fast",
    ) -> None:
        self.actions = REPAIRS if actions is None else actions
        unknown = [name for name in self.actions if name not in REPAIRS]
        if unknown or not self.actions:
            named = f"unknown action {unknown[0]!r}" if unknown else "no action is given"
            raise UsageError(f"{named}; choose from {', '.join(REPAIRS)}")
        if split not in (*SPLITS, ALL_SPLITS):
            raise UsageError(f"unknown split {split!r}; choose from {', '.join(SPLITS)}, {ALL_SPLITS}")
        if not 1 <= min_sites <= max_sites:
            raise UsageError(f"need 1 <= min_sites <= max_sites, got {min_sites} and {max_sites}")
        if not 1 <= faults <= 4:
            raise UsageError(f"a file has 1 to 4 faults, got {faults}")
        self.split = split
        self.faults = faults
        self.template = load_template("default", default="cif_repair") if template is None else template
        self.tolerance = tolerance
        self.strict_tags = strict_tags
        self.engine = engine
        self._pool = pool
        self._sites = (min_sites, max_sites)
        self._families: list[list[PoolEntry]] = []

    @property
    def pool(self) -> StructurePool:
        """The structures, read when they are first asked for."""
        if isinstance(self._pool, str):
            self._pool = load_pool(self._pool)
        return self._pool

    @property
    def version(self) -> str:
        """Generator version and pool version; equal versions and seeds give equal tasks."""
        kind = self.pool.name if self.pool.name == EMBEDDED_POOL else "cifs"
        return f"{GENERATOR_VERSION}+{kind}.{self.pool.version}"

    def sample(self, seed: int, action: str | None = None, *, suite: str = "") -> Task:
        """The task of a seed: a kind of fault, a family of structures, one of these, then the fault's form.

        Raises:
            UsageError: for an action that does not exist, a negative seed, or if no structure tried admits the fault.
        """
        if seed < 0:
            raise UsageError(f"a seed must be 0 or larger, got {seed}")
        if action is not None and action not in self.actions:
            raise UsageError(f"unknown action {action!r}; choose from {', '.join(self.actions)}")
        split = -1 if self.split == ALL_SPLITS else SPLITS.index(self.split)
        rng = np.random.default_rng(np.random.SeedSequence([seed, split + 1, STREAM]))
        drawn = self.actions[int(rng.integers(len(self.actions)))]
        name = (drawn if action is None else action).removeprefix(PREFIX)
        families = self._by_family()
        for _ in range(_MOST_STRUCTURES):
            members = families[int(rng.integers(len(families)))]
            entry = members[int(rng.integers(len(members)))]
            for _ in range(_DRAWS):
                task = self._draw(entry, name, rng, seed, suite)
                if task is not None:
                    return task
        raise UsageError(f"no structure of {self.pool.name!r} gave a well-posed {PREFIX}{name}; widen the site range")

    def _by_family(self) -> list[list[PoolEntry]]:
        if not self._families:
            split = None if self.split == ALL_SPLITS else self.split
            found: dict[str, list[PoolEntry]] = {}
            for entry in self.pool.entries(split, *self._sites):
                found.setdefault(entry.family, []).append(entry)
            if not found:
                low, high = self._sites
                raise UsageError(f"pool {self.pool.name!r} has no structure of {low} to {high} sites; widen the range")
            self._families = [found[name] for name in sorted(found)]
        return self._families

    def _draw(self, entry: PoolEntry, name: str, rng: np.random.Generator, seed: int, suite: str) -> Task | None:
        fault = FAULTS[name]
        compact = bool(rng.random() < SHARE_COMPACT) and not fault.full_only
        style: CifStyle = "compact" if compact else "full"
        names = [name]
        try:
            damage = fault.apply(CifText.of(write_cif(entry.crystal, style=style)), rng)
            variants = [damage.variant]
            while len(names) < self.faults:
                others = [each for each in FAULTS if not FAULTS[each].loses and each not in names]
                names.append(others[int(rng.integers(len(others)))])
                further = FAULTS[names[-1]].apply(damage.damaged, rng)
                damage = Damage(damage.original, further.damaged, damage.variant, damage.lost)
                variants.append(further.variant)
            # A file that is cut off has no line end either.
            damaged = str(damage.damaged).rstrip() if name.startswith("cut") else str(damage.damaged)
            unchanged = unchanged_verdict(str(damage.original), damaged, damage.lost)
        except (NoPlaceError, ValueError, IndexError):
            return None  # one fault has taken away what the next one needs
        if unchanged is None:
            return None
        params: dict[str, Any] = {
            "faults": names,
            "variants": variants,
            "style": style,
            "derivable": not damage.lost,
            "lost": [[value.tag, value.label, value.value] for value in damage.lost],
        }
        action = f"{PREFIX}{name}"
        digest = hashlib.sha256(json.dumps([damaged, action, params, self.version], sort_keys=True).encode())
        return Task(
            task_id=f"{action}-{digest.hexdigest()[:12]}",
            action=action,
            params=params,
            prompt=instruction(params),
            structure=damaged,
            target=str(damage.original),
            structure_id=entry.structure_id,
            n_sites=entry.n_sites,
            difficulty=_difficulty(names, entry.n_sites),
            seed=seed,
            suite=suite,
            split=entry.split,
            version=self.version,
            baseline=_baseline(unchanged),
        )

    def prompt(self, task: Task) -> str:
        return self.template.render(task.structure, task.prompt)

    def messages(self, task: Task) -> list[Message]:
        return self.template.messages(task.structure, task.prompt)

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        return verify_with_placeholders(
            answer,
            prepared(task.target, self.engine),
            lost_values(task.params),
            strict_tags=self.strict_tags,
            tolerance=self.tolerance,
            engine=self.engine,
        )


def repair_of_split(split: str) -> CifRepair:
    """The family with its defaults, sampling from one split."""
    return CifRepair(split=split)


def _baseline(unchanged: Verdict) -> Baseline:
    # Rounded, because the last bits differ from one processor to the next and the record's bytes must not.
    largest, total = (
        None if value is None else round(value, TARGET_DECIMALS)
        for value in (unchanged.max_displacement, unchanged.sum_displacement)
    )
    return Baseline(unchanged.stage, largest, total, unchanged.composition_difference or 0)


def _difficulty(names: Sequence[str], sites: int) -> dict[str, float]:
    """0.4 for the sites (log scale), 0.6 for the efforts of the faults, which add up to 1 at most."""
    effort = min(1.0, sum(FAULTS[name].effort for name in names))
    score = round(float(0.4 * min(1.0, np.log(sites) / np.log(MOST_SITES)) + 0.6 * effort), 4)
    return {"score": score, "level": float(min(LEVELS, int(score * LEVELS) + 1)), "sites": float(sites)}
