"""The families of tasks, by name and by the kinds of task they have. Nothing of them is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

from atomworld_env.families.action_names import GENERATIONS, PROPERTY_CHANGES, REPAIRS

EDITS = (
    "change", "remove", "add", "insert_between", "swap", "delete_below", "move", "move_towards", "rotate_around",
    "super_cell",
)  # fmt: skip
"""Names of the ten edits, as in :data:`atomworld_env.actions.ACTIONS`, which a test holds against it."""


@dataclass(frozen=True)
class FamilyEntry:
    """What everything that is written once for all families has to know of one.

    Attributes:
        name: of the family.
        env_id: of its Gymnasium environment.
        env: entry point of the environment's class. Its keyword arguments include `suite`, `actions`, `split`,
            `reward_scheme`, `profile`, `prompt`, `strict_tags`, `tolerance`, `engine` and `render_mode`; what has no
            meaning for the family must keep its default.
        check: entry point of a function that takes a task and raises ValueError, in one line, if it cannot be used.
        make: entry point of a function `(split) -> Family`, from which suites are sampled; where there is a `suite`,
            the method `sample` takes its name, too.
        actions: the kinds of task; no two families share a name.
        crystal_in: where a task's crystal stands, in ``structure`` or ``target``; None for a task without one.
        tags: what is put around an answer.
        has_paper: whether there is a paper profile.
        prompt: name of the template that ``default`` stands for.
        suite, per_action: name of the fixed suite that is sampled through :class:`Family`, and tasks of each kind in
            it; None for a family that makes its suites in another way.
        stored: entry point of a function `(split, suite) -> tasks by kind`, for a family whose suite is not sampled but
            holds the first `per_action` stored tasks of each kind, or as many as there are.
        needs: entry point of a function `(actions, name of a policy)` that raises UsageError if the answers of the
            policy cannot be verified with what is installed.
        slowest: seconds that one verdict may take by the family's own limits; whoever kills a verdict that takes too
            long waits at least so long.
    """

    name: str
    env_id: str
    env: str
    check: str
    make: str
    actions: tuple[str, ...]
    crystal_in: Literal["structure", "target"] | None
    tags: tuple[str, str] = ("<cif>", "</cif>")
    has_paper: bool = False
    prompt: str = "default"
    suite: str | None = None
    per_action: int = 250
    stored: str | None = None
    needs: str | None = None
    slowest: float = 0.0

    def load(self, part: Literal["env", "check", "make", "stored", "needs"]) -> Any:
        """The object behind an entry point."""
        module, _, name = getattr(self, part).partition(":")
        return getattr(import_module(module), name)

    def wrap(self, text: str) -> str:
        """A text between the family's tags, as a right answer has it."""
        opening, closing = self.tags
        return f"{opening}\n{text}{closing}"


FAMILIES: Mapping[str, FamilyEntry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            FamilyEntry(
                name="edits",
                env_id="AtomWorld-v0",
                env="atomworld_env.envs.atomworld:AtomWorldEnv",
                check="atomworld_env.families.edits:check_task",
                make="atomworld_env.families.edits:edits_of_split",
                actions=EDITS,
                crystal_in="structure",
                has_paper=True,
            ),
            FamilyEntry(
                name="cif_repair",
                env_id="AtomWorld-CIFRepair-v0",
                env="atomworld_env.envs.cif_repair:CifRepairEnv",
                check="atomworld_env.families.cif_repair_posing:check_task",
                make="atomworld_env.families.cif_repair:repair_of_split",
                actions=REPAIRS,
                crystal_in="target",
                prompt="cif_repair",
                suite="cif-repair",
                per_action=10,
            ),
            FamilyEntry(
                name="cif_gen",
                env_id="AtomWorld-CIFGen-v0",
                env="atomworld_env.envs.cif_gen:CifGenEnv",
                check="atomworld_env.families.cif_gen:check_task",
                make="atomworld_env.families.cif_gen:generation_of_split",
                actions=GENERATIONS,
                crystal_in="target",
                prompt="cif_gen",
                suite="cif-gen",
                per_action=4,
            ),
            FamilyEntry(
                name="coordinates",
                env_id="AtomWorld-Coordinates-v0",
                env="atomworld_env.envs.coordinates:CoordinatesEnv",
                check="atomworld_env.families.coordinates:check_coordinates",
                make="atomworld_env.families.coordinates:coordinates_of_split",
                actions=("point_move", "point_move_towards", "point_insert_between", "point_rotate_around"),
                crystal_in=None,
                tags=("<answer>", "</answer>"),
                prompt="coordinates",
                suite="coordinates",
            ),
            FamilyEntry(
                name="structprop",
                env_id="AtomWorld-StructProp-v0",
                env="atomworld_env.envs.structprop:StructPropEnv",
                check="atomworld_env.families.structprop:check_task",
                make="atomworld_env.families.structprop:property_change_of_split",
                actions=PROPERTY_CHANGES,
                crystal_in="structure",
                prompt="structprop",
                suite="structprop",
                per_action=60,
                stored="atomworld_env.families.structprop:suite_tasks",
                needs="atomworld_env.families.structprop:refuse_without_oracle",
                slowest=360.0,
            ),
        )
    }
)
"""Every family, by name."""

_BY_ACTION = {action: entry for entry in FAMILIES.values() for action in entry.actions}


def family_of(action: str) -> FamilyEntry:
    """The family that has this kind of task.

    Raises:
        ValueError: if none has, naming those there are.
    """
    try:
        return _BY_ACTION[action]
    except KeyError:
        raise ValueError(f"unknown action {action!r}; choose from {', '.join(_BY_ACTION)}") from None
