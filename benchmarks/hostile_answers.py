"""Hostile answers to tasks by kind: what each kind is, what it may earn, and the list of answers of one attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from random import Random

import hostile_cifs
import hostile_markup
import hostile_symmetry
import numpy as np
import odd_cifs
from cif_sheet import Sheet
from hostile_bulk import BULK, bulk_answer
from hostile_cifs import CifAttack
from hostile_markup import Markup, prompt_echo, tagged, whole_answer

from atomworld_env.policies.spoiled import doubled, inverted, mirrored, scaled, shifted
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task


class Bound(StrEnum):
    """What an answer may earn; one that the independent check finds right is right, whatever its kind.

    ``right``: it is the truth and must be found right. ``nothing``: exactly 0. ``ignorant``: made without the
    instruction, in the mean at most the parse credit and 0.01. ``spoiled``: the truth made wrong as a whole, in the
    mean at most the parse and composition credits and 0.05. ``failure``: no more than any failure, 0.50.
    """

    RIGHT = "right"
    NOTHING = "nothing"
    IGNORANT = "ignorant"
    SPOILED = "spoiled"
    FAILURE = "failure"


@dataclass(frozen=True)
class Scene:
    """What an answer is made from.

    Attributes:
        task: the question.
        rng: of this answer alone.
        number: of this answer within its kind and task.
    """

    task: Task
    rng: Random
    number: int

    def written(self, crystal: Crystal) -> str:
        """The crystal in one of the styles and precisions of honest answers."""
        style = self.rng.choice(("full", "compact"))
        return write_cif(
            crystal, style="full" if style == "full" else "compact", decimals=self.rng.choice((4, 5, 6, 8))
        )

    @cached_property
    def truth(self) -> str:
        return self.written(self.task.target_crystal)

    @cached_property
    def given(self) -> str:
        return self.rng.choice((self.task.structure, self.written(self.task.crystal)))


@dataclass(frozen=True)
class Kind:
    """One way to attack, what it may earn, and whether it is dear to verify."""

    name: str
    bound: Bound
    write: Callable[[Scene], object]
    dear: bool = False


def uncut(task: Task, style: int) -> str:
    """A right answer whole, always the same, so that each of its beginnings can be asked for."""
    rng = Random(style)
    cif = write_cif(task.target_crystal, style="compact" if style % 2 else "full", decimals=rng.choice((4, 6, 8)))
    return whole_answer(cif, rng)


def _cut(scene: Scene) -> str:
    style, length = divmod(scene.number, 10**6)
    return uncut(scene.task, style)[:length]


def _stack(first: Callable[[Scene], str]) -> Callable[[Scene], object]:
    """Two or three attacks upon each other: on the sheet, on the characters, on the markup."""

    def write(scene: Scene) -> object:
        rng, text = scene.rng, first(scene)
        attacks: list[CifAttack] = [*hostile_cifs.OPEN.values(), *hostile_cifs.RIGHT.values()]
        for _ in range(rng.randint(0, 2)):
            try:
                text = rng.choice(attacks)(Sheet.of(text), rng)
            except (ValueError, IndexError, StopIteration):  # an attack before left no sheet to take apart
                break
        text = odd_cifs.mutate(rng, text, scene.given)
        if rng.random() < 0.3:
            text = text[: rng.randrange(len(text) + 1)]
        if rng.random() < 0.6:
            return rng.choice((tagged(text), text))
        markups: list[Markup] = [*hostile_markup.OPEN.values(), *hostile_markup.RIGHT.values()]
        return rng.choice(markups)(text, text, rng)

    return write


def _loose(scene: Scene) -> object:
    crystal = scene.task.target_crystal
    return tagged(
        odd_cifs.loose_text(scene.rng, crystal, scene.rng.choice((4, 6)), scene.rng.choice((0.0, 0.01, 0.05)))
    )


def _on_sheet(attack: CifAttack, of_truth: bool = True) -> Callable[[Scene], object]:
    return lambda scene: tagged(attack(Sheet.of(scene.truth if of_truth else scene.given), scene.rng))


def _around(markup: Markup) -> Callable[[Scene], object]:
    return lambda scene: markup(scene.truth, scene.given, scene.rng)


def _spoilt(change: Callable[[Crystal], Crystal]) -> Callable[[Scene], object]:
    return lambda scene: tagged(scene.written(change(scene.task.target_crystal)))


def _by_symmetry(write: Callable[[Crystal, Random], str]) -> Callable[[Scene], object]:
    return lambda scene: write(scene.task.target_crystal, scene.rng)


def _displaced(distance: float) -> Callable[[Scene], object]:
    """All sites that far away, each in a direction of its own; 8 decimals, so that the distance is kept."""

    def write(scene: Scene) -> object:
        crystal = scene.task.target_crystal
        steps = np.array([[scene.rng.gauss(0, 1) for _ in range(3)] for _ in crystal.species])
        steps *= distance / np.linalg.norm(steps, axis=1, keepdims=True)
        return tagged(write_cif(crystal.replaced(frac=crystal.frac + steps @ crystal.inverse), decimals=8))

    return write


def _one_displaced(scene: Scene) -> object:
    crystal = scene.task.target_crystal
    step = np.array([scene.rng.gauss(0, 1) for _ in range(3)])
    frac = crystal.frac.copy()
    frac[scene.rng.randrange(len(frac))] += scene.rng.uniform(0.11, 2.0) * step / np.linalg.norm(step) @ crystal.inverse
    return tagged(write_cif(crystal.replaced(frac=frac), decimals=8))


def _kinds() -> list[Kind]:
    sheets = (
        (hostile_cifs.RIGHT, Bound.RIGHT),
        (hostile_cifs.NOTHING, Bound.NOTHING),
        (hostile_cifs.OPEN, Bound.FAILURE),
    )
    around = (
        (hostile_markup.RIGHT, Bound.RIGHT, False),
        (hostile_markup.RIGHT_AT_LENGTH, Bound.RIGHT, True),
        (hostile_markup.NOTHING, Bound.NOTHING, False),
        (hostile_markup.OPEN, Bound.FAILURE, False),
        (hostile_markup.IGNORANT, Bound.IGNORANT, False),
    )
    spoilt = {"inverted": inverted, "mirrored": mirrored, "scaled": scaled, "shifted": shifted, "doubled": doubled}
    return [
        Kind("cut before the last digit", Bound.FAILURE, _cut),
        Kind("cut at or after the last digit", Bound.RIGHT, _cut),
        Kind("attacks stacked on the truth", Bound.FAILURE, _stack(lambda scene: scene.truth)),
        Kind("attacks stacked on the input", Bound.FAILURE, _stack(lambda scene: scene.given)),
        Kind("loose style", Bound.FAILURE, _loose),
        Kind("prompt echo", Bound.IGNORANT, lambda scene: prompt_echo(scene.task, scene.rng)),
        *(Kind(f"cif: {name}", bound, _on_sheet(attack)) for table, bound in sheets for name, attack in table.items()),
        *(
            Kind(f"copy: {name}", Bound.IGNORANT, _on_sheet(attack, of_truth=False))
            for name, attack in hostile_cifs.RIGHT.items()
        ),
        # On an edit that adds an atom this is a blind guess, which may meet the element.
        Kind(
            "copy: site nearly twice",
            Bound.FAILURE,
            _on_sheet(hostile_cifs.OPEN["site nearly twice"], of_truth=False),
        ),
        *(
            Kind(f"text: {name}", bound, _around(markup), dear)
            for table, bound, dear in around
            for name, markup in table.items()
        ),
        *(Kind(f"truth: {name}", Bound.SPOILED, _spoilt(change)) for name, change in spoilt.items()),
        Kind("cif: symmetry notation", Bound.RIGHT, _by_symmetry(hostile_symmetry.symmetric)),
        Kind("cif: one operator missing", Bound.FAILURE, _by_symmetry(hostile_symmetry.one_operator_missing)),
        Kind("cif: one operator more", Bound.FAILURE, _by_symmetry(hostile_symmetry.one_operator_more)),
        Kind("truth: every site 0.09 Å off", Bound.RIGHT, _displaced(0.09)),
        Kind("truth: one site 0.11 to 2 Å off", Bound.FAILURE, _one_displaced),
        *(Kind(f"bulk: {name}", Bound.FAILURE, _bulk(name), dear=True) for name in BULK),
    ]


def _bulk(name: str) -> Callable[[Scene], object]:
    return lambda scene: bulk_answer(name, Sheet.of(scene.truth), scene.rng)


KINDS = {kind.name: kind for kind in _kinds()}
