"""The smallest cell that repeats a crystal: found from its own translations, without a symmetry finder."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import Arrangement, Cell, FloatArray
from rewards.minimum_image import nearest_sites, reduced_lattice, shortest_basis

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrimitiveCrystal:
    """A crystal in its shortest primitive basis, every site of the given cell folded into it.

    Attributes:
        matrix: lattice vectors as rows in Å, shape (3, 3), Minkowski-reduced, turned as the given cell was.
        to_given: whole numbers with ``to_given @ matrix`` = the vectors of the given cell, shape (3, 3).
        copies: how many primitive cells the given one holds.
        elements: of the sites of the primitive cell.
        frac: their fractional coordinates, each the mean of its copies, shape (n, 3).
        folded: every site of the given cell in the primitive basis, shape (n * copies, 3).
        orbit: for each of these the site of the primitive cell that it is a copy of.
    """

    matrix: FloatArray
    to_given: FloatArray
    copies: int
    elements: tuple[str, ...]
    frac: FloatArray
    folded: FloatArray
    orbit: NDArray[np.intp]


def primitive_crystal(crystal: Arrangement, tolerance: float) -> PrimitiveCrystal:
    """The primitive cell of a crystal.

    A translation counts if it takes every site to within `tolerance` of a site of its element, one to one. Where the
    translations found are no group, which takes sites that are all but periodic, the given cell stays as it is.

    Args:
        crystal: at least one site. The work grows with the third power of the number of sites.
        tolerance: in Å.
    """
    moves = _translations(crystal, tolerance)
    basis = _spanned(moves)
    if basis is None:
        moves, basis = np.zeros((1, 3)), np.eye(3)
    matrix, operation = shortest_basis(basis @ crystal.matrix)
    from_given = np.linalg.inv(operation @ basis)
    folded = crystal.frac @ from_given
    elements, frac, orbit = _orbits(crystal.elements, folded, matrix, len(moves), tolerance)
    if frac is None:
        matrix, operation = shortest_basis(crystal.matrix)
        from_given = np.linalg.inv(operation)
        folded = crystal.frac @ from_given
        return PrimitiveCrystal(
            matrix, np.rint(from_given), 1, crystal.elements, folded, folded, np.arange(len(crystal))
        )
    return PrimitiveCrystal(matrix, np.rint(from_given), len(moves), elements, frac, folded, orbit)


def cell_of(matrix: FloatArray) -> Cell:
    """a, b, c in Å and alpha, beta, gamma in degrees of lattice vectors given as rows."""
    lengths = np.linalg.norm(matrix, axis=1)
    cosines = [float(matrix[i] @ matrix[j] / (lengths[i] * lengths[j])) for i, j in ((1, 2), (0, 2), (0, 1))]
    alpha, beta, gamma = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).tolist()
    a, b, c = lengths.tolist()
    return (a, b, c, alpha, beta, gamma)


def _translations(crystal: Arrangement, tolerance: float) -> FloatArray:
    """Fractional vectors from the first site of the rarest element to its copies, the zero vector included."""
    lattice = reduced_lattice(crystal.cell)
    groups = sorted(crystal.sites_of.values(), key=len)
    repeats = reduce(gcd, map(len, groups))
    origin = crystal.frac[groups[0][0]]
    found = [np.zeros(3)]
    if repeats > 1:
        for site in groups[0][1:]:
            move = crystal.frac[site] - origin
            for sites in groups:
                near = nearest_sites(crystal.frac[sites] + move, crystal.frac[sites], lattice)
                if near is None or near[1].max() > tolerance or len(set(near[0].tolist())) < len(sites):
                    break
            else:
                found.append(move)
    return np.array(found)


def _spanned(moves: FloatArray) -> FloatArray | None:
    """Basis of the lattice of the cell and its translations, in fractions of the cell; None if they are no group.

    A translation of a crystal that is repeated k times in the cell is a whole number of k-ths along each axis.
    """
    count = len(moves)
    whole = np.rint(moves * count).astype(np.int64)
    rows = _hermite(np.vstack([whole, count * np.eye(3, dtype=np.int64)]))
    # k translations make the cell k times smaller.
    if abs(int(np.prod(np.diagonal(rows)))) * count != count**3:
        return None
    return rows / count


def _hermite(rows: IntArray) -> IntArray:
    """Upper triangular basis of the integer lattice that the rows span (Gaussian elimination with remainders)."""
    left = [row.copy() for row in rows]
    basis = []
    for column in range(3):
        while True:
            left.sort(key=lambda row: (row[column] == 0, abs(int(row[column]))))
            pivot, others = left[0], [row for row in left[1:] if row[column]]
            if not others:
                break
            for row in others:
                row -= (row[column] // pivot[column]) * pivot
        basis.append(pivot)
        left = left[1:]
    return np.array(basis)


def _orbits(
    elements: tuple[str, ...], folded: FloatArray, matrix: FloatArray, copies: int, tolerance: float
) -> tuple[tuple[str, ...], FloatArray | None, NDArray[np.intp]]:
    """Sites of the primitive cell as means over their copies; None if one has not as many copies as there are."""
    inverse_heights = np.linalg.norm(np.linalg.inv(matrix), axis=0)
    reach = tolerance * inverse_heights  # fractional, along each axis
    orbit = np.full(len(folded), -1)
    symbols: list[str] = []
    places: list[FloatArray] = []
    for site, symbol in enumerate(elements):
        if orbit[site] >= 0:
            continue
        apart = folded - folded[site]
        apart -= np.rint(apart)
        near = np.all(np.abs(apart) <= 2 * reach, axis=1) & (np.linalg.norm(apart @ matrix, axis=1) <= 2 * tolerance)
        mine = [k for k in np.flatnonzero(near & (orbit < 0)).tolist() if elements[k] == symbol]
        orbit[mine] = len(symbols)
        symbols.append(symbol)
        places.append(folded[site] + apart[mine].mean(axis=0))
    sizes = Counter(orbit.tolist())
    if any(size != copies for size in sizes.values()):
        return (), None, orbit
    return tuple(symbols), np.array(places), orbit
