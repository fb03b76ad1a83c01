"""Where the atoms of one cell are: what the strict profile compares, free of any CIF notation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import cos, isfinite, radians, sin, sqrt

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Cell = tuple[float, float, float, float, float, float]

# Isotopes have their own symbols but are the same element.
_ISOTOPES = {"D": "H", "T": "H"}


def cell_matrix(cell: Cell) -> FloatArray:
    """Lattice vectors as rows in Å, shape (3, 3): a along +x, b in the xy-plane with b_y > 0, c with c_z > 0.

    Args:
        cell: a, b, c in Å and alpha, beta, gamma in degrees.

    Raises:
        ValueError: if the six numbers do not describe a cell with a positive volume.

    Formula: International Tables for Crystallography, volume B, section 3.3.1.
    """
    a, b, c, alpha, beta, gamma = cell
    if not all(isfinite(value) for value in cell):
        raise ValueError(f"cell parameters must be finite, got {cell}")
    if min(a, b, c) <= 0 or not all(0 < angle < 180 for angle in (alpha, beta, gamma)):
        raise ValueError(f"cell lengths must be positive and angles between 0 and 180 degrees, got {cell}")
    # cos(90°) is 6e-17 in floating point; an exact zero keeps orthogonal cells exactly orthogonal.
    cos_alpha, cos_beta, cos_gamma = (0.0 if angle == 90 else cos(radians(angle)) for angle in (alpha, beta, gamma))
    sin_gamma = 1.0 if gamma == 90 else sin(radians(gamma))
    c_y = (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    c_z_squared = 1.0 - cos_beta**2 - c_y**2
    if c_z_squared <= 0:
        raise ValueError(f"the angles {alpha}, {beta}, {gamma} do not close to a cell")
    return np.array(
        [[a, 0.0, 0.0], [b * cos_gamma, b * sin_gamma, 0.0], [c * cos_beta, c * c_y, c * sqrt(c_z_squared)]]
    )


@dataclass(frozen=True, eq=False)
class Arrangement:
    """One element and one place per site of a cell.

    Attributes:
        cell: a, b, c in Å and alpha, beta, gamma in degrees.
        species: one element symbol per site, without charges.
        frac: fractional coordinates, shape (n_sites, 3); any periodic image will do.

    Raises:
        ValueError: if the number of symbols and of coordinate rows differ.
    """

    cell: Cell
    species: tuple[str, ...]
    frac: FloatArray

    def __post_init__(self) -> None:
        frac = np.asarray(self.frac, dtype=np.float64).reshape(-1, 3)
        if len(frac) != len(self.species):
            raise ValueError(f"{len(self.species)} species but {len(frac)} coordinate rows")
        object.__setattr__(self, "frac", frac)

    def __len__(self) -> int:
        return len(self.species)

    @cached_property
    def matrix(self) -> FloatArray:
        """Lattice vectors as rows in Å, shape (3, 3), in the frame of :func:`cell_matrix`."""
        return cell_matrix(self.cell)

    @cached_property
    def volume(self) -> float:
        """Volume of the cell in Å³."""
        a, b, c = np.diagonal(self.matrix)
        return float(a * b * c)

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """The symbols with D and T written as H."""
        if not _ISOTOPES.keys() & set(self.species):
            return tuple(self.species)
        return tuple(_ISOTOPES.get(symbol, symbol) for symbol in self.species)

    @cached_property
    def element_counts(self) -> Counter[str]:
        """Number of atoms of each element, D and T counted as H."""
        return Counter(self.elements)

    @cached_property
    def sites_of(self) -> dict[str, NDArray[np.intp]]:
        """Indices of the sites of each element, in site order."""
        groups: dict[str, list[int]] = {}
        for index, symbol in enumerate(self.elements):
            groups.setdefault(symbol, []).append(index)
        return {symbol: np.array(indices, dtype=np.intp) for symbol, indices in groups.items()}
