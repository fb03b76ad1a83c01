"""Several tries at one edit: the environment as a tool environment of TRL, with the verifier's feedback in between.

    >>> from functools import partial                                    # doctest: +SKIP
    >>> GRPOTrainer(                                                     # doctest: +SKIP
    ...     model=..., args=GRPOConfig(..., max_tool_calling_iterations=3),
    ...     train_dataset=Dataset.from_list([tool_row(task, family) for task in tasks]),
    ...     environment_factory=partial(SubmitCif, tries=3),
    ... )

The model calls ``submit_cif`` with a CIF and reads what was wrong with it: the stage that failed and how far off it is,
never the answer. TRL adds ``get_reward`` as a reward function by itself; a text without a call earns nothing.
"""

from __future__ import annotations

import json
from typing import Any

import gymnasium

import atomworld_env
from atomworld_env.families.family import Family
from atomworld_env.tasks.task import Task, dump_line
from rewards import Stage, Verdict

KEPT_PER_TRY = 0.9
"""What a further try leaves of the reward: a right first answer is worth more than one that was corrected."""

DISTANCE_BANDS = ((0.3, "less than 0.3 Å"), (1.0, "between 0.3 and 1 Å"), (float("inf"), "more than 1 Å"))
"""How far the farthest atom is off, as the feedback says it. Exact distances could be searched for the answer."""


def tool_row(task: Task, family: Family) -> dict[str, Any]:
    """A row of a data set for :class:`SubmitCif`: the prompt, and the task as text."""
    return {"prompt": family.messages(task), "task": dump_line(task), "task_id": task.task_id, "action": task.action}


class SubmitCif:
    """One rollout of several tries; made once by TRL and reset for each.

    Args:
        tries: submissions that are verified.
        kept_per_try: factor on the reward for each try after the first.
        **arguments: of ``AtomWorld-v0``, for example ``reward_scheme="strict"``.
    """

    def __init__(self, tries: int = 3, kept_per_try: float = KEPT_PER_TRY, **arguments: Any) -> None:
        if tries < 1 or not 0 < kept_per_try <= 1:
            raise ValueError(f"at least one try, each keeping more than 0 and at most 1, got {tries}, {kept_per_try}")
        self._tries, self._kept = tries, kept_per_try
        self._environment = gymnasium.make(atomworld_env.ENV_ID, **arguments)
        self._task: Task | None = None
        self._used, self._reward, self._solved = 0, 0.0, False

    def reset(self, task: str, **_: Any) -> str:
        """Begin with the task of a row; what is added to its prompt."""
        self._task = Task.from_json(json.loads(task))
        self._used, self._reward, self._solved = 0, 0.0, False
        times = "one try" if self._tries == 1 else f"{self._tries} tries"
        return (
            f"\n\nSubmit the edited structure with the tool submit_cif. You have {times}; after each you are told what "
            "is wrong with it."
        )

    def submit_cif(self, cif: str) -> str:
        """Submit the edited structure for verification.

        Args:
            cif: The complete edited structure as CIF text.

        Returns:
            Whether it is right, and if not, what differs.
        """
        if self._task is None:
            raise RuntimeError("reset() comes before the first submission")
        if self._solved:
            return "Your structure was accepted already; there is nothing left to do."
        if self._used == self._tries:
            return "No try is left."
        self._used += 1
        self._environment.reset(options={"task": self._task})
        answer = cif if "<cif>" in cif else f"<cif>\n{cif}\n</cif>"
        _, earned, _, _, _ = self._environment.step(answer)
        verdict: Verdict = self._environment.unwrapped.verdict  # type: ignore[attr-defined]
        # The last submission counts and not the best: a model shall improve its answer, not scatter guesses.
        self._reward = float(earned) * self._kept ** (self._used - 1)
        self._solved = bool(verdict.success_strict)
        if self._solved:
            return "Correct."
        left = self._tries - self._used
        return f"{feedback(verdict)} {left} {'try' if left == 1 else 'tries'} left."

    def get_reward(self) -> float:
        """Of the last submission, in [0, 1]; 0 without one."""
        return self._reward


def feedback(verdict: Verdict) -> str:
    """What is wrong, in a sentence that does not give the answer away."""
    if verdict.stage is Stage.NO_CIF:
        return "No CIF was found."
    if verdict.stage is Stage.CIF_INVALID:
        return f"The CIF cannot be used: {verdict.message}."
    if verdict.stage is Stage.COMPOSITION_MISMATCH:
        return f"The numbers of atoms of the elements are off by {verdict.composition_difference} in all."
    if verdict.stage is Stage.STRUCTURE_MISMATCH and not verdict.cell_matches:
        return "The elements are right; the cell is not."
    if verdict.stage is Stage.STRUCTURE_MISMATCH and verdict.max_displacement is not None:
        far = next(text for limit, text in DISTANCE_BANDS if verdict.max_displacement < limit)
        return f"The elements and the cell are right; the farthest atom is off by {far}."
    return "The structure could not be verified."
