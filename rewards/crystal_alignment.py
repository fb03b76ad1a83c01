"""The ways to lay one crystal over another: lattices first, then shifts, then which atom is which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import Cell, FloatArray
from rewards.assignment import pair_sites
from rewards.minimum_image import ReducedLattice, image_distances, nearest_sites, reduced_lattice
from rewards.translations import PrimitiveCrystal, cell_of

LATTICE_TOLERANCE = 0.01  # relative, on each lattice constant asked for
ANGLE_TOLERANCE = 0.5  # degrees, on each angle of the cell asked for
_MOST_COPIES = 8  # of the target's primitive cell in the answer's, looked at for partial credit only
_MOST_WAYS = 20_000  # to see one lattice in the other; a right answer has a few thousand at most
_MOST_PAIRINGS = 400
_MOST_PAIRINGS_FOR_CREDIT = 60  # where the answer has several primitive cells, and so is wrong
_SLACK = 0.03  # relative, on the lengths of primitive vectors, whose constants are within 1 % and 0.5°
_ROUNDING = 1e-9
_FACES = ((1, 2), (0, 2), (0, 1))  # the vectors that alpha, beta and gamma lie between


def lattice_ways(answer: PrimitiveCrystal, target: PrimitiveCrystal, given: Cell) -> Iterator[FloatArray]:
    """Whole-number matrices H for which ``H @ (target's primitive vectors)`` are the answer's, constants included.

    Args:
        given: the cell that was asked for, whose constants the answer's vectors in its place must have.
    """
    ratio = abs(np.linalg.det(answer.matrix) / np.linalg.det(target.matrix))
    copies = round(float(ratio))
    if not 1 <= copies <= _MOST_COPIES or abs(ratio / copies - 1) > 3 * _SLACK:
        return
    lengths = np.linalg.norm(answer.matrix, axis=1)
    heights = 1 / np.linalg.norm(np.linalg.inv(target.matrix), axis=0)
    reach = np.floor((1 + _SLACK) * lengths.max() / heights).astype(int)
    if np.prod(2 * reach + 1) > _MOST_WAYS:
        return
    whole = np.array(list(product(*(range(-most, most + 1) for most in reach))), dtype=float)
    long = np.linalg.norm(whole @ target.matrix, axis=1)
    first, second, third = (whole[np.abs(long - length) <= _SLACK * length] for length in lengths)
    if len(first) * len(second) * len(third) > _MOST_WAYS:
        return
    triples = np.array([np.array(rows) for rows in product(first, second, third)]).reshape(-1, 3, 3)
    triples = triples[np.rint(np.abs(np.linalg.det(triples))) == copies]
    # The answer's own vectors in the place of the cell that was asked for.
    vectors = target.to_given @ np.linalg.inv(triples) @ answer.matrix
    yield from triples[_constants_match(vectors, given)]


def _constants_match(vectors: FloatArray, given: Cell) -> NDArray[np.bool_]:
    """Which of the cells, vectors as rows, shape (n, 3, 3), have the lattice constants of the given one."""
    lengths = np.linalg.norm(vectors, axis=2)
    cosines = np.stack(
        [np.einsum("ni,ni->n", vectors[:, i], vectors[:, j]) / (lengths[:, i] * lengths[:, j]) for i, j in _FACES], 1
    )
    angles = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    wanted = np.array(given)
    right = np.abs(lengths - wanted[:3]) <= LATTICE_TOLERANCE * wanted[:3] * (1 + _ROUNDING)
    square = np.abs(angles - wanted[3:]) <= ANGLE_TOLERANCE * (1 + _ROUNDING)
    matching: NDArray[np.bool_] = np.all(right & square, axis=1)
    return matching


def closest(
    answer: PrimitiveCrystal, target: PrimitiveCrystal, ways: Sequence[FloatArray], tolerance: float
) -> tuple[float | None, float | None]:
    """Largest displacement and sum over all ways and shifts, at their smallest; None if the numbers of atoms differ."""
    best: tuple[float, float] | None = None
    pairings = 0
    for way in ways:
        copies = round(abs(float(np.linalg.det(way))))
        most = _MOST_PAIRINGS if copies == 1 else _MOST_PAIRINGS_FOR_CREDIT
        if pairings >= most:
            break
        placed, elements = _expanded(target, way)
        if sorted(elements) != sorted(answer.elements):
            return None, None
        lattice = reduced_lattice(cell_of(way @ target.matrix))
        groups = _groups(answer.elements, elements)
        anchor = min(groups, key=lambda pair: len(pair[0]))
        for site in anchor[0]:
            if pairings >= most:
                break
            pairings += 1
            shift = answer.frac[site] - placed[anchor[1][0]]
            largest, total = _paired(answer, placed + shift, groups, lattice, tolerance)
            if best is None or largest < best[0]:
                best = (largest, total / copies)
            if largest <= tolerance:
                return best
    return (None, None) if best is None else best


def _expanded(target: PrimitiveCrystal, way: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """The target's sites in the basis ``way @ matrix``, all that lie in that cell."""
    inverse = np.linalg.inv(way)
    copies = round(abs(float(np.linalg.det(way))))
    if copies == 1:
        return target.frac @ inverse, target.elements
    # The lattice points in the cell: a multiple of 1/copies along each axis.
    cells = np.array(list(product(range(copies), repeat=3)), dtype=float)
    offsets = np.unique(np.mod(np.rint(cells @ inverse * copies), copies), axis=0) / copies
    places = np.concatenate([target.frac @ inverse + offset for offset in offsets])
    return places, target.elements * len(offsets)


def _groups(mine: tuple[str, ...], theirs: tuple[str, ...]) -> list[tuple[list[int], list[int]]]:
    return [
        ([k for k, each in enumerate(mine) if each == symbol], [k for k, each in enumerate(theirs) if each == symbol])
        for symbol in sorted(set(mine))
    ]


def _paired(
    answer: PrimitiveCrystal,
    placed: FloatArray,
    groups: list[tuple[list[int], list[int]]],
    lattice: ReducedLattice,
    tolerance: float,
) -> tuple[float, float]:
    """Bottleneck and least sum for one way and shift; near the tolerance the shift is made the best one first."""
    partners = np.empty(len(placed), dtype=np.intp)
    for mine, theirs in groups:
        near = nearest_sites(answer.frac[mine], placed[theirs], lattice)
        if near is None or near[1].max() > 4 * tolerance or len(set(near[0].tolist())) < len(mine):
            break
        partners[mine] = np.array(theirs)[near[0]]
    else:
        apart = answer.folded - placed[partners[answer.orbit]]
        apart -= np.rint(apart)  # sites this near are their own nearest image
        vectors = (apart @ lattice.to_reduced) @ lattice.basis
        distances = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
        return float(distances.max()), float(distances.sum()) / answer.copies
    largest, total = 0.0, 0.0
    for mine, theirs in groups:
        bottleneck, least_sum = pair_sites(image_distances(answer.frac[mine], placed[theirs], lattice))
        largest, total = max(largest, bottleneck), total + least_sum
    return largest, total
