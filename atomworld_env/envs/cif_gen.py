"""The Gymnasium environment `AtomWorld-CIFGen-v0`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

from atomworld_env.envs.single_answer import SingleAnswerEnv
from atomworld_env.errors import UsageError
from atomworld_env.families.cif_gen import CifGeneration
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.tasks.suite import Suite
from rewards.cif_reading import ENGINES
from rewards.same_crystal import SITE_TOLERANCE


class CifGenEnv(SingleAnswerEnv):
    """Write a standard structure type as CIF.

    ## Description
    A structure type is named, such as rocksalt or wurtzite, with the elements, the lattice constants and any free
    coordinate; the answer is the CIF of that crystal. It is compared as a crystal: primitive or conventional cell,
    supercell, any origin, orientation and symmetry notation are accepted, but not another lattice constant.

    ## Action Space
    Any text. The CIF is taken as in `AtomWorld-v0`.

    ## Observation Space
    A dictionary of two texts: `structure`, which is empty, since nothing is shown, and `prompt`, all that a model
    needs to answer. `info["messages"]` holds the prompt as chat messages.

    ## Rewards
    Between 0 and 1, by a named scheme of `rewards`. `shaped` (default): 1 for the crystal asked for; else 0.05 for a
    readable CIF and, if its lattice and composition are those asked for, up to 0.45 for the positions (none of it at
    a sum of displacements of 0.5 Å over the primitive cell).
    `strict`: 1 or 0. `distance`: 1 / (1 + largest displacement / 0.5 Å) where lattice and composition are right.

    ## Starting State
    A sampled task, or one drawn from a suite. `reset(options={"action": "generate_rutile"})` asks for one type,
    `reset(options={"task": task})` for one task (a `Task`, its record, or a task_id of the suite).

    ## Episode End
    Every step terminates the episode. It is never truncated.

    ## Arguments
    * `suite`: a suite's name (`cif-gen`), a file or folder of tasks, or a `Suite`.
    * `actions`: kinds of task, `generate_` and the type's name; all when not given.
    * `split`: train, validation, test or all; pairs of type and composition are split by a hash.
    * `reward_scheme`: one of the schemes above.
    * `profile`: `strict`; there is no paper profile.
    * `tolerance`: the largest displacement in Å that is right. Lattice constants must be right within 1 % and angles
      within 0.5° in any case.
    * `prompt`: "default", a template file with `{structure}` (nothing is put there) and `{instruction}`, or a
      `PromptTemplate`.
    * `strict_tags`: take the CIF only as the published protocol does.
    * `engine`: `fast`, or `reference`, which reads with pymatgen alone; the verdicts are the same.
    * `render_mode`: `ansi`, prompt, answer and verdict as text.

    ## Info
    As for `AtomWorld-v0` with the strict profile. `composition_mismatch` means another reduced formula,
    `structure_mismatch` another lattice, another number of atoms in the primitive cell or other positions.
    `max_displacement` is in Å, after the best shift.

    ## Version History
    * v0: first version.
    """

    def __init__(
        self,
        *,
        suite: str | Path | Suite | None = None,
        actions: str | Sequence[str] | None = None,
        split: str = "train",
        reward_scheme: str = "shaped",
        profile: str = "strict",
        tolerance: float = SITE_TOLERANCE,
        prompt: str | PromptTemplate = "default",
        strict_tags: bool = False,
        engine: str = "fast",
        render_mode: str | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}")
        if not isinstance(tolerance, int | float) or not 0 < tolerance < inf:
            raise UsageError(f"the tolerance must be a positive number of Å, got {tolerance!r}")
        names = (actions,) if isinstance(actions, str) else None if actions is None else tuple(actions)
        family = CifGeneration(
            actions=names,
            split=split,
            template=prompt if isinstance(prompt, PromptTemplate) else load_template(prompt, default="cif_gen"),
            tolerance=tolerance,
            strict_tags=strict_tags,
            engine=engine,
        )
        super().__init__(
            family,
            suite=suite,
            actions=names,
            reward_scheme=reward_scheme,
            profile=profile,
            render_mode=render_mode,
        )
