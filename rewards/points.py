"""Points in space without a crystal: is every point where it should be, whatever the order of the list?

The stages of a verdict mean here:

| stage | meaning |
|---|---|
| `no_cif` | no list of points was found |
| `cif_invalid` | what was found is no JSON list of [x, y, z] |
| `composition_mismatch` | another number of points than the target's |
| `structure_mismatch` | a point is farther from its place than the tolerance |
| `correct` | every point is within the tolerance |
| `timeout` | the list is longer than is read |
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from rewards.assignment import pair_sites
from rewards.limits import BoundExceededError
from rewards.point_reading import FloatArray, UnreadablePoints, extract_points, read_points
from rewards.stages import Stage
from rewards.strict import StrictComparison
from rewards.verdict import Verdict

DEFAULT_TOLERANCE = 0.05
"""Largest distance of a point from its place, in the unit of the coordinates."""

COINCIDENT = 0.25
"""Two answered points that are as near to each other, where the target's are not, earn nothing for their places."""


def verify_points(
    answer: object, target: FloatArray, *, tolerance: float = DEFAULT_TOLERANCE, strict_tags: bool = False
) -> Verdict:
    """Verify an answer; total: whatever the answer is, there is a verdict, no exception and no output.

    Args:
        answer: what the model wrote. Anything but a str is a ``no_cif``.
        target: the right points, shape (n, 3), in any order.
        tolerance: the largest distance that is right, in the unit of the coordinates.
        strict_tags: accept nothing but an ``<answer>…</answer>`` pair.

    Returns:
        A verdict of the strict profile with the stages of the module docstring. ``max_displacement`` is the smallest t
        such that all points can be paired with every distance <= t, ``composition_difference`` the difference in the
        number of points; there is no cell, so ``cell_matches`` is true of every list that can be read.
    """
    begun = perf_counter()
    found = extract_points(answer, strict_tags=strict_tags)
    points, stage, message = None, Stage.NO_CIF, found.message
    if found.cif is not None:
        try:
            points = read_points(found.cif)
        except UnreadablePoints as error:
            stage, message = Stage.CIF_INVALID, str(error)
        except BoundExceededError as error:
            stage, message = Stage.TIMEOUT, str(error)
    if points is None:
        return Verdict(
            stage,
            message,
            extraction=found.rule,
            tags_ok=found.tags_ok,
            verdict_strict=stage,
            success_strict=False,
            seconds=perf_counter() - begun,
        )
    comparison = compare_points(points, target, tolerance=tolerance)
    return Verdict(
        comparison.stage,
        comparison.message,
        extraction=found.rule,
        tags_ok=found.tags_ok,
        parsable=True,
        verdict_strict=comparison.stage,
        success_strict=comparison.stage is Stage.CORRECT,
        max_displacement=comparison.max_displacement,
        sum_displacement=comparison.sum_displacement,
        composition_difference=comparison.composition_difference,
        composition_matches=comparison.composition_matches,
        cell_matches=comparison.cell_matches,
        seconds=perf_counter() - begun,
    )


def compare_points(answer: FloatArray, target: FloatArray, *, tolerance: float = DEFAULT_TOLERANCE) -> StrictComparison:
    """Compare two sets of points, shapes (m, 3) and (n, 3), under the pairing that is best for the answer.

    Where two answered points coincide (:data:`COINCIDENT`) and no two of the target do, ``sum_displacement`` is None
    unless the answer is right: all points in one place are nearer to a turned set than the unturned set is, and
    ``shaped`` must not pay for that.
    """
    difference = abs(len(answer) - len(target))
    if difference:
        message = f"the list has {len(answer)} points, the target {len(target)}"
        return StrictComparison(Stage.COMPOSITION_MISMATCH, None, None, difference, False, True, message)
    largest, total = pair_sites(_distances(answer, target))
    right = largest <= tolerance
    collapsed = not right and closest_pair(answer) < COINCIDENT <= closest_pair(target)
    relation = "within" if right else "beyond"
    return StrictComparison(
        Stage.CORRECT if right else Stage.STRUCTURE_MISMATCH,
        largest,
        None if collapsed else total,
        0,
        True,
        True,
        f"the largest distance of a point from its place is {largest:.4g}, {relation} the tolerance of {tolerance:g}",
    )


def closest_pair(points: FloatArray) -> float:
    """The smallest distance between two of the points; infinite for fewer than two."""
    distances = _distances(points, points)
    np.fill_diagonal(distances, np.inf)
    return float(distances.min(initial=np.inf))


def _distances(first: FloatArray, second: FloatArray) -> FloatArray:
    difference: FloatArray = first[:, None, :] - second[None, :, :]
    distances: FloatArray = np.sqrt((difference**2).sum(axis=-1))
    return distances
