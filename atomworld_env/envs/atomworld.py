"""The Gymnasium environment `AtomWorld-v0`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.single_answer import SingleAnswerEnv
from atomworld_env.errors import UsageError
from atomworld_env.families.edits import CrystalEdits
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.structures.cif import CifStyle
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import DISCRIMINATING_DISPLACEMENT
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task
from rewards.cif_reading import ENGINES


class AtomWorldEnv(SingleAnswerEnv):
    """Edit a crystal: read a CIF and an instruction, answer with the edited CIF.

    ## Description
    A crystal structure is shown as CIF text together with one instruction in plain English, such as "Move the atom at
    site 3 by the Cartesian vector (1.20, -0.35, 0.00) Å". The answer is verified against an exact ground truth and
    rewarded. There are ten kinds of edit in four categories, those of the AtomWorld benchmark (arXiv:2510.04704).

    ## Action Space
    Any text. The CIF is taken from the last `<cif>…</cif>` after the reasoning, else from a fenced block, else from
    `data_` on. Text without a readable CIF is a valid action that earns 0.

    ## Observation Space
    A dictionary of two texts: `structure`, the input CIF, and `prompt`, all that a model needs to answer: the
    conventions, the structure and the instruction. `info["messages"]` holds the same prompt as chat messages.

    ## Rewards
    Between 0 and 1, by a named scheme of `rewards`: `shaped` (default), `strict`, `paper` or `distance`.

    ## Starting State
    A task sampled from the structure pool, or drawn from a suite. `reset(options={"action": "swap"})` asks for one
    kind of edit, `reset(options={"task": task})` for one task (a `Task`, its record, or a task_id of the suite).

    ## Episode End
    Every step terminates the episode. It is never truncated.

    ## Arguments
    * `suite`: a suite's name, a file or folder of tasks, or a `Suite`; then the sampling arguments but `actions` are
      not used.
    * `actions`: names of edits; all ten when not given.
    * `split`, `pool`, `min_sites`, `max_sites`, `difficulty`, `cif_style`, `decimals`: what tasks are
      sampled from, see `atomworld_env.SamplerConfig`; `sampler` gives a whole `SamplerConfig` instead.
      `pool` may also be a `StructurePool`, so that several environments share one that was slow to read.
    * `reward_scheme`: one of the schemes above.
    * `profile`: `strict`, `paper` or `both`; which verdicts are computed. `paper` costs up to minutes on large cells.
    * `tolerance`: the largest displacement in Å that is right under the strict profile.
    * `prompt`: "default", a template file with `{structure}` and `{instruction}`, or a `PromptTemplate`.
    * `strict_tags`: take the CIF only as the published protocol does.
    * `engine`: `fast`, or `reference`, which verifies with pymatgen alone; the verdicts are the same.
    * `render_mode`: `ansi` (a diff of sites) or `rgb_array` (before, target and answer side by side).

    ## Info
    The same keys after `reset` and `step`; numbers that do not exist (yet) are `inf`. `task_id`, `action`,
    `structure_id`, `n_sites`, `orthogonal`, `messages`; `verdict_strict`, `message`, `success`, `max_displacement` (Å),
    `reward_parse`, `reward_composition`, `reward_geometry`, `reward_success`. With `profile` other than `strict` also
    `verdict_paper`, `success_paper`, `rmsd`, `max_dist`, the last two in units of (V/N)^(1/3).

    ## Version History
    * v0: first version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium declares it so)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
    }

    def __init__(
        self,
        *,
        suite: str | Path | Suite | None = None,
        actions: str | Sequence[str] | None = None,
        split: str = "train",
        pool: str | StructurePool = "aflow",
        min_sites: int = 10,
        max_sites: int = 100,
        difficulty: tuple[float, float] = (0.0, 1.0),
        cif_style: CifStyle = "full",
        decimals: int = 4,
        sampler: SamplerConfig | None = None,
        reward_scheme: str = "shaped",
        profile: str = "strict",
        tolerance: float = 0.1,
        prompt: str | PromptTemplate = "default",
        strict_tags: bool = False,
        engine: str = "fast",
        render_mode: str | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}")
        if not isinstance(tolerance, int | float) or not 0 < tolerance < inf:
            raise UsageError(f"the tolerance must be a positive number of Å, got {tolerance!r}")
        if tolerance >= DISCRIMINATING_DISPLACEMENT:
            warnings.warn(
                f"tasks are made so that the unchanged input is wrong by {DISCRIMINATING_DISPLACEMENT} Å or more; with "
                f"a tolerance of {tolerance} Å it may be right",
                stacklevel=2,
            )
        names = (actions,) if isinstance(actions, str) else None if actions is None else tuple(actions)
        if sampler is None:
            sampler = SamplerConfig(
                pool=pool if isinstance(pool, str) else pool.name,
                split=split,
                actions=tuple(ACTIONS) if names is None else names,
                min_sites=min_sites,
                max_sites=max_sites,
                difficulty=difficulty,
                cif_style=cif_style,
                decimals=decimals,
            )
        family = CrystalEdits(
            sampler,
            pool=None if isinstance(pool, str) else pool,
            template=prompt if isinstance(prompt, PromptTemplate) else load_template(prompt),
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

    def picture(self, task: Task) -> Any:
        """The edit as text (`ansi`) or as a picture, uint8 of shape (height, width, 3) (`rgb_array`)."""
        from atomworld_env.envs.rendering import render_ansi, render_rgb_array

        draw = render_ansi if self.render_mode == "ansi" else render_rgb_array
        return draw(task, self.answer, self.verdict, self.reward)
