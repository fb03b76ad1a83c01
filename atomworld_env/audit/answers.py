"""Answers that deserve little: ignorant ones, spoiled truths and near misses of the edits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from atomworld_env.families.registry import family_of
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.policies.near_misses import random_edit, wrong_site
from atomworld_env.policies.spoiled import answer_text, doubled, inverted, mirrored, scaled, shifted
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards import Arrangement, compare_strict

UNBOUNDED_PER_ACTION = 100
"""Tasks of each edit that are enough for a mean which no bound is held against."""

HUGE_TEXT = 600_000  # characters, above what is read at all
HUGE_ROWS = 2_400  # atom rows, above what is read at all
MANY_ROWS = 1_000  # atom rows, read at 0.3 s an answer


class Group(StrEnum):
    """What is expected of an answer.

    ``ignorant``: made without the instruction; at most the parse credit. ``spoiled``: the truth, made wrong
    as a whole; at most the parse and composition credits. ``near miss``: the right kind of edit.
    ``exploit``: made to collect credit without a right answer. The last two are printed and not bounded.
    """

    IGNORANT = "ignorant"
    SPOILED = "spoiled"
    NEAR_MISS = "near miss"
    EXPLOIT = "exploit"


@dataclass(frozen=True)
class Case:
    """What an answer is made from.

    Attributes:
        task: the question.
        other: a task of the same kind on another structure.
        rng: of this answer alone.
    """

    task: Task
    other: Task
    rng: np.random.Generator


@dataclass(frozen=True)
class AnswerKind:
    """One way to answer every task.

    Attributes:
        name: of the kind.
        group: what is expected of it.
        description: one line, for tables.
        write: the answer, as a text or as a crystal that is then written between tags.
        symmetric: a crystal that symmetry may make right; then it is left out and counted.
        actions: kinds of task it is made for; None for all.
        most_per_action: tasks of each kind that it is tried on; None for all.
        needs: what an exploit has to know of the answer.
    """

    name: str
    group: Group
    description: str
    write: Callable[[Case], str | Crystal]
    symmetric: bool = False
    actions: frozenset[str] | None = None
    most_per_action: int | None = None
    needs: str = ""

    def answer(self, task: Task, other: Task, seed: int) -> tuple[str, bool]:
        """The text for a task, the same in every run, and whether symmetry makes it right."""
        word = int.from_bytes(hashlib.sha256(f"{self.name} {task.task_id}".encode()).digest()[:8], "big")
        rng = np.random.default_rng(np.random.SeedSequence([seed, word]))
        answer = self.write(Case(task, other, rng))
        if isinstance(answer, str):
            return answer, False
        return answer_text(answer), self.symmetric and is_right(answer, task)


def is_right(crystal: Crystal, task: Task) -> bool:
    """Whether a crystal is strictly the task's target."""
    answer, target = (Arrangement(each.cell, each.species, each.frac) for each in (crystal, task.target_crystal))
    return compare_strict(answer, target).stage == "correct"


def tagged(case: Case, *texts: str) -> str:
    """Texts in one pair of the family's tags."""
    return family_of(case.task.action).wrap("".join(texts))


def _empty_cell(case: Case) -> str:
    """The target's cell and the heading of an atom loop without a row."""
    lines = case.task.target.splitlines()
    last_tag = max(k for k, line in enumerate(lines) if line.strip().startswith("_atom_site_"))
    return tagged(case, "\n".join(lines[: last_tag + 1]) + "\n")


def _other_target(case: Case) -> str:
    return tagged(case, case.other.target)


def _blocks_in_one_pair(case: Case) -> str:
    return tagged(case, case.task.structure, case.other.target, case.other.structure)


def _blocks_in_many_pairs(case: Case) -> str:
    doubled_input = answer_text(doubled(case.task.crystal)).removeprefix("<cif>\n").removesuffix("</cif>")
    return in_many_pairs(case, case.other.target, doubled_input, case.task.structure)


def in_many_pairs(case: Case, *texts: str) -> str:
    """Texts in any order, each in tags of its own."""
    return "\n\nor\n\n".join(tagged(case, texts[k]) for k in case.rng.permutation(len(texts)))


def _many_rows(rows: int) -> Callable[[Case], Crystal]:
    def write(case: Case) -> Crystal:
        crystal = case.task.crystal
        species = tuple(crystal.species[k % len(crystal)] for k in range(rows))
        extra = case.rng.random((rows - len(crystal), 3))
        return crystal.replaced(species=species, frac=np.vstack([crystal.frac, extra]))

    return write


def _huge_text(case: Case) -> str:
    return tagged(case, case.task.structure, "# so it goes on\n" * (HUGE_TEXT // 16))


def _copy_at_length(case: Case) -> str:
    words = "the site moves along the axis of the cell and nothing else changes\n" * 400
    fenced = f"```\n{case.other.structure}```"
    return f"<think>{words}{fenced}</think>\n{words}{tagged(case, case.task.structure)}\n{words}"


def _input_mirrored(case: Case) -> Crystal:
    return mirrored(case.task.crystal)


def _input_inverted(case: Case) -> Crystal:
    return inverted(case.task.crystal)


def _garbage(case: Case) -> str:
    return BASELINES["garbage"].respond(case.task, case.rng)


def _prompt(case: Case) -> str:
    template = load_template("default", default=family_of(case.task.action).prompt)
    return template.render(case.task.structure, case.task.prompt)


def ignorant(
    name: str, description: str, write: Callable[[Case], str | Crystal], *, symmetric: bool = False
) -> AnswerKind:
    """A kind of answer that is made without the instruction."""
    return AnswerKind(name, Group.IGNORANT, description, write, symmetric=symmetric)


OF_ANY_FAMILY = (
    ignorant("copy", "the input, unchanged", lambda case: tagged(case, case.task.structure)),
    ignorant("prompt_echo", "the whole prompt, which holds the input and both tags", _prompt),
    ignorant("tagged_prompt", "the whole prompt between tags", lambda case: tagged(case, _prompt(case), "\n")),
    ignorant("other_target", "the right answer of another task of the same kind", _other_target),
    ignorant("blocks_in_one_pair", "three wrong answers in one pair of tags", _blocks_in_one_pair),
    ignorant("copy_at_length", "a copy inside 80,000 characters of prose", _copy_at_length),
    ignorant("huge_text", "a copy with 600,000 characters inside the tags", _huge_text),
    ignorant("no_text", "no text at all", lambda case: ""),
    ignorant("garbage", "tags around nonsense", _garbage),
)
"""Ignorant answers that any family can be given."""

IGNORANT = (
    *OF_ANY_FAMILY,
    ignorant("empty_cell", "the target's cell without an atom", _empty_cell),
    ignorant("input_mirrored", "the input, x negated", _input_mirrored, symmetric=True),
    ignorant("input_inverted", "the input, inverted", _input_inverted, symmetric=True),
    ignorant("input_doubled", "every atom of the input twice", lambda case: doubled(case.task.crystal)),
    ignorant("blocks_in_many_pairs", "three wrong answers, each in its own tags", _blocks_in_many_pairs),
    ignorant("huge_rows", "2,400 atom rows", _many_rows(HUGE_ROWS)),
    ignorant("many_rows", "1,000 atom rows", _many_rows(MANY_ROWS)),
)


def _spoiled(name: str, description: str, spoil: Callable[[Crystal], Crystal]) -> AnswerKind:
    return AnswerKind(name, Group.SPOILED, description, lambda case: spoil(case.task.target_crystal), symmetric=True)


def _near_miss(name: str, description: str, edit: Callable[[Task, np.random.Generator], Crystal]) -> AnswerKind:
    return AnswerKind(
        name,
        Group.NEAR_MISS,
        description,
        lambda case: edit(case.task, case.rng),
        most_per_action=UNBOUNDED_PER_ACTION,
    )


SPOILED = (
    _spoiled("truth_inverted", "the truth, inverted", inverted),
    _spoiled("truth_mirrored", "the truth, x negated", mirrored),
    _spoiled("truth_scaled", "the truth, cell lengths × 1.05", scaled),
    _spoiled("truth_shifted", "the truth, moved rigidly by 1.5 Å", shifted),
)
NEAR_MISSES = (
    _near_miss("wrong_site", "the right edit on the wrong site", wrong_site),
    _near_miss("random_edit", "the right kind of edit, random numbers and sites", random_edit),
)
BOUNDED = (*IGNORANT, *SPOILED)
