"""Did an answer change a crystal so that a property moved the way it was asked to?

The answer must be an edit of the crystal shown, by rules that the prompt states, so that no crystal that is right for
every question can be learnt by heart. Only an answer that keeps them is evaluated. What a property is and where its
value comes from is not known here: the caller gives a function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import cbrt
from time import perf_counter
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from rewards.arrangement import Arrangement
from rewards.cif_reading import Unreadable, one_line, read_cif
from rewards.extraction import extract_cif
from rewards.minimum_image import image_distances, reduced_lattice
from rewards.same_crystal import CrystalTarget, compare_crystals
from rewards.stages import Stage
from rewards.strict import displacements
from rewards.verdict import Verdict

Direction = Literal["raise", "lower"]

MAX_SITES = 40
LEAST_DISTANCE = 0.5  # Å between two atoms
LARGEST_STRETCH = 0.15  # relative, of each cell length
LARGEST_TILT = 10.0  # degrees, of each angle
LARGEST_MOVE = 0.75  # Å, of each atom from a site of the input, with the lattice held
SAME_CRYSTAL = 0.05  # Å: nearer than this after the best shift it is the input, whatever its volume
MOST_ENERGY = 0.1  # eV per atom above the input, for an answer with the input's composition

_READABLE = (
    Stage.COMPOSITION_MISMATCH,
    Stage.STRUCTURE_MISMATCH,
    Stage.UNCHANGED,
    Stage.PROPERTY_FAILED,
    Stage.PROPERTY_MISMATCH,
    Stage.CORRECT,
)


@dataclass(frozen=True)
class Reading:
    """What is known of a property of one crystal.

    Attributes:
        value: None if there is none.
        energy: eV per atom, where it is known.
        stage: where there is no value, ``property_failed``, ``timeout`` or ``worker_lost``.
        message: why there is none.
    """

    value: float | None
    energy: float | None = None
    stage: Stage = Stage.PROPERTY_FAILED
    message: str = ""


@dataclass(frozen=True)
class Question:
    """What was asked.

    Attributes:
        direction: raise or lower.
        name, unit: of the property, for messages.
        reference: reading of the input.
        threshold: the change must be larger than this, in the unit.
    """

    direction: Direction
    name: str
    unit: str
    reference: Reading
    threshold: float


def verify_property_change(
    answer: object,
    structure: CrystalTarget,
    question: Callable[[], Question],
    evaluate: Callable[[Arrangement], Reading],
    *,
    elements: Collection[str],
    strict_tags: bool = False,
    engine: str = "fast",
) -> Verdict:
    """Verify an answer; total, as long as `evaluate` and `question` are.

    Args:
        answer: what the model wrote.
        structure: the crystal shown, prepared.
        question: gives what was asked; called only for an answer that keeps the rules.
        evaluate: the property of the answer; called last, with as many sites as the crystal shown has.
        elements: that may occur.
        strict_tags, engine: as for :func:`rewards.verify`.
    """
    started = perf_counter()
    found = extract_cif(answer, strict_tags=strict_tags)
    if found.cif is None:
        stage, message = Stage.NO_CIF, found.message
    else:
        crystal = read_cif(found.cif, engine=engine, strict_only=True).strict
        if isinstance(crystal, Unreadable):
            stage, message = crystal.stage, crystal.message
        else:
            stage, message = _judge(crystal, structure, question, evaluate, elements)
    return Verdict(
        stage=stage,
        message=message,
        extraction=found.rule,
        tags_ok=found.tags_ok,
        parsable=stage in _READABLE,
        verdict_strict=stage,
        success_strict=stage is Stage.CORRECT,
        seconds=perf_counter() - started,
    )


def _judge(
    crystal: Arrangement,
    structure: CrystalTarget,
    question: Callable[[], Question],
    evaluate: Callable[[Arrangement], Reading],
    elements: Collection[str],
) -> tuple[Stage, str]:
    try:
        broken = broken_rule(crystal, structure.given, elements)
        if crystal.element_counts == structure.given.element_counts and is_unchanged(crystal, structure):
            return Stage.UNCHANGED, "the answer is the crystal that was shown, in other words or at another volume"
        if broken is not None:
            return broken
    except Exception as error:  # not known to happen; a verdict is due even so
        return Stage.CIF_INVALID, f"the answer cannot be compared: {one_line(error)}"
    asked = question()
    if asked.reference.value is None:
        return asked.reference.stage, f"the {asked.name} of the input is not known: {asked.reference.message}"
    return judge_change(crystal, structure.given, asked, evaluate(crystal))


def broken_rule(crystal: Arrangement, given: Arrangement, elements: Collection[str]) -> tuple[Stage, str] | None:
    """The first rule that an answer breaks, and in which words; None if it is an edit of the input.

    ``composition_mismatch``: another number of sites, fewer than half of the atoms keep their element (each beside the
    site of the input that it is on), or an element that may not occur.
    ``structure_mismatch``: a cell too different, two atoms too close, an atom too far from every site of the input.
    """
    count = len(given)
    if len(crystal) != count:
        return Stage.COMPOSITION_MISMATCH, f"the answer has {len(crystal)} sites, the structure has {count}"
    kept = _kept(crystal, given)
    if 2 * kept < count:
        return Stage.COMPOSITION_MISMATCH, f"{kept} of {count} atoms keep their element, at least half must"
    foreign = sorted(set(crystal.elements) - set(elements))
    if foreign:
        return Stage.COMPOSITION_MISMATCH, f"{', '.join(foreign)} may not occur"
    for mine, theirs in zip(crystal.cell[:3], given.cell[:3], strict=True):
        if abs(mine - theirs) > LARGEST_STRETCH * theirs:
            return Stage.STRUCTURE_MISMATCH, f"a cell length is {mine:g} Å, it may differ from {theirs:g} Å by 15 %"
    for mine, theirs in zip(crystal.cell[3:], given.cell[3:], strict=True):
        if abs(mine - theirs) > LARGEST_TILT:
            return Stage.STRUCTURE_MISMATCH, f"a cell angle is {mine:g}°, it may differ from {theirs:g}° by 10°"
    distances = image_distances(crystal.frac, crystal.frac, reduced_lattice(crystal.cell))
    np.fill_diagonal(distances, np.inf)
    nearest = float(distances.min())
    if nearest < LEAST_DISTANCE:
        return Stage.STRUCTURE_MISMATCH, f"two atoms are {nearest:.2f} Å apart, {LEAST_DISTANCE} Å is the least"
    any_element = ("X",) * count
    farthest, _ = displacements(
        Arrangement(given.cell, any_element, crystal.frac), Arrangement(given.cell, any_element, given.frac)
    )
    if farthest > LARGEST_MOVE:
        return Stage.STRUCTURE_MISMATCH, f"an atom is {farthest:.2f} Å from its site, {LARGEST_MOVE} Å is the most"
    return None


def _kept(crystal: Arrangement, given: Arrangement) -> int:
    """Atoms with the element of the site that they are on, when each is put on the nearest site of its own."""
    distances = image_distances(crystal.frac, given.frac, reduced_lattice(given.cell))
    other = np.not_equal.outer(np.array(crystal.elements), np.array(given.elements))
    # Of pairings as good as each other, the one that keeps the most.
    mine, theirs = linear_sum_assignment(distances + 1e-3 * other)
    return int(len(mine) - other[mine, theirs].sum())


def is_unchanged(crystal: Arrangement, structure: CrystalTarget) -> bool:
    """Whether an answer is the input again: in other order, shifted, turned, in another setting, scaled as a whole."""
    scale = cbrt(structure.given.volume / crystal.volume)
    a, b, c, alpha, beta, gamma = crystal.cell
    scaled = Arrangement((a * scale, b * scale, c * scale, alpha, beta, gamma), crystal.species, crystal.frac)
    return compare_crystals(scaled, structure, tolerance=SAME_CRYSTAL).stage is Stage.CORRECT


def judge_change(crystal: Arrangement, given: Arrangement, asked: Question, found: Reading) -> tuple[Stage, str]:
    """The verdict on the value of an answer that keeps the rules."""
    if found.value is None:
        return found.stage, f"the {asked.name} of the answer is not known: {found.message}"
    reference, energy = asked.reference.value, asked.reference.energy
    assert reference is not None
    if crystal.element_counts == given.element_counts and found.energy is not None and energy is not None:
        above = found.energy - energy
        if above > MOST_ENERGY:
            return Stage.PROPERTY_MISMATCH, (
                f"the answer comes to rest {above:.2f} eV per atom above the structure, {MOST_ENERGY} eV is the most"
            )
    change = found.value - reference
    right = (change if asked.direction == "raise" else -change) > asked.threshold
    words = (
        f"the {asked.name} is {found.value:g} {asked.unit}, the structure's is {reference:g} {asked.unit}; it was to "
        f"be {'higher' if asked.direction == 'raise' else 'lower'} by more than {asked.threshold:g} {asked.unit}"
    )
    return (Stage.CORRECT if right else Stage.PROPERTY_MISMATCH), words
