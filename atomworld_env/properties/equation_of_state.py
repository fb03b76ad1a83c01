"""Bulk modulus from energies at several volumes: the third-order Birch-Murnaghan equation of state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

GPA = 160.21766208
"""GPa in one eV/Å³ (CODATA)."""


class NoMinimumError(ValueError):
    """The energies have no minimum within the volumes."""


@dataclass(frozen=True)
class EquationOfState:
    """What a fit gives.

    Attributes:
        volume: at the minimum, in Å³.
        energy: there, in eV.
        bulk_modulus: there, in GPa.
        residual: largest distance of an energy from the fit, in eV.
    """

    volume: float
    energy: float
    bulk_modulus: float
    residual: float


def fit_birch_murnaghan(volumes: FloatArray, energies: FloatArray) -> EquationOfState:
    """Fit E(V) and take the minimum of it.

    The third-order Birch-Murnaghan energy (F. Birch, Phys. Rev. 71, 809 (1947)) is a cubic polynomial in
    x = V^(-2/3), so the least-squares fit is linear and needs no starting values. With dx/dV = -2/3 V^(-5/3), the
    modulus B = V E''(V) is 4/9 V^(-7/3) d²E/dx² where dE/dx = 0.

    Args:
        volumes: at least five, in Å³.
        energies: in eV.

    Raises:
        NoMinimumError: if the fit has no minimum within the volumes.
    """
    reference = float(np.mean(volumes))
    scaled = (volumes / reference) ** (-2 / 3) - 1.0  # near 0, which keeps the polynomial well conditioned
    coefficients = np.polyfit(scaled, energies, 3)
    slope = np.polyder(coefficients)
    bend = np.polyder(slope)
    minima = [
        float(root.real)
        for root in np.roots(slope)
        if abs(root.imag) < 1e-9 and scaled.min() <= root.real <= scaled.max() and np.polyval(bend, root.real) > 0
    ]
    if not minima:
        raise NoMinimumError("the energy has no minimum near the relaxed volume")
    place = minima[0]
    volume = reference * (1.0 + place) ** -1.5
    curvature = float(np.polyval(bend, place)) * reference ** (4 / 3)
    return EquationOfState(
        volume=volume,
        energy=float(np.polyval(coefficients, place)),
        bulk_modulus=4 / 9 * volume ** (-7 / 3) * curvature * GPA,
        residual=float(np.abs(np.polyval(coefficients, scaled) - energies).max()),
    )
