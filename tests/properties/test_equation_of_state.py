"""The fit against the equation it is named after, and against ase."""

from __future__ import annotations

import numpy as np
import pytest
from ase.eos import EquationOfState as AseEquation
from ase.units import kJ

from atomworld_env.properties.equation_of_state import GPA, NoMinimumError, fit_birch_murnaghan


def birch_murnaghan(volume: np.ndarray, energy: float, least: float, modulus: float, slope: float) -> np.ndarray:
    """Energies as the equation is printed: modulus in GPa at the volume of least energy, slope its derivative."""
    strain = (least / volume) ** (2 / 3)
    return energy + 9 / 16 * least * modulus / GPA * (
        (strain - 1) ** 3 * slope + (strain - 1) ** 2 * (6 - 4 * strain)
    )  # fmt: skip


@pytest.mark.parametrize(("least", "modulus", "slope"), [(11.8, 140.0, 5.0), (40.0, 24.0, 4.0), (44.8, 3.5, 7.0)])
def test_the_equation_gives_its_own_parameters_back(least: float, modulus: float, slope: float) -> None:
    volumes = least * np.linspace(0.95, 1.08, 9)
    fit = fit_birch_murnaghan(volumes, birch_murnaghan(volumes, -3.7, least, modulus, slope))
    assert fit.bulk_modulus == pytest.approx(modulus, rel=1e-6)
    assert fit.volume == pytest.approx(least, rel=1e-8)
    assert fit.energy == pytest.approx(-3.7)
    assert fit.residual < 1e-10


def test_ase_finds_the_same_on_energies_with_noise() -> None:
    volumes = 16.0 * np.linspace(0.94, 1.06, 9)
    energies = birch_murnaghan(volumes, -4.0, 16.2, 76.0, 4.5) + np.random.default_rng(1).normal(0, 1e-4, 9)
    fit = fit_birch_murnaghan(volumes, energies)
    volume, energy, modulus = AseEquation(volumes, energies, eos="birchmurnaghan").fit()
    assert fit.volume == pytest.approx(volume, rel=1e-4)
    assert fit.bulk_modulus == pytest.approx(modulus / kJ * 1e24, rel=1e-2)
    assert fit.energy == pytest.approx(energy, abs=1e-5)


@pytest.mark.parametrize("least", [12.0, 20.0])
def test_a_minimum_outside_the_volumes_is_none(least: float) -> None:
    volumes = 16.0 * np.linspace(0.94, 1.06, 9)
    with pytest.raises(NoMinimumError):
        fit_birch_murnaghan(volumes, birch_murnaghan(volumes, -4.0, least, 76.0, 4.5))


def test_a_maximum_is_no_minimum() -> None:
    volumes = 16.0 * np.linspace(0.94, 1.06, 9)
    with pytest.raises(NoMinimumError):
        fit_birch_murnaghan(volumes, -birch_murnaghan(volumes, -4.0, 16.0, 76.0, 4.5))
