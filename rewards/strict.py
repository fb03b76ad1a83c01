"""The strict profile: is every atom where it should be, in the frame given, without rescaling or shift."""

from __future__ import annotations

from dataclasses import dataclass

from rewards.arrangement import Arrangement, Cell, FloatArray
from rewards.assignment import pair_sites
from rewards.minimum_image import ReducedLattice, image_distances, nearest_sites, reduced_lattice
from rewards.stages import Stage

DEFAULT_TOLERANCE = 0.1  # Å
LENGTH_TOLERANCE = 0.005  # relative
ANGLE_TOLERANCE = 0.5  # degrees

MOST_PAIRS_AT_ONCE = 1 << 20  # of sites, 32 MB for their difference vectors

# A length of exactly 0.5 % more counts as within, whichever way its last bit was rounded.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StrictComparison:
    """How an arrangement differs from the target.

    Attributes:
        stage: ``composition_mismatch``, ``structure_mismatch`` or ``correct``.
        max_displacement: smallest t in Å such that the sites of each element can be paired with every
            minimum-image distance <= t; None if the composition or the cell differs.
        sum_displacement: smallest possible sum of the paired distances in Å; None in the same cases.
        composition_difference: sum over elements of the difference in atom count; 0 for equal compositions.
        composition_matches, cell_matches: the two conditions before any distance is looked at.
        message: one sentence saying why.
    """

    stage: Stage
    max_displacement: float | None
    sum_displacement: float | None
    composition_difference: int
    composition_matches: bool
    cell_matches: bool
    message: str


def compare_strict(
    answer: Arrangement, target: Arrangement, *, tolerance: float = DEFAULT_TOLERANCE
) -> StrictComparison:
    """Compare an arrangement with the target in the target's frame.

    Cell lengths must agree within 0.5 % and angles within 0.5°; fractional differences are measured in the
    target's lattice to the nearest image. Order and periodic image of the atoms do not matter, charges are
    not known here, and D and T count as H.

    Args:
        tolerance: largest displacement in Å that still counts as right.

    Raises:
        ValueError: if the target's cell is no cell.
    """
    cell_matches = cells_match(answer.cell, target.cell)
    difference = composition_difference(answer, target)
    if difference:
        return StrictComparison(
            Stage.COMPOSITION_MISMATCH,
            None,
            None,
            difference,
            False,
            cell_matches,
            _composition_message(answer, target),
        )
    if not cell_matches:
        return StrictComparison(
            Stage.STRUCTURE_MISMATCH, None, None, 0, True, False, _cell_message(answer.cell, target.cell)
        )
    largest, total = displacements(answer, target)
    right = largest <= tolerance
    relation = "within" if right else "beyond"
    return StrictComparison(
        Stage.CORRECT if right else Stage.STRUCTURE_MISMATCH,
        largest,
        total,
        0,
        True,
        True,
        f"the largest displacement is {largest:.4g} Å, {relation} the tolerance of {tolerance:g} Å",
    )


def displacements(answer: Arrangement, target: Arrangement) -> tuple[float, float]:
    """Bottleneck and least sum of the displacements in Å, for two arrangements of the same composition."""
    lattice = reduced_lattice(target.cell)
    answer_sites = answer.sites_of
    largest, total = 0.0, 0.0
    for element, sites in target.sites_of.items():
        bottleneck, least_sum = _pair(answer.frac[answer_sites[element]], target.frac[sites], lattice)
        largest = max(largest, bottleneck)
        total += least_sum
    return largest, total


def _pair(mine: FloatArray, theirs: FloatArray, lattice: ReducedLattice) -> tuple[float, float]:
    """Bottleneck and least sum for the sites of one element; quick where every site stayed close to its own."""
    if len(mine) * len(theirs) <= MOST_PAIRS_AT_ONCE and (near := nearest_sites(mine, theirs, lattice)) is not None:
        partners, distances = near
        if len(set(partners.tolist())) == len(partners):  # no pairing can beat everyone's nearest partner
            return float(distances.max()), float(distances.sum())
    return pair_sites(image_distances(mine, theirs, lattice))


def cells_match(answer: Cell, target: Cell) -> bool:
    """Whether lengths agree within 0.5 % of the target's and angles within 0.5°."""
    lengths = all(
        abs(mine - theirs) <= LENGTH_TOLERANCE * theirs * (1 + _ROUNDING)
        for mine, theirs in zip(answer[:3], target[:3], strict=True)
    )
    angles = all(
        abs(mine - theirs) <= ANGLE_TOLERANCE * (1 + _ROUNDING)
        for mine, theirs in zip(answer[3:], target[3:], strict=True)
    )
    return lengths and angles


def composition_difference(answer: Arrangement, target: Arrangement) -> int:
    """Sum over elements of the absolute difference in atom count."""
    mine, theirs = answer.element_counts, target.element_counts
    if mine == theirs:
        return 0
    return sum(abs(mine[element] - theirs[element]) for element in mine.keys() | theirs.keys())


def _composition_message(answer: Arrangement, target: Arrangement) -> str:
    mine, theirs = answer.element_counts, target.element_counts
    odd = sorted(element for element in mine.keys() | theirs.keys() if mine[element] != theirs[element])
    listed = ", ".join(f"{element} {mine[element]} instead of {theirs[element]}" for element in odd[:4])
    more = f" and {len(odd) - 4} more" if len(odd) > 4 else ""
    return f"the composition differs: {listed}{more}"


def _cell_message(answer: Cell, target: Cell) -> str:
    names = ("a", "b", "c", "alpha", "beta", "gamma")
    limits = (*(LENGTH_TOLERANCE * length for length in target[:3]), *(ANGLE_TOLERANCE,) * 3)
    worst = max(range(6), key=lambda k: abs(answer[k] - target[k]) / limits[k])
    unit = "Å" if worst < 3 else "°"
    return (
        f"the cell differs: {names[worst]} is {answer[worst]:g} {unit} instead of {target[worst]:g} {unit} "
        "(0.5 % and 0.5° are allowed)"
    )
