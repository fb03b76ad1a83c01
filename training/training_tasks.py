"""The tasks of a run: what it trains on, what it is evaluated on, and that the two do not meet."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.families.edits import CrystalEdits
from atomworld_env.families.family import Family
from atomworld_env.families.registry import FAMILIES
from atomworld_env.prompts.prompt import Message, PromptTemplate, load_template
from atomworld_env.structures.pool import StructurePool, load_pool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task
from training.curriculum import Curriculum, CurriculumRule
from training.family_tasks import FamilyTasks, by_split, family_name, family_of_run, held_out_of_family
from training.generation_batches import GenerationBatches
from training.heldout_tasks import tasks_to_hold_out
from training.leakage import refuse_leakage
from training.levels import admitted_levels, level_configs
from training.task_dataset import structure_family
from training.task_stream import Fits, GivenTasks, Rows, SampledTasks

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingTasks:
    """What :func:`training.grpo.main` trains and evaluates on.

    Attributes:
        rows: the data set.
        wanted: rows asked for, by ``--tasks`` or the epochs over a suite.
        template: the prompt.
        held_out: tasks of the evaluation.
        curriculum: None where the tasks are given or of another family than the edits.
        family: name of the family that all tasks are of.
    """

    rows: Rows
    wanted: int
    template: PromptTemplate
    held_out: list[Task]
    curriculum: Curriculum | None
    family: str = "edits"

    @classmethod
    def prepare(
        cls, script: Any, tokenizer: Any, batches: GenerationBatches, *, room: int, config: Any
    ) -> TrainingTasks:
        """Of the options of a run.

        Args:
            script: GRPOArguments.
            room: most tokens of a prompt.

        Raises:
            UsageError: for options that do not go together, and if a family is on both sides.
        """
        suite = None if script.suite is None else load_suite(script.suite)
        name = family_name(script.family, suite)
        if name != "edits":
            fits = fits_in(tokenizer, room, config.chat_template_kwargs)
            return _of_family(name, script, suite, fits, batches, config)
        template, pool = load_template(script.prompt), load_pool(script.pool)
        family = CrystalEdits(pool=pool, template=template)
        fits = fits_in(tokenizer, room, config.chat_template_kwargs)
        curriculum = None
        rows: Rows
        if suite is not None:
            rows, wanted, trained = _given(script, suite, family, pool, fits, batches, config)
        else:
            curriculum, samplers = _curriculum(script, pool, batches, config.seed)
            rows = SampledTasks(samplers, curriculum, family, pool, tasks=batches.tasks, fits=fits, seed=config.seed)
            names = {name for sampler in samplers.values() for name in sampler.families}
            trained = [{"task_id": f"any of {name}", "family": name} for name in sorted(names)]
            wanted = _wanted(script, config)
        held_out = tasks_to_hold_out(script, family, pool, fits, config.seed)
        refuse_leakage(trained, _described(held_out, pool), names=("training", "evaluation"))
        return cls(rows, wanted, template, held_out, curriculum)

    def report_overflows(self) -> None:
        """Log how many sampled tasks were left out for their length."""
        if isinstance(self.rows, SampledTasks | FamilyTasks) and self.rows.overflows:
            _LOGGER.info("%d tasks were too long and drawn anew: %s", self.rows.overflows.total(),
                         ", ".join(f"{action} {n}" for action, n in self.rows.overflows.most_common()))  # fmt: skip


def fits_in(tokenizer: Any, room: int, chat_template_kwargs: dict[str, Any] | None = None) -> Fits:
    """Whether a prompt has at most so many tokens."""

    def fits(messages: list[Message]) -> bool:
        ids = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, **(chat_template_kwargs or {})
        )["input_ids"]
        return len(ids) <= room

    return fits


def _given(
    script: Any,
    suite: Suite,
    family: Family,
    pool: StructurePool | None,
    fits: Fits,
    batches: GenerationBatches,
    config: Any,
) -> tuple[Rows, int, list[dict[str, str]]]:
    suite = suite.restricted(script.actions)
    kept = [task for task in suite.tasks if fits(family.messages(task))]
    left_out = Counter(task.action for task in suite.tasks) - Counter(task.action for task in kept)
    if left_out:
        _LOGGER.info("%d of %d tasks are too long and left out: %s", left_out.total(), len(suite.tasks),
                     ", ".join(f"{action} {n}" for action, n in left_out.most_common()))  # fmt: skip
    if not kept:
        raise UsageError(f"no prompt of {script.suite} fits; lower max_completion_length or take smaller structures")
    wanted = script.tasks or int(config.num_train_epochs * len(kept))
    rows = GivenTasks(kept, family, pool, kept=4 * batches.tasks, seed=config.seed)
    return rows, wanted, _described(kept, pool)


def _wanted(script: Any, config: Any) -> int:
    if script.tasks is None and config.max_steps <= 0:
        raise UsageError("say how long to train: --max_steps, or --tasks, or a --suite")
    return script.tasks or 0


def _of_family(
    name: str, script: Any, suite: Suite | None, fits: Fits, batches: GenerationBatches, config: Any
) -> TrainingTasks:
    """Of another family than the edits: no pool, no levels, the split in place of the families of structures."""
    template = load_template(script.prompt, default=FAMILIES[name].prompt)
    family = family_of_run(name, script, template, script.train_split)
    # Leakage is looked for first by the splits, which no sampled task leaves, then by the structures that are known.
    held_out = held_out_of_family(
        script, family_of_run(name, script, template, script.heldout_split), fits, config.seed
    )
    rows: Rows
    if suite is not None:
        rows, wanted, trained = _given(script, suite, family, None, fits, batches, config)
        refuse_leakage(trained, _described(held_out, None), names=("training", "evaluation"))
    else:
        actions = tuple(script.actions or family.actions)
        rows = FamilyTasks(family, actions, kept=4 * batches.tasks, fits=fits, seed=config.seed)
        wanted = _wanted(script, config)
        trained = [{"task_id": "", "family": f"any of the split {script.train_split}"}]
        refuse_leakage(trained, by_split(held_out), names=("training", "evaluation"))
    return TrainingTasks(rows, wanted, template, held_out, None, name)


def _described(tasks: list[Task], pool: StructurePool | None) -> list[dict[str, str]]:
    return [{"task_id": task.task_id, "family": structure_family(task, pool)} for task in tasks]


def _curriculum(
    script: Any, pool: StructurePool, batches: GenerationBatches, seed: int
) -> tuple[Curriculum, dict[int, TaskSampler]]:
    number = script.curriculum_levels if script.curriculum else 1
    configs = level_configs(script.sampler_config(script.train_split), number, script.curriculum_by)
    levels = admitted_levels(configs, pool)
    samplers = {
        level: TaskSampler(configs[level], pool=pool) for level in sorted({k for of in levels.values() for k in of})
    }
    rule = CurriculumRule(opens_at=script.curriculum_opens_at, floor=script.curriculum_floor)
    curriculum = Curriculum(
        levels, tasks=batches.tasks, lag=batches.lag, seed=seed, rule=rule, adaptive=script.curriculum
    )
    return curriculum, samplers
