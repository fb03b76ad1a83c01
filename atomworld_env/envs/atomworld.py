"""The Gymnasium environment `AtomWorld-v0`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.text_space import TextSpace
from atomworld_env.errors import UsageError
from atomworld_env.families.edits import CrystalEdits
from atomworld_env.families.family import Family
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.structures.cif import CifStyle
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import DISCRIMINATING_DISPLACEMENT
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, usable
from rewards import SCHEMES, Verdict, components, reward
from rewards.cif_reading import ENGINES

PROFILES = ("strict", "paper", "both")

Observation = dict[str, str]


class AtomWorldEnv(gymnasium.Env[Observation, str]):
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
        if reward_scheme not in SCHEMES:
            raise UsageError(f"unknown reward scheme {reward_scheme!r}; choose from {', '.join(SCHEMES)}")
        if profile not in PROFILES:
            raise UsageError(f"unknown profile {profile!r}; choose from {', '.join(PROFILES)}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UsageError(f"unknown render mode {render_mode!r}; choose from ansi, rgb_array")
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
        template = prompt if isinstance(prompt, PromptTemplate) else load_template(prompt)
        self.family: Family = CrystalEdits(
            sampler,
            pool=None if isinstance(pool, str) else pool,
            template=template,
            tolerance=tolerance,
            strict_tags=strict_tags,
            engine=engine,
        )
        self.suite = load_suite(suite) if isinstance(suite, str | Path) else suite
        if self.suite is not None and names is not None:
            self.suite = self.suite.restricted(names)
        self.reward_scheme = reward_scheme
        # The `paper` scheme needs the paper verdict; the strict one is always reported beside it.
        self.profile = "both" if profile == "paper" or reward_scheme == "paper" else profile
        self.render_mode = render_mode
        self.observation_space = spaces.Dict(  # type: ignore[assignment]  # Dict is a Space of dict[str, Any]
            {"structure": TextSpace(), "prompt": TextSpace()}
        )
        self.action_space = TextSpace()
        self.task: Task | None = None
        self.answer: str | None = None
        self.verdict: Verdict | None = None
        self.reward = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw the next task.

        Raises:
            UsageError: for an option, action or task that does not exist or cannot be read.
        """
        super().reset(seed=seed)
        options = options or {}
        unknown = set(options) - {"task", "action"}
        if unknown:
            raise UsageError(f"unknown reset option {sorted(unknown)[0]!r}; the options are task and action")
        self.task = self._given(options["task"]) if "task" in options else self._drawn(options.get("action"))
        self.answer, self.verdict, self.reward = None, None, 0.0
        observation = {"structure": self.task.structure, "prompt": self.family.prompt(self.task)}
        return observation, self._info()

    def _drawn(self, action: str | None) -> Task:
        if self.suite is None:
            return self.family.sample(int(self.np_random.integers(2**53)), action)
        tasks = self.suite.tasks if action is None else self.suite.restricted([action]).tasks
        return tasks[int(self.np_random.integers(len(tasks)))]

    def _given(self, task: Task | Mapping[str, Any] | str) -> Task:
        try:
            if isinstance(task, str):
                if self.suite is None:
                    raise UsageError(f"task {task!r} is an id, which needs an environment with a suite")
                task = self.suite.by_id(task)
            elif not isinstance(task, Task):
                task = Task.from_json(task)
            return usable(task)
        except ValueError as error:
            raise UsageError(f"this task cannot be used: {error}") from None

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Verify and reward the answer; the episode ends.

        Raises:
            gymnasium.error.ResetNeeded: when no task is waiting for an answer. Nothing in the answer raises.
        """
        if self.task is None or self.verdict is not None:
            raise ResetNeeded("call reset() before step(): every episode is one answer")
        self.answer = action if isinstance(action, str) else None
        self.verdict = self.family.verify(self.task, action, profile=self.profile)
        self.reward = reward(self.verdict, self.reward_scheme, baseline=self.task.baseline)
        observation = {"structure": self.task.structure, "prompt": self.family.prompt(self.task)}
        return observation, self.reward, True, False, self._info()

    def _info(self) -> dict[str, Any]:
        assert self.task is not None
        task, verdict = self.task, self.verdict
        earned = components(verdict, self.reward_scheme, baseline=task.baseline) if verdict else {}
        info: dict[str, Any] = {
            "task_id": task.task_id,
            "action": task.action,
            "structure_id": task.structure_id,
            "n_sites": task.n_sites,
            "orthogonal": task.crystal.is_orthogonal,
            "messages": self.family.messages(task),
            "verdict_strict": str(verdict.verdict_strict) if verdict else "",
            "message": verdict.message if verdict else "",
            "success": bool(verdict.success_strict) if verdict else False,
            "max_displacement": _number(verdict.max_displacement if verdict else None),
        }
        for part in ("parse", "composition", "geometry", "success"):
            info[f"reward_{part}"] = float(earned.get(part, 0.0))
        if self.profile == "both":
            info["verdict_paper"] = str(verdict.verdict_paper) if verdict else ""
            info["success_paper"] = bool(verdict.success_paper) if verdict else False
            info["rmsd"] = _number(verdict.rmsd if verdict else None)
            info["max_dist"] = _number(verdict.max_dist if verdict else None)
        return info

    def render(self) -> Any:
        """The edit as text (`ansi`) or as a picture, uint8 of shape (height, width, 3) (`rgb_array`)."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs a render_mode: make the environment with render_mode="ansi"')
            return None
        if self.task is None:
            raise ResetNeeded("call reset() before render()")
        from atomworld_env.envs.rendering import render_ansi, render_rgb_array

        draw = render_ansi if self.render_mode == "ansi" else render_rgb_array
        return draw(self.task, self.answer, self.verdict, self.reward)


def _number(value: float | None) -> float:
    return inf if value is None else float(value)
