"""The Gymnasium environment `AtomWorld-StructProp-v0`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atomworld_env.envs.single_answer import SingleAnswerEnv
from atomworld_env.errors import UsageError
from atomworld_env.families.structprop import PropertyChange
from atomworld_env.families.structprop_records import parts_of
from atomworld_env.prompts.prompt import PromptTemplate, load_template
from atomworld_env.properties.by_name import DEFAULT, oracle_of
from atomworld_env.properties.oracle import PropertyOracle
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import Task
from rewards.cif_reading import ENGINES


class StructPropEnv(SingleAnswerEnv):
    """Change a crystal so that its bulk modulus or band gap goes up or down.

    ## Description
    A crystal is shown as CIF text with the value of one property and the direction in which it is to move. The answer
    is an edit of the crystal: listed elements on at most half of the sites, another lattice, displaced atoms. It is
    relaxed and its property is computed; it is right if the property moved that way by more than the threshold.

    ## Action Space
    Any text. The CIF is taken as in `AtomWorld-v0`.

    ## Observation Space
    A dictionary of two texts: `structure`, the input CIF, and `prompt`, all that a model needs to answer: what may be
    changed and what is refused, the structure and the instruction. `info["messages"]` holds it as chat messages.

    ## Rewards
    Between 0 and 1, by a named scheme of `rewards`. `shaped` (default): 1 for a right answer, 0.05 for any other
    readable CIF. `strict` and `distance`: 1 or 0.

    ## Starting State
    One of the stored crystals of the split, or a task drawn from a suite. `reset(options={"action":
    "raise_bulk_modulus"})` asks for one kind, `reset(options={"task": task})` for one task (a `Task`, its record, or a
    task_id of the suite).

    ## Episode End
    Every step terminates the episode. It is never truncated. A step ends within the oracle's time limit, 2 minutes for
    a bulk modulus and 5 for a gap, and some 10 seconds in which a worker process starts.

    ## Arguments
    * `suite`: a suite's name (`structprop`), a file or folder of tasks, or a `Suite`.
    * `actions`: `raise_bulk_modulus`, `lower_bulk_modulus`, `raise_band_gap`, `lower_band_gap`; all when not given.
    * `split`: train, validation, test or all; by prototype, as in `AtomWorld-v0`. No gaps are stored for validation.
    * `reward_scheme`: one of the schemes above.
    * `profile`: `strict`; there is no paper profile.
    * `tolerance`: must be None; the threshold is a part of the task.
    * `prompt`: "default", a template file with `{structure}` and `{instruction}`, or a `PromptTemplate`.
    * `strict_tags`: take the CIF only as the published protocol does.
    * `engine`: `fast`, or `reference`, which reads with pymatgen alone; the verdicts are the same.
    * `oracle`: `default` (CHGNet for the bulk modulus, extra `mlip`; PySCF for the gap, extras `mlip` and `dft`),
      `command:"PROGRAM ARGUMENTS"`, which gets the path of a CIF and prints a number with its unit, or an object of the
      protocol `atomworld_env.properties.oracle.PropertyOracle`, with the actions of its property. Without the extras
      the environment can be made, and the stored solutions are right; any other answer that keeps the rules ends as
      `worker_lost` with a message that names the extra.
    * `render_mode`: `ansi`, prompt, answer and verdict as text.

    ## Info
    As for `AtomWorld-v0` with the strict profile; `max_displacement` is always `inf`. `composition_mismatch` means
    another number of atoms, too many replaced or by an element that is not listed; `structure_mismatch` two atoms too
    close, a cell or a site too far from the input's; `unchanged` the input again; `property_failed` that there is no
    value; `property_mismatch` a change the wrong way or below the threshold. `message` holds the values.

    ## Version History
    * v0: first version.
    """

    def __init__(
        self,
        *,
        suite: str | Path | Suite | None = None,
        actions: str | Sequence[str] | None = None,
        split: str = "train",
        reward_scheme: str = "shaped",
        profile: str = "strict",
        tolerance: float | None = None,
        prompt: str | PromptTemplate = "default",
        strict_tags: bool = False,
        engine: str = "fast",
        oracle: str | PropertyOracle = DEFAULT,
        render_mode: str | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}")
        if tolerance is not None:
            raise UsageError(
                "AtomWorld-StructProp-v0 has no tolerance, the threshold is a part of the task; leave it out"
            )
        names = (actions,) if isinstance(actions, str) else None if actions is None else tuple(actions)
        family = PropertyChange(
            actions=names,
            split=split,
            template=prompt if isinstance(prompt, PromptTemplate) else load_template(prompt, default="structprop"),
            strict_tags=strict_tags,
            engine=engine,
            oracle=oracle,
        )
        self.property_changes = family
        super().__init__(
            family,
            suite=suite,
            actions=names,
            reward_scheme=reward_scheme,
            profile=profile,
            render_mode=render_mode,
        )

    def _given(self, task: Task | Mapping[str, Any] | str) -> Task:
        found = super()._given(task)
        oracle_of(parts_of(found.action)[1], self.property_changes.oracle)  # an object knows one property alone
        return found
