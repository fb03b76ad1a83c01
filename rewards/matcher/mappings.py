"""Every way in which the matcher lays one lattice on another, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import FloatArray

if TYPE_CHECKING:
    from pymatgen.core.lattice import Lattice

LENGTH_TOLERANCE, ANGLE_TOLERANCE = 0.2, 5.0  # ltol and angle_tol of the protocol


@dataclass(frozen=True, eq=False)
class Mappings:
    """Every way in which the matcher lays the target's lattice on the answer's, and the average lattice of each.

    Attributes:
        of_target, of_answer: fractional rows in the Niggli cell of each times this are rows in a reduced basis of
            the average lattice, shape (m, 3, 3).
        basis: the reduced basis as rows in units of V^(1/3), lower triangular, shape (m, 3, 3).
        shrink: the shortest that a vector of 1 Å in the target becomes, in the same unit, shape (m,).
    """

    of_target: FloatArray
    of_answer: FloatArray
    basis: FloatArray
    shrink: FloatArray

    def __len__(self) -> int:
        return len(self.basis)


def find_mappings(target: Lattice, answer: Lattice) -> Mappings:
    """The mappings of ``StructureMatcher._get_supercells``, by its own formulas and in its order."""
    from pymatgen.core.lattice import Lattice

    ratio = (answer.volume / target.volume) ** (1 / 6)
    mine, theirs = Lattice(target.matrix * ratio), Lattice(answer.matrix / ratio)
    scale = _scale_matrices(mine, theirs)
    aligned = scale @ mine.matrix
    average = _average(aligned, theirs.matrix)
    # One reduction for lattices that are equal but for rounding. Where rounding decides between two bases, a pair
    # may be in the reach of one and not of the other: such pairs are longer than 1, see rewards.matcher.search.
    operation = np.empty_like(average)
    known: dict[bytes, FloatArray] = {}
    for index, matrix in enumerate(average):
        key = np.round(matrix @ matrix.T, 8).tobytes()
        if key not in known:
            known[key] = np.rint(Lattice(matrix).lll_mapping)
        operation[index] = known[key]
    basis = operation @ average
    inverse = np.rint(np.linalg.inv(operation))
    length = np.cbrt(np.abs(np.linalg.det(basis)))
    deformation = np.linalg.inv(aligned) @ average
    return Mappings(
        of_target=np.rint(np.linalg.inv(scale)) @ inverse,
        of_answer=inverse,
        basis=np.linalg.cholesky(basis @ np.moveaxis(basis, 1, 2)) / length[:, None, None],
        shrink=np.linalg.svd(deformation, compute_uv=False)[:, -1] * ratio / length,
    )


def _scale_matrices(mine: Lattice, theirs: Lattice) -> FloatArray:
    """As ``Lattice.find_all_mappings`` yields them, those of one cell only, shape (m, 3, 3)."""
    reach = 1 + LENGTH_TOLERANCE
    points: Any = mine.get_points_in_sphere(
        np.zeros((1, 3)), np.zeros(3), max(theirs.lengths) * reach, zip_results=False
    )
    frac, dist = points[:2]
    cart = mine.get_cartesian_coords(frac)
    shells = [np.flatnonzero((dist / length < reach) & (dist / length > 1 / reach)) for length in theirs.lengths]
    norms = np.sum(cart**2, axis=-1) ** 0.5

    def close(first: int, second: int, angle: float) -> NDArray[np.bool_]:
        one, other = shells[first], shells[second]
        cosine = np.inner(cart[one], cart[other]) / norms[one][:, None] / norms[other]
        return np.asarray(np.abs(np.rad2deg(np.arccos(np.clip(cosine, -1, 1))) - angle) <= ANGLE_TOLERANCE)

    alpha, beta, gamma = close(1, 2, theirs.alpha), close(0, 2, theirs.beta), close(0, 1, theirs.gamma)
    rows = []
    for a, vector in enumerate(shells[0]):
        b, c = np.nonzero(gamma[a][:, None] & alpha & beta[a][None, :])
        rows.append(np.stack([np.full(len(b), vector), shells[1][b], shells[2][c]], axis=1))
    found = np.rint(frac)[np.concatenate(rows)] if rows else np.empty((0, 3, 3))
    return np.asarray(found[np.rint(np.abs(np.linalg.det(found))) == 1])


def _average(aligned: FloatArray, other: FloatArray) -> FloatArray:
    """Lattices with the mean lengths and mean angles, shape (m, 3, 3)."""
    both = np.concatenate([aligned, other[None]])
    lengths = np.linalg.norm(both, axis=2)
    units = both / lengths[:, :, None]
    cosines = np.einsum("mij,mij->mi", np.roll(units, -1, axis=1), np.roll(units, -2, axis=1))
    angles = np.arccos(np.clip(cosines, -1, 1))
    mean = (lengths[:-1] + lengths[-1]) / 2
    cos = np.cos((angles[:-1] + angles[-1]) / 2)
    metric = mean[:, :, None] * mean[:, None, :]
    for first, second, angle in ((1, 2, 0), (0, 2, 1), (0, 1, 2)):
        metric[:, first, second] *= cos[:, angle]
        metric[:, second, first] *= cos[:, angle]
    return np.asarray(np.linalg.cholesky(metric))
