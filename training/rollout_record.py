"""The reward of a run: the verifier's, with every sample on disk, figures by edit, and the curriculum told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from accelerate.utils import gather_object

from rewards import Stage
from rewards.completions import answer_text
from rewards.trl import AtomWorldReward
from training.curriculum import Cell, Curriculum, GroupResult
from training.family_reward import FamilyReward

SAMPLES = "samples"
"""Folder of the samples, one file for each generation batch."""

SAMPLE_COLUMNS = pyarrow.schema(
    [
        ("step", pyarrow.int64()),
        ("generation", pyarrow.int64()),
        ("index", pyarrow.int64()),
        ("task_id", pyarrow.string()),
        ("action", pyarrow.string()),
        ("level", pyarrow.int64()),
        ("cell_level", pyarrow.int64()),
        ("structure_id", pyarrow.string()),
        ("seed", pyarrow.int64()),
        ("completion", pyarrow.string()),
        ("tokens", pyarrow.int64()),
        ("reward", pyarrow.float64()),
        ("verdict", pyarrow.string()),
        ("success_strict", pyarrow.bool_()),
        ("success_paper", pyarrow.bool_()),
        ("copied", pyarrow.bool_()),
        ("max_displacement", pyarrow.float64()),
    ]
)
"""Of a sample file. `structure_id`, `action` and `seed` make the task again; `level` is its difficulty's, `cell_level`
the curriculum's. A null was not asked for or does not exist."""

TASK_COLUMNS = ("index", "task_id", "action", "level", "cell_level", "structure_id", "seed")
VERDICT_COLUMNS = ("verdict", "max_displacement", "success_paper", "copied")

Sample = dict[str, Any]


class RecordedReward:
    """A reward function for TRL around :class:`rewards.trl.AtomWorldReward` or the one of another family.

    Adds to its metrics, as means over the samples of all ranks: ``atomworld/success_strict/<edit>``,
    ``atomworld/zero_spread`` (share of groups whose rewards are all equal), ``atomworld/reward_share`` (seconds of
    scoring over seconds since the last scoring, evaluation left out), and the highest open level of each edit.

    Args:
        reward: scores the answers.
        folder: of the run.
        num_generations: answers in a group.
        curriculum: is told the results; None if the tasks are given.
        main: whether this rank writes.
    """

    def __init__(
        self,
        reward: AtomWorldReward | FamilyReward,
        folder: Path,
        *,
        num_generations: int,
        curriculum: Curriculum | None = None,
        main: bool = True,
    ) -> None:
        self.reward, self.folder, self.curriculum = reward, folder / SAMPLES, curriculum
        self.generation = 0
        self._num_generations, self._main = num_generations, main
        self._last_end: float | None = None

    @property
    def __name__(self) -> str:
        return self.reward.__name__

    def start(self, generation: int) -> None:
        """Begin with this generation batch; samples of it and of later ones are what a killed run left."""
        self.generation = generation
        if self._main:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.glob("*.parquet"):
                if int(path.stem) >= generation:
                    path.unlink()
        # Nothing to score: the workers start and warm up now, and not within the first step.
        self.reward(completions=[], target=[], structure=[], baseline=[], task_id=[], task=[])
        self._last_end = time.perf_counter()

    def leave_out(self, seconds: float) -> None:
        """Do not count that time as part of a training step."""
        if self._last_end is not None:
            self._last_end += seconds

    def __call__(
        self,
        prompts: Any = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        log_metric: Callable[[str, float], None],
        log_extra: Callable[[str, list[Any]], None],
        trainer_state: Any,
        **columns: Any,
    ) -> list[float | None]:
        """Rewards, as of the function inside; called by the trainer on all ranks at once."""
        begun = time.perf_counter()
        logged: dict[str, list[Any]] = {}

        def keep(name: str, values: list[Any]) -> None:
            logged[name.rpartition("/")[2]] = values
            log_extra(name, values)

        rewards = self.reward(prompts, completions, completion_ids, log_metric=log_metric, log_extra=keep, **columns)
        scored = time.perf_counter() - begun
        mine = [
            {
                "step": trainer_state.global_step,
                "generation": self.generation,
                **{name: columns[name][k] for name in TASK_COLUMNS if name in columns},
                "completion": answer_text(completion) or "",
                "tokens": len(completion_ids[k]) if completion_ids is not None else None,
                "reward": rewards[k],
                **{name: logged[name][k] for name in VERDICT_COLUMNS if name in logged},
                "success_strict": logged["verdict"][k] == str(Stage.CORRECT),
            }
            for k, completion in enumerate(completions)
        ]
        samples: list[Sample] = gather_object(mine)
        if self._main:
            self._write(samples)
        results = list(self._results(samples))
        if self.curriculum is not None:
            self.curriculum.record(self.generation, results)
        self.generation += 1
        for name, value in self._metrics(samples, results, scored).items():
            log_metric(f"atomworld/{name}", value)
        return rewards

    def _results(self, samples: Sequence[Sample]) -> Iterator[GroupResult]:
        for start in range(0, len(samples), self._num_generations):
            group = samples[start : start + self._num_generations]
            earned = [sample["reward"] for sample in group if sample["reward"] is not None]
            success = sum(sample["success_strict"] for sample in group) / len(group)
            spread = bool(earned) and max(earned) - min(earned) > 1e-6
            yield GroupResult(Cell(str(group[0].get("action")), int(group[0].get("cell_level") or 0)), success, spread)

    def _metrics(self, samples: Sequence[Sample], results: Sequence[GroupResult], scored: float) -> dict[str, float]:
        by_action: dict[str, list[bool]] = {}
        for sample in samples:
            by_action.setdefault(str(sample.get("action")), []).append(sample["success_strict"])
        metrics = {f"success_strict/{action}": sum(right) / len(right) for action, right in by_action.items()}
        metrics["zero_spread"] = sum(not result.spread for result in results) / len(results)
        now = time.perf_counter()
        if self._last_end is not None:
            metrics["reward_share"] = scored / (now - self._last_end)
        self._last_end = now
        if self.curriculum is not None and self.curriculum.adaptive:
            for action in {cell.action for cell in self.curriculum.cells}:
                metrics[f"level/{action}"] = float(self.curriculum.highest_level(action))
        return metrics

    def _write(self, samples: Sequence[Sample]) -> None:
        rows = [{name: sample.get(name) for name in SAMPLE_COLUMNS.names} for sample in samples]
        path = self.folder / f"{self.generation:06d}.parquet"
        partial = path.with_suffix(".partial")
        table = pyarrow.Table.from_pylist(rows, schema=SAMPLE_COLUMNS)
        pyarrow.parquet.write_table(table, partial, compression="zstd")
        os.replace(partial, path)
