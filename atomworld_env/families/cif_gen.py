"""CIF-Gen: write a standard structure type from its name, composition and lattice constants."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.families.action_names import GENERATIONS
from atomworld_env.families.cif_gen_composition import NoCompositionError, draw, split_of
from atomworld_env.families.cif_gen_prototypes import PROTOTYPES, Prototype
from atomworld_env.prompts.prompt import Message, PromptTemplate, load_template
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.difficulty import LEVELS
from atomworld_env.tasks.sampler_config import ALL_SPLITS
from atomworld_env.tasks.task import Task
from rewards import Baseline, Stage, TargetError, Verdict
from rewards.same_crystal import SITE_TOLERANCE, CrystalTarget, prepare_crystal, verify_same_crystal

GENERATOR_VERSION = "cif-gen-2"
"""Moves when the same seed gives other tasks."""

PREFIX = "generate_"
STREAM = 0x6367
"""Keeps the random numbers of this family apart from those of others with the same seed."""

MOST_SITES = 64
"""Of a conventional cell: difficulty is counted on a log scale up to here."""

STARTING_SUM = 0.5
"""Å: the sum of displacements over the primitive cell from which progress is paid; atoms put anywhere are beyond it."""

NOTHING_WRITTEN = Baseline(
    stage=Stage.NO_CIF, max_displacement=None, sum_displacement=STARTING_SUM, composition_difference=0
)
"""Where progress starts. The composition is in the prompt, so that nothing is paid for it."""


class CifGeneration:
    """Standard structure types, any composition of fitting stoichiometry.

    Args:
        actions: kinds of task, ``generate_`` and a key of :data:`PROTOTYPES`; all when None.
        split: of the pairs of type and composition: train, validation, test, or ``all``.
        template: the prompt.
        tolerance: largest displacement in Å that is right; lattice constants are right within 1 % in any case.
        strict_tags: accept the CIF only as the published protocol does.
        engine: of reading, see :func:`rewards.verify`.

    Raises:
        UsageError: for what does not exist.
    """

    name = "cif_gen"

    def __init__(
        self,
        *,
        actions: tuple[str, ...] | None = None,
        split: str = "train",
        template: PromptTemplate | None = None,
        tolerance: float = SITE_TOLERANCE,
        strict_tags: bool = False,
        engine: str = "fast",
    ) -> None:
        self.actions = GENERATIONS if actions is None else actions
        unknown = [name for name in self.actions if name not in GENERATIONS]
        if unknown or not self.actions:
            named = f"unknown action {unknown[0]!r}" if unknown else "no action is given"
            raise UsageError(f"{named}; choose from {', '.join(GENERATIONS)}")
        if split not in (*SPLITS, ALL_SPLITS):
            raise UsageError(f"unknown split {split!r}; choose from {', '.join(SPLITS)}, {ALL_SPLITS}")
        self.split = split
        self.template = load_template("default", default="cif_gen") if template is None else template
        self.tolerance = tolerance
        self.strict_tags = strict_tags
        self.engine = engine

    def sample(self, seed: int, action: str | None = None, *, suite: str = "") -> Task:
        """The task of a seed: a type is drawn evenly, then elements for its roles, then its numbers.

        Raises:
            UsageError: for an action that does not exist, a negative seed, or a split without such a composition.
        """
        if seed < 0:
            raise UsageError(f"a seed must be 0 or larger, got {seed}")
        if action is not None and action not in self.actions:
            raise UsageError(f"unknown action {action!r}; choose from {', '.join(self.actions)}")
        split = -1 if self.split == ALL_SPLITS else SPLITS.index(self.split)
        rng = np.random.default_rng(np.random.SeedSequence([seed, split + 1, STREAM]))
        name = self.actions[int(rng.integers(len(self.actions)))]
        prototype = PROTOTYPES[(name if action is None else action).removeprefix(PREFIX)]
        try:
            elements, numbers, crystal = draw(prototype, None if split < 0 else self.split, rng)
        except NoCompositionError as error:
            raise UsageError(f"{error}; choose another split or action") from None
        return _task(prototype, elements, numbers, crystal, seed=seed, suite=suite)

    def prompt(self, task: Task) -> str:
        return self.template.render(task.structure, task.prompt)

    def messages(self, task: Task) -> list[Message]:
        return self.template.messages(task.structure, task.prompt)

    def verify(self, task: Task, answer: object, *, profile: str) -> Verdict:
        return verify_same_crystal(
            answer, prepared(task.target), strict_tags=self.strict_tags, tolerance=self.tolerance, engine=self.engine
        )


def instruction(prototype: Prototype, params: Mapping[str, Any]) -> str:
    """The crystal in words, with every number that the truth depends on."""
    elements = {role: params[f"element_{role}"] for role in prototype.roles}
    constants = [f"{name} = {params[name]:.3f} Å" for name in ("a", "c") if name in params]
    sentences = [f"{prototype.formula(elements)} with the structure of {prototype.title}."]
    if prototype.says:
        sentences.append(f"{prototype.says.format(**elements)}.")
    sentences.append(f"Lattice constant{'s' if len(constants) > 1 else ''}: {', '.join(constants)}.")
    if "u" in params:
        sentences.append(f"Free coordinate: u = {params['u']:.4f}.")
    return " ".join(sentences)


def check_task(task: Task) -> None:
    """See that the parameters are complete and give the target, and that it can be read.

    Raises:
        ValueError: in one line, naming what is wrong.
    """
    prototype = PROTOTYPES[task.action.removeprefix(PREFIX)]
    try:
        instruction(prototype, task.params)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the parameters do not fit {task.action} ({type(error).__name__}: {error})") from None
    try:
        prepared(task.target)
    except TargetError as error:
        raise ValueError(str(error)) from None
    _ = task.target_crystal


def generation_of_split(split: str) -> CifGeneration:
    """The family with its defaults, sampling from one split."""
    return CifGeneration(split=split)


@lru_cache(maxsize=256)
def prepared(target: str) -> CrystalTarget:
    """The prepared form of a target CIF; the answers of a group share one.

    Raises:
        rewards.TargetError: if the ground truth cannot be read.
    """
    return prepare_crystal(target)


def _task(
    prototype: Prototype,
    elements: dict[str, str],
    numbers: dict[str, float],
    crystal: Crystal,
    *,
    seed: int,
    suite: str,
) -> Task:
    action = f"{PREFIX}{prototype.name}"
    params: dict[str, Any] = {f"element_{role}": symbol for role, symbol in elements.items()} | numbers
    digest = hashlib.sha256(json.dumps([action, params, GENERATOR_VERSION], sort_keys=True).encode()).hexdigest()
    return Task(
        task_id=f"{action}-{digest[:12]}",
        action=action,
        params=params,
        prompt=instruction(prototype, params),
        structure="",
        target=write_cif(crystal, decimals=TARGET_DECIMALS),
        structure_id=f"{prototype.name}-{prototype.formula(elements)}",
        n_sites=len(crystal),
        difficulty=_difficulty(prototype, crystal),
        seed=seed,
        suite=suite,
        split=split_of(prototype, elements),
        version=GENERATOR_VERSION,
        baseline=NOTHING_WRITTEN,
    )


def _difficulty(prototype: Prototype, crystal: Crystal) -> dict[str, float]:
    """Half for the sites of the conventional cell (log scale), and a sixth each for a second constant, a free
    coordinate and a third element."""
    sites = len(crystal)
    score = 0.5 * np.log(sites) / np.log(MOST_SITES)
    score += ((prototype.axial is not None) + (prototype.free is not None) + (len(prototype.roles) > 2)) / 6
    score = round(min(1.0, float(score)), 4)
    return {"score": score, "level": float(min(LEVELS, int(score * LEVELS) + 1)), "sites": float(sites)}
