"""The Gymnasium environment `AtomWorld-Coordinates-v0`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from atomworld_env.envs.point_rows import render_points
from atomworld_env.envs.single_answer import SingleAnswerEnv
from atomworld_env.errors import UsageError
from atomworld_env.families.coordinates import DISCRIMINATING_DISTANCE, POINT_COUNTS, Coordinates
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task
from rewards.points import DEFAULT_TOLERANCE


class CoordinatesEnv(SingleAnswerEnv):
    """Move points in space: read a list of coordinates and an instruction, answer with the list that results.

    ## Description
    The geometry of the edits without the crystal: 2 to 16 points as a JSON list of [x, y, z], and one instruction: move
    a point by a vector (`point_move`), move it some way towards another (`point_move_towards`), add a point between two
    others (`point_insert_between`), or rotate all other points about one (`point_rotate_around`). It tells
    whether a model fails an edit of a crystal for the geometry or for something else.

    ## Action Space
    Any text. The list is taken from the last `<answer>…</answer>` after the reasoning, else from a fenced block, else
    the last list of lists is taken. Text without one is a valid action that earns 0.

    ## Observation Space
    A dictionary of two texts: `structure`, the points, and `prompt`, all that a model needs to answer.
    `info["messages"]` holds the same prompt as chat messages.

    ## Rewards
    Between 0 and 1, by a named scheme of `rewards`: `shaped` (default), `strict` or `distance`. For `shaped` the points
    are what the sites of a crystal are: 0.05 for a list that can be read; where a point is added up to 0.20 for their
    number; for their places up to 0.25, or 0.45 where none is added. A copy of the input earns 0.05.

    ## Starting State
    A sampled task, or one drawn from a suite. `reset(options={"action": "point_move"})` asks for one operation,
    `reset(options={"task": task})` for one task (a `Task`, its record, or a task_id of the suite).

    ## Episode End
    Every step terminates the episode. It is never truncated.

    ## Arguments
    * `suite`: a suite's name, a file or folder of tasks, or a `Suite`; then the sampling arguments but `actions` are
      not used.
    * `actions`: names of operations; all four when not given.
    * `split`, `min_points`, `max_points`: what tasks are sampled from. The splits are different random streams.
    * `reward_scheme`: one of the schemes above.
    * `profile`: `strict`, the only one.
    * `tolerance`: the largest distance of a point from its place that is right, in the unit of the coordinates.
    * `prompt`: "default", a template file with `{structure}` and `{instruction}`, or a `PromptTemplate`.
    * `strict_tags`: accept nothing but an `<answer>…</answer>` pair.
    * `engine`: has no meaning here and must keep its default.
    * `render_mode`: `ansi`, the points of the answer beside those of the target.

    ## Info
    The same keys after `reset` and `step`; numbers that do not exist (yet) are `inf`. `task_id`, `action`,
    `structure_id`, `n_sites` (points of the input), `messages`; `verdict_strict` (see `rewards.points`), `message`,
    `success`, `max_displacement` (the largest distance of a point from its place), `reward_parse`,
    `reward_composition`, `reward_geometry`, `reward_success`.

    ## Version History
    * v0: first version.
    """

    def __init__(
        self,
        *,
        suite: str | Path | Suite | None = None,
        actions: str | Sequence[str] | None = None,
        split: str = "train",
        min_points: int = POINT_COUNTS[0],
        max_points: int = POINT_COUNTS[1],
        reward_scheme: str = "shaped",
        profile: str = "strict",
        tolerance: float = DEFAULT_TOLERANCE,
        prompt: str | PromptTemplate = "default",
        strict_tags: bool = False,
        engine: str = "fast",
        render_mode: str | None = None,
    ) -> None:
        if engine != "fast":
            raise UsageError(f"there is one engine for points; leave engine out, got {engine!r}")
        if not isinstance(tolerance, int | float) or not 0 < tolerance < inf:
            raise UsageError(f"the tolerance must be a positive number, got {tolerance!r}")
        if tolerance >= DISCRIMINATING_DISTANCE:
            warnings.warn(
                f"tasks are made so that the unchanged input is wrong by {DISCRIMINATING_DISTANCE} or more; with a "
                f"tolerance of {tolerance} it may be right",
                stacklevel=2,
            )
        names = (actions,) if isinstance(actions, str) else None if actions is None else tuple(actions)
        family = Coordinates(
            split,
            actions=names,
            point_counts=(min_points, max_points),
            template=prompt if isinstance(prompt, PromptTemplate) else load_template(prompt, default="coordinates"),
            tolerance=tolerance,
            strict_tags=strict_tags,
        )
        super().__init__(
            family,
            suite=suite,
            actions=names,
            reward_scheme=reward_scheme,
            profile=profile,
            render_mode=render_mode,
        )
        self._strict_tags = strict_tags

    def picture(self, task: Task) -> Any:
        """The points of the target, the input's and the answer's, as text."""
        return render_points(task, self.answer, self.verdict, self.reward, strict_tags=self._strict_tags)
