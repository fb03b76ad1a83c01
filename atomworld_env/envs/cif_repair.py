"""The Gymnasium environment `AtomWorld-CIFRepair-v0`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

from atomworld_env.envs.single_answer import SingleAnswerEnv
from atomworld_env.errors import UsageError
from atomworld_env.families.cif_repair import CifRepair
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.suite import Suite
from rewards.cif_reading import ENGINES
from rewards.strict import DEFAULT_TOLERANCE


class CifRepairEnv(SingleAnswerEnv):
    """Mend a damaged CIF.

    ## Description
    A CIF with one or more faults is shown: a lost line, a misspelt tag, a broken loop or row, what an editor or a chat
    left behind. The answer is the mended CIF, which must be the original crystal. Where a number is lost for good,
    the instruction says so and asks for the placeholder `?` in its place.

    ## Action Space
    Any text. The CIF is taken as in `AtomWorld-v0`.

    ## Observation Space
    A dictionary of two texts: `structure`, the damaged CIF, and `prompt`, all that a model needs to answer.
    `info["messages"]` holds the prompt as chat messages.

    ## Rewards
    Between 0 and 1, by a named scheme of `rewards`: `shaped` (default), `strict` or `distance`. The damaged file earns
    0, or the 0.05 of a readable CIF where it can be read, under `shaped`.

    ## Starting State
    A sampled task, or one drawn from a suite. `reset(options={"action": "repair_units"})` asks for one kind of fault,
    `reset(options={"task": task})` for one task (a `Task`, its record, or a task_id of the suite).

    ## Episode End
    Every step terminates the episode. It is never truncated.

    ## Arguments
    * `suite`: a suite's name (`cif-repair`), a file or folder of tasks, or a `Suite`; then the sampling arguments but
      `actions` are not used.
    * `actions`: kinds of fault; all when not given.
    * `split`, `pool`, `min_sites`, `max_sites`, `faults`: what tasks are sampled from, see `CifRepair`.
    * `reward_scheme`: one of the schemes above.
    * `profile`: `strict`; there is no paper profile.
    * `tolerance`: the largest displacement in Å that is right.
    * `prompt`: "default", a template file with `{structure}` and `{instruction}`, or a `PromptTemplate`.
    * `strict_tags`: take the CIF only as the published protocol does.
    * `engine`: `fast`, or `reference`, which verifies with pymatgen alone; the verdicts are the same.
    * `render_mode`: `ansi`, prompt, answer and verdict as text.

    ## Info
    As for `AtomWorld-v0` with the strict profile.

    ## Version History
    * v0: first version.
    """

    def __init__(
        self,
        *,
        suite: str | Path | Suite | None = None,
        actions: str | Sequence[str] | None = None,
        split: str = "train",
        pool: str | StructurePool = "aflow",
        min_sites: int = 4,
        max_sites: int = 40,
        faults: int = 1,
        reward_scheme: str = "shaped",
        profile: str = "strict",
        tolerance: float = DEFAULT_TOLERANCE,
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
        family = CifRepair(
            actions=names,
            split=split,
            pool=pool,
            min_sites=min_sites,
            max_sites=max_sites,
            faults=faults,
            template=prompt if isinstance(prompt, PromptTemplate) else load_template(prompt, default="cif_repair"),
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
