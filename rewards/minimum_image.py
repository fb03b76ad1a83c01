"""Distances to the nearest periodic image, right on any cell however oblique."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from ase.geometry.minkowski_reduction import minkowski_reduce
from numpy.typing import NDArray

from rewards.arrangement import Cell, FloatArray, cell_matrix

# One of each pair ±t of the 26 translations around the origin: |v + t| and |v - t| are taken together.
_HALF_SHELL = np.array([t for t in product((-1, 0, 1), repeat=3) if t > (0, 0, 0)], dtype=float)

# Pairs handled at once: 13 numbers each, so 2^16 pairs are about 7 MB whatever the number of sites.
_PAIRS_PER_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class ReducedLattice:
    """The same lattice in its shortest basis (Minkowski-reduced), in which the nearest image is close by.

    In such a basis the nearest image of a difference wrapped to [-1/2, 1/2] is among the 27 neighbouring ones
    (Nguyen and Stehlé, ACM Trans. Algorithms 5(4), 46, 2009, for the basis); in the given basis of an oblique
    cell it may be many cells away.

    Attributes:
        basis: reduced lattice vectors as rows in Å, shape (3, 3).
        to_reduced: fractional rows times this are fractional rows in the reduced basis, shape (3, 3).
        translations: one of each pair ± of the 26 shortest translations as columns in Å, those only that can bring
            a wrapped difference nearer, shape (3, k); k is 0 for an orthogonal cell, at most 13.
        translation_norms: their squared lengths in Å², shape (k,).
        inner_radius: of the ball inside the cell of wrapped differences, in Å: half the smallest distance between
            opposite faces.
    """

    basis: FloatArray
    to_reduced: FloatArray
    translations: FloatArray
    translation_norms: FloatArray
    inner_radius: float


def shortest_basis(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Minkowski-reduced basis of a lattice, and the unimodular operation with basis = operation @ matrix.

    Args:
        matrix: lattice vectors as rows in Å, shape (3, 3), linearly independent.
    """
    basis, operation = minkowski_reduce(matrix)  # type: ignore[no-untyped-call]
    return np.asarray(basis, dtype=np.float64), np.asarray(operation, dtype=np.float64)


@lru_cache(maxsize=256)
def reduced_lattice(cell: Cell) -> ReducedLattice:
    """The reduced basis of a cell (a, b, c in Å; alpha, beta, gamma in degrees).

    Raises:
        ValueError: if the six numbers do not describe a cell.
    """
    matrix = cell_matrix(cell)
    if cell[3:] == (90.0, 90.0, 90.0):
        basis, operation = matrix, np.eye(3)
    else:
        basis, operation = shortest_basis(matrix)
    translations = (_HALF_SHELL @ basis).T
    norms = np.einsum("ij,ij->j", translations, translations)
    # |v - t| < |v| takes v·t > |t|²/2, and v·t is largest in a corner of the cell of wrapped differences.
    helpful = np.abs(basis @ translations).sum(axis=0) > norms * (1 + 1e-12)
    return ReducedLattice(
        basis=basis,
        to_reduced=np.round(np.linalg.inv(operation)),  # unimodular: its inverse is whole numbers too
        translations=np.ascontiguousarray(translations[:, helpful]),
        translation_norms=norms[helpful],
        inner_radius=0.5 / float(np.sqrt((np.linalg.inv(basis) ** 2).sum(axis=0).max())),
    )


def nearest_sites(
    frac_a: FloatArray, frac_b: FloatArray, lattice: ReducedLattice
) -> tuple[NDArray[np.intp], FloatArray] | None:
    """For every site of one list the nearest of another, where all are nearer than the inner radius.

    A difference shorter than the inner radius is its own wrapped form, so that no other image has to be looked at;
    and every pair whose wrapped difference is longer is at least that far apart.

    Args:
        frac_a, frac_b, lattice: as for :func:`image_distances`; frac_b not empty.

    Returns:
        Index into frac_b and distance in Å for every row of frac_a, or None where one is further from all others
        than the inner radius.
    """
    difference = (frac_a @ lattice.to_reduced)[:, None, :] - (frac_b @ lattice.to_reduced)[None, :, :]
    difference -= np.rint(difference)
    vectors = difference.reshape(-1, 3) @ lattice.basis
    squared = np.einsum("ij,ij->i", vectors, vectors).reshape(len(frac_a), len(frac_b))
    nearest = squared.argmin(axis=1)
    distances: FloatArray = np.sqrt(squared[np.arange(len(frac_a)), nearest])
    return (nearest, distances) if distances.max() < lattice.inner_radius else None


def image_distances(frac_a: FloatArray, frac_b: FloatArray, lattice: ReducedLattice) -> FloatArray:
    """Distance in Å from every site of one list to the nearest image of every site of another.

    Args:
        frac_a: fractional coordinates in the original basis, shape (n, 3).
        frac_b: the same, shape (m, 3).
        lattice: the reduced basis of the cell in which both are given.

    Returns:
        Array of shape (n, m).
    """
    reduced_a = frac_a @ lattice.to_reduced
    reduced_b = frac_b @ lattice.to_reduced
    rows = max(1, _PAIRS_PER_CHUNK // max(1, len(reduced_b)))
    squared = np.empty((len(reduced_a), len(reduced_b)))
    for start in range(0, len(reduced_a), rows):
        difference = reduced_a[start : start + rows, None, :] - reduced_b[None, :, :]
        difference -= np.rint(difference)
        squared[start : start + rows] = _squared_distances(difference.reshape(-1, 3), lattice).reshape(
            -1, len(reduced_b)
        )
    return np.sqrt(squared, out=squared)


def _squared_distances(wrapped: FloatArray, lattice: ReducedLattice) -> FloatArray:
    """Squared length in Å² of the shortest image of each wrapped fractional row, shape (n,)."""
    vectors = wrapped @ lattice.basis
    here: FloatArray = np.einsum("ij,ij->i", vectors, vectors)
    if not len(lattice.translation_norms):
        return here
    # |v ± t|² = |v|² + |t|² ± 2 v·t, of which the smaller has the sign that makes the last term negative.
    projected = np.abs(vectors @ lattice.translations)
    projected *= -2.0
    projected += lattice.translation_norms
    change = np.minimum(projected.min(axis=1), 0.0)
    nearest: FloatArray = np.maximum(here + change, 0.0)
    return nearest
