"""When a damaged file is a well-posed task, and what its instruction says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atomworld_env.families.cif_repair_text import CifText, NoPlaceError
from atomworld_env.families.edits import prepared
from atomworld_env.tasks.sampler import DISCRIMINATING_DISPLACEMENT
from atomworld_env.tasks.task import Task
from rewards import Stage, TargetError, Verdict
from rewards.cif_reading import ENGINES
from rewards.placeholders import LostValue, verify_with_placeholders


def unchanged_verdict(original: str, damaged: str, lost: Sequence[LostValue]) -> Verdict | None:
    """What the damaged file earns as it is; None if the task is not well posed.

    It is well posed if, by either reader and in tags or without, the damaged file is not the crystal even within
    :data:`DISCRIMINATING_DISPLACEMENT`, while the original is, and the original with placeholders where they are
    asked for, too.
    """
    right = [original, *([str(CifText.of(original).with_placeholders(lost))] if lost else [])]
    unchanged = None
    for engine in ENGINES:
        target = prepared(original, engine)
        for answer in (f"<cif>\n{damaged}\n</cif>", damaged):
            verdict = verify_with_placeholders(
                answer, target, lost, tolerance=DISCRIMINATING_DISPLACEMENT, engine=engine
            )
            if verdict.success_strict or verdict.stage is Stage.TIMEOUT:
                return None
            unchanged = unchanged or verdict
        for answer in right:
            if not verify_with_placeholders(f"<cif>\n{answer}</cif>", target, lost, engine=engine).success_strict:
                return None
    return unchanged


def instruction(params: Mapping[str, Any]) -> str:
    """How many faults there are, and which value, if any, is to be left open; not what the fault is."""
    number = len(params["faults"])
    told = "The file has one fault." if number == 1 else f"The file has {number} faults."
    lost = lost_values(params)
    if not lost:
        return f"{told} Mend it. Everything that belongs in it is still there or follows from the rest."
    tags = " and ".join(value.tag for value in lost)
    where = f" of site {lost[0].label}" if lost[0].label else ""
    verb = "is" if len(lost) == 1 else "are"
    return f"{told} Mend it. The original {tags}{where} {verb} lost: write ? there. Everything else follows."


def lost_values(params: Mapping[str, Any]) -> tuple[LostValue, ...]:
    """The numbers that a task's file has lost for good."""
    return tuple(LostValue(*map(str, row)) for row in params["lost"])


def placeholder_answer(task: Task) -> str:
    """The mended CIF with a placeholder for what cannot be known: what a model should learn to write."""
    return str(CifText.of(task.target).with_placeholders(lost_values(task.params)))


def check_task(task: Task) -> None:
    """See that the target can be read and the lost values stand in it.

    Raises:
        ValueError: in one line, naming what is wrong.
    """
    try:
        instruction(task.params)
        placeholder_answer(task)
    except (KeyError, TypeError, ValueError, IndexError, NoPlaceError) as error:
        raise ValueError(f"the parameters do not fit {task.action} ({type(error).__name__}: {error})") from None
    try:
        _ = prepared(task.target).arrangement
    except TargetError as error:
        raise ValueError(f"the target cannot be used: {error}") from None
    _ = task.target_crystal
