"""Held-out tasks during training: greedy answers stepped through their environment every so many steps."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from transformers import Trainer, TrainerCallback

from atomworld_env.evaluation.stepping import Attempt, Outcome, step, step_all
from atomworld_env.families.registry import family_of
from atomworld_env.prompts.prompt import PromptTemplate
from atomworld_env.tasks.task import Task
from rewards import prepare_target, verify
from rewards.trl import FARTHEST
from training.checkpoints import replace_text
from training.family_reward import UNREAD, repeats_input
from training.greedy_answers import Answer, greedy_answers

EVALUATIONS = "evaluations"
"""Folder of the evaluations, one file for each evaluated step."""

Record = dict[str, Any]


class HeldOutEvaluation(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Asks the model held-out tasks, greedily, before the first step, every `every` steps and after the last one.

    Logs ``eval_success_strict``, the same by edit, ``eval_copied``, ``eval_parsable``, ``eval_max_displacement``,
    ``eval_clipped``, ``eval_reward``, ``eval_seconds`` and, with profile ``both``, ``eval_success_paper``; reporters
    show them under ``eval/``. Every answer with its verdict is in ``evaluations/step_<n>.jsonl`` of the run's folder.

    Args:
        tasks: held out.
        template: the prompt.
        every: steps; 0 asks only before and after.
        scheme: of the reward.
        profile: ``strict``, stepped in this process, or ``both``, stepped in `workers` processes with a time limit.
            Other families than the edits are always stepped in such processes.
        leave_out: told the seconds that an evaluation took.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        template: PromptTemplate,
        *,
        every: int,
        max_new_tokens: int,
        batch_size: int,
        scheme: str = "shaped",
        profile: str = "strict",
        workers: int = 1,
        time_limit: float = 120.0,
        leave_out: Callable[[float], None] | None = None,
    ) -> None:
        self.tasks, self.template, self.every = tuple(tasks), template, every
        self.trainer: Any = None
        self._max_new_tokens, self._batch_size = max_new_tokens, batch_size
        self._scheme, self._profile, self._workers, self._time_limit = scheme, profile, workers, time_limit
        self._leave_out = leave_out
        self._last: int | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 0:
            self.evaluate(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.every and state.global_step % self.every == 0:
            due = control.should_log
            self.evaluate(state.global_step)
            control.should_log = due  # logging the evaluation counts as the step's own log otherwise

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._last != state.global_step:
            self.evaluate(state.global_step)

    def evaluate(self, at_step: int) -> dict[str, float]:
        """Ask all tasks, log and save; the figures. Called on all ranks at once."""
        begun = time.perf_counter()
        self._last = at_step
        prompts = [self.template.messages(task.structure, task.prompt) for task in self.tasks]
        answers = greedy_answers(
            self.trainer, prompts, max_new_tokens=self._max_new_tokens, batch_size=self._batch_size
        )
        # One rank steps the environment; the others wait for its figures.
        holder: list[Any] = [None]
        if self.trainer.accelerator.is_main_process:
            records = self._records(answers)
            lines = "".join(json.dumps(record) + "\n" for record in records)
            folder = Path(self.trainer.args.output_dir) / EVALUATIONS
            replace_text(folder / f"step_{at_step:06d}.jsonl", lines)
            holder = [figures(records)]
        broadcast_object_list(holder, from_process=0)
        found: dict[str, float] = holder[0]
        seconds = time.perf_counter() - begun
        if self._leave_out is not None:
            self._leave_out(seconds)
        # Not GRPOTrainer.log, which would close the step's own averages.
        Trainer.log(self.trainer, {f"eval_{name}": value for name, value in found.items()} | {"eval_seconds": seconds})
        return found

    def _records(self, answers: Sequence[Answer]) -> list[Record]:
        arguments = {"reward_scheme": self._scheme, "prompt": self.template}
        with_paper = self._profile == "both"
        attempts = [Attempt(k, task, answer.text, with_paper)
                    for k, (task, answer) in enumerate(zip(self.tasks, answers, strict=True))]  # fmt: skip
        entry = family_of(self.tasks[0].action)
        if with_paper or entry.name != "edits":
            stepped = step_all(
                attempts,
                workers=self._workers,
                time_limit=self._time_limit,
                arguments=arguments,
                with_paper=with_paper,
                env_id=entry.env_id,
            )
            outcomes: dict[int, Outcome] = {attempt.index: outcome for attempt, outcome in stepped}
        else:
            outcomes = {each.index: step(each.task, each.answer, False, **arguments) for each in attempts}
        return [
            {
                "task_id": task.task_id,
                "action": task.action,
                "structure_id": task.structure_id,
                "n_sites": task.n_sites,
                "level": task.difficulty["level"],
                "answer": answer.text,
                "tokens": answer.tokens,
                "clipped": answer.clipped,
                "copied": not outcomes[k]["success"] and is_copy(answer.text, task),
                **outcomes[k],
            }
            for k, (task, answer) in enumerate(zip(self.tasks, answers, strict=True))
        ]


def is_copy(answer: str, task: Task) -> bool:
    """Whether an answer is strictly right as an answer to "change nothing"; of other families, repeats the input."""
    if family_of(task.action).name != "edits":
        return repeats_input(answer, task)
    return bool(verify(answer, prepare_target(task.structure)).success_strict)


def figures(records: Sequence[Record]) -> dict[str, float]:
    """Means over the records of one evaluation."""
    far = [FARTHEST if r["max_displacement"] is None else min(FARTHEST, r["max_displacement"]) for r in records]
    found = {
        "success_strict": _mean([record["success"] for record in records]),
        "copied": _mean([record["copied"] for record in records]),
        "parsable": _mean([record["verdict_strict"] not in UNREAD for record in records]),
        "max_displacement": _mean(far),
        "clipped": _mean([record["clipped"] for record in records]),
        "reward": _mean([record["reward"] for record in records]),
    }
    if any(record["success_paper"] is not None for record in records):
        found["success_paper"] = _mean([bool(record["success_paper"]) for record in records])
    for action in dict.fromkeys(record["action"] for record in records):
        found[f"success_strict/{action}"] = _mean([r["success"] for r in records if r["action"] == action])
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
