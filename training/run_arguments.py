"""Options of a training run that TRL's own configuration does not have: the tasks, and those held out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from atomworld_env.tasks.sampler_config import SamplerConfig


def option(default: Any, text: str) -> Any:
    """A field with its help text."""
    return field(default=default, metadata={"help": text})


@dataclass
class TaskArguments:
    """What is trained on and what is held out; shared by supervised and reinforcement training."""

    actions: list[str] | None = field(default=None, metadata={"help": "Kinds of task to train on; all when not given."})
    pool: str = option("aflow", "Structures: 'aflow' (embedded), or a folder, archive or file of CIFs.")
    min_sites: int = option(10, "Fewest sites of an input structure.")
    max_sites: int = option(100, "Most sites of an input structure.")
    min_difficulty: float = option(0.0, "Lowest difficulty score of a task, 0 to 1.")
    max_difficulty: float = option(1.0, "Highest difficulty score of a task, 0 to 1.")
    cif_style: str = option("full", "How structures are printed: 'full' as pymatgen does, or 'compact'.")
    prompt: str = option("default", "Prompt template: a name or a file.")
    train_split: str = option("train", "Split of the prototypes that tasks are sampled from.")
    suite: str | None = option(None, "Train on the tasks of this suite instead: a name, a file or a folder.")
    tasks: int | None = option(None, "Tasks to draw in all; not needed with --max_steps or --suite.")
    heldout_split: str = option("validation", "Split of the prototypes that held-out tasks are sampled from.")
    heldout_suite: str | None = option(None, "Take the held-out tasks from this suite instead.")
    heldout_tasks: int = option(8, "Held-out tasks of each edit; 0 evaluates nothing during training.")
    heldout_every: int = option(50, "Steps from one evaluation to the next; 0: only before and after training.")
    heldout_batch_size: int = option(16, "Held-out tasks answered at a time on each rank.")
    heldout_profile: str = option("strict", "Verdicts of the evaluation: 'strict', or 'both', which is slower.")

    def sampler_config(self, split: str) -> SamplerConfig:
        """What tasks of a split are drawn from."""
        chosen: dict[str, Any] = {} if self.actions is None else {"actions": tuple(self.actions)}
        return SamplerConfig(
            pool=self.pool,
            split=split,
            min_sites=self.min_sites,
            max_sites=self.max_sites,
            difficulty=(self.min_difficulty, self.max_difficulty),
            cif_style=self.cif_style,  # type: ignore[arg-type]  # checked by the configuration itself
            **chosen,
        )


@dataclass
class RewardArguments:
    """How answers earn, and how tasks follow from what was earned."""

    reward_scheme: str = option("shaped", "Scheme of `rewards`: shaped, strict, paper or distance.")
    reward_profile: str | None = option(
        None, "'both' also judges by the published protocol; by default what is needed."
    )
    reward_workers: int | None = option(
        None, "Verifying processes of each rank; by default its share of the processors."
    )
    reward_timeout: float = option(60.0, "Seconds for one answer, after which it earns nothing.")
    max_prompt_length: int | None = option(
        None, "Most tokens of a prompt; by default what max_completion_length leaves of the model's context."
    )
    curriculum: bool = option(True, "Open levels as they are learnt, and draw less of what teaches nothing.")
    curriculum_levels: int = option(3, "Levels that the range of sites or difficulty is cut into.")
    curriculum_by: str = option("sites", "What makes a level: 'sites' or 'difficulty'.")
    curriculum_opens_at: float = option(0.6, "Share of right answers at the highest open level that opens the next.")
    curriculum_floor: float = option(0.1, "Weight of what teaches nothing, against 1 for what teaches most.")
