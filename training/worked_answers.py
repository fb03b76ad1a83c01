"""Right answers with the arithmetic that leads to them, for models that reason before they answer.

The text inside ``<think>…</think>`` goes from the numbers of the prompt to those of the answer in steps that each
follow from what is written. Models that fail these edits fail by linear algebra that does not hang together (a matrix
stated and another one used); this shows them how it does.
"""

from __future__ import annotations

from atomworld_env.structures.cif import CifStyle, write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards import Arrangement, compare_strict
from training.oracle_answers import compact_answer, kept_sites
from training.worked_edits import WORKED_EDITS
from training.worksheet import Worksheet

LARGEST_ERROR = 0.03
"""Å that rounding along the way may shift an atom; a third of what is accepted."""


def worked_answer(task: Task, *, style: CifStyle = "compact") -> str:
    """The steps of the edit inside ``<think>`` tags, then the edited CIF.

    Args:
        style: of the CIF.

    Raises:
        ArithmeticError: if the steps do not lead to the truth; that would be a mistake of this module.
    """
    sheet = Worksheet()
    sheet.say(task.prompt)
    edited = WORKED_EDITS[task.action](sheet, task.crystal, task.params)
    _check(edited, task)
    steps = "\n".join(sheet.lines)
    if style == "full":
        return f"<think>\n{steps}\n</think>\n<cif>\n{write_cif(edited, style=style)}</cif>"
    return f"<think>\n{steps}\n</think>\n{compact_answer(edited, kept_sites(task.crystal, task.target_crystal))}"


def _check(edited: Crystal, task: Task) -> None:
    truth = task.target_crystal
    found = compare_strict(_arrangement(edited), _arrangement(truth))
    if found.max_displacement is None or found.max_displacement > LARGEST_ERROR:
        raise ArithmeticError(f"{task.task_id}: the written steps end at {found.stage}, {found.max_displacement} Å off")


def _arrangement(crystal: Crystal) -> Arrangement:
    return Arrangement(cell=crystal.cell, species=crystal.species, frac=crystal.frac)
