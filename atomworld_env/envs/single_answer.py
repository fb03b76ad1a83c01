"""What the environments of all families share: one task, one answer, one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from atomworld_env.envs.text_space import TextSpace
from atomworld_env.errors import UsageError
from atomworld_env.families.family import Family
from atomworld_env.families.registry import FAMILIES, family_of
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task, usable
from rewards import SCHEMES, Verdict, components, reward

PROFILES = ("strict", "paper", "both")

Observation = dict[str, str]

MOST_CHARACTERS_SHOWN = 4000
"""Of an answer, in the ``ansi`` rendering."""


class SingleAnswerEnv(gymnasium.Env[Observation, str]):
    """An episode is one task and one answer, whatever the family.

    Args:
        family: samples the tasks, states them and verifies the answers.
        suite: tasks to draw from instead.
        actions: kinds of task; all of the family's when None.
        reward_scheme: a key of :data:`rewards.SCHEMES`.
        profile: ``strict``, and for families that have it ``paper`` or ``both``.
        render_mode: one of the class's ``metadata["render_modes"]``, or None.

    Raises:
        UsageError: for what does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        family: Family,
        *,
        suite: str | Path | Suite | None,
        actions: Sequence[str] | None,
        reward_scheme: str,
        profile: str,
        render_mode: str | None,
    ) -> None:
        entry = FAMILIES[family.name]
        if reward_scheme not in SCHEMES:
            raise UsageError(f"unknown reward scheme {reward_scheme!r}; choose from {', '.join(SCHEMES)}")
        if profile not in PROFILES:
            raise UsageError(f"unknown profile {profile!r}; choose from {', '.join(PROFILES)}")
        if "paper" in (profile, reward_scheme) and not entry.has_paper:
            raise UsageError(f"{entry.env_id} has no paper profile; take profile='strict' and another reward scheme")
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UsageError(f"unknown render mode {render_mode!r}; choose from {', '.join(modes)}")
        self.family: Family = family
        self.suite = load_suite(suite) if isinstance(suite, str | Path) else suite
        if self.suite is not None and self.suite.family != family.name:
            other = FAMILIES[self.suite.family].env_id
            raise UsageError(f"suite {self.suite.name} holds tasks of {other}; make that environment")
        if self.suite is not None and actions is not None:
            self.suite = self.suite.restricted(actions)
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
            task = usable(task)
        except ValueError as error:
            raise UsageError(f"this task cannot be used: {error}") from None
        family = family_of(task.action)
        if family.name != self.family.name:
            raise UsageError(f"a task of the kind {task.action} belongs to {family.env_id}; make that environment")
        return task

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
            "messages": self.family.messages(task),
            "verdict_strict": str(verdict.verdict_strict) if verdict else "",
            "message": verdict.message if verdict else "",
            "success": bool(verdict.success_strict) if verdict else False,
            "max_displacement": _number(verdict.max_displacement if verdict else None),
        }
        if task.orthogonal is not None:
            info["orthogonal"] = task.orthogonal
        for part in ("parse", "composition", "geometry", "success"):
            info[f"reward_{part}"] = float(earned.get(part, 0.0))
        if self.profile == "both":
            info["verdict_paper"] = str(verdict.verdict_paper) if verdict else ""
            info["success_paper"] = bool(verdict.success_paper) if verdict else False
            info["rmsd"] = _number(verdict.rmsd if verdict else None)
            info["max_dist"] = _number(verdict.max_dist if verdict else None)
        return info

    def render(self) -> Any:
        """The task, the answer and the verdict, by the render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs a render_mode: make the environment with render_mode="ansi"')
            return None
        if self.task is None:
            raise ResetNeeded("call reset() before render()")
        return self.picture(self.task)

    def picture(self, task: Task) -> Any:
        """What :meth:`render` shows of the task and what came of it: text for ``ansi``.

        Families without a picture of their own show the prompt, the answer and the verdict.
        """
        lines = [self.family.prompt(task), ""]
        if self.answer is not None:
            lines += ["Answer:", self.answer[:MOST_CHARACTERS_SHOWN], ""]
        if self.verdict is not None:
            lines.append(f"{self.verdict.stage}: {self.verdict.message}; reward {self.reward:.3f}")
        return "\n".join(lines)


def _number(value: float | None) -> float:
    return inf if value is None else float(value)
