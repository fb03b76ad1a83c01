"""A crystal exactly as it is printed: cell parameters, species and wrapped fractional coordinates in file order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import cos, radians, sin, sqrt

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CELL_DECIMALS = 4
INPUT_DECIMALS = 4
TARGET_DECIMALS = 8


def cell_matrix(cell: tuple[float, ...]) -> FloatArray:
    """Lattice vectors as rows, in Å, for cell parameters (a, b, c in Å; alpha, beta, gamma in degrees).

    The frame is the one every prompt states: a along +x, b in the xy-plane with b_y > 0, c with c_z > 0
    (International Tables for Crystallography B, section 3.3.1).

    Raises:
        ValueError: if the six numbers do not describe a cell with a positive volume.
    """
    a, b, c, alpha, beta, gamma = cell
    if min(a, b, c) <= 0 or not all(0 < angle < 180 for angle in (alpha, beta, gamma)):
        raise ValueError(f"cell lengths must be positive and angles between 0 and 180 degrees, got {cell}")
    # cos(90°) is 6e-17 in floating point; an exact zero keeps orthogonal cells exactly orthogonal.
    cos_alpha, cos_beta, cos_gamma = (0.0 if angle == 90 else cos(radians(angle)) for angle in (alpha, beta, gamma))
    sin_gamma = 1.0 if gamma == 90 else sin(radians(gamma))
    c_x = cos_beta
    c_y = (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    c_z_squared = 1.0 - c_x**2 - c_y**2
    if c_z_squared <= 0:
        raise ValueError(f"the angles {alpha}, {beta}, {gamma} do not close to a cell")
    return np.array(
        [
            [a, 0.0, 0.0],
            [b * cos_gamma, b * sin_gamma, 0.0],
            [c * c_x, c * c_y, c * sqrt(c_z_squared)],
        ]
    )


def wrap(frac: FloatArray, decimals: int) -> FloatArray:
    """Fractional coordinates in [0, 1) as they are printed with this many decimals.

    Wraps, rounds and wraps again, so that 1.0000 and -0.0000 both become 0.0000.
    """
    rounded = np.asarray(np.round(np.mod(frac, 1.0), decimals), dtype=np.float64)
    rounded[rounded >= 1.0] = 0.0
    return rounded + 0.0  # turns -0.0 into 0.0


@dataclass(frozen=True, eq=False)
class Crystal:
    """Sites of one cell in file order, with the very numbers that are printed.

    Attributes:
        cell: a, b, c in Å and alpha, beta, gamma in degrees.
        species: one element symbol per site.
        frac: fractional coordinates, shape (n_sites, 3), in [0, 1); read-only.
    """

    cell: tuple[float, float, float, float, float, float]
    species: tuple[str, ...]
    frac: FloatArray

    def __post_init__(self) -> None:
        frac = np.array(self.frac, dtype=float).reshape(-1, 3)
        if len(frac) != len(self.species):
            raise ValueError(f"{len(self.species)} species but {len(frac)} coordinates")
        frac.flags.writeable = False
        object.__setattr__(self, "frac", frac)

    @classmethod
    def printed(
        cls,
        cell: tuple[float, ...],
        species: tuple[str, ...],
        frac: FloatArray,
        decimals: int = INPUT_DECIMALS,
    ) -> Crystal:
        """The crystal as a CIF with this many decimals shows it: coordinates wrapped and rounded, cell rounded."""
        a, b, c, alpha, beta, gamma = (round(float(value), CELL_DECIMALS) for value in cell)
        return cls((a, b, c, alpha, beta, gamma), tuple(species), wrap(np.asarray(frac, dtype=float), decimals))

    def __len__(self) -> int:
        return len(self.species)

    @cached_property
    def matrix(self) -> FloatArray:
        """Lattice vectors as rows in Å, shape (3, 3), in the frame of :func:`cell_matrix`."""
        return cell_matrix(self.cell)

    @cached_property
    def inverse(self) -> FloatArray:
        """Inverse of :attr:`matrix`: Cartesian rows times this are fractional rows."""
        return np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)

    @cached_property
    def cartesian(self) -> FloatArray:
        """Cartesian coordinates of the listed sites in Å, shape (n_sites, 3)."""
        return self.frac @ self.matrix

    @cached_property
    def composition(self) -> Counter[str]:
        """Number of sites of each element."""
        return Counter(self.species)

    @property
    def is_orthogonal(self) -> bool:
        """Whether all three angles are 90 degrees as printed."""
        return self.cell[3:] == (90.0, 90.0, 90.0)

    @cached_property
    def heights(self) -> FloatArray:
        """Distance in Å between opposite faces of the cell along each axis, shape (3,)."""
        heights: FloatArray = 1.0 / np.linalg.norm(self.inverse, axis=0)
        return heights

    def replaced(
        self,
        *,
        species: tuple[str, ...] | None = None,
        frac: FloatArray | None = None,
    ) -> Crystal:
        """A target crystal in the same cell: coordinates wrapped and kept with 8 decimals."""
        return Crystal(
            self.cell,
            self.species if species is None else species,
            wrap(self.frac if frac is None else frac, TARGET_DECIMALS),
        )
