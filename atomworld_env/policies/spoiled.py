"""Crystals that look like an answer and are wrong: a structure mirrored, inverted, scaled, shifted or doubled."""

from __future__ import annotations

import numpy as np

from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal, wrap


def answer_text(crystal: Crystal) -> str:
    """The crystal as a well-formed answer."""
    return f"<cif>\n{write_cif(crystal, style='full', decimals=TARGET_DECIMALS)}</cif>"


def mirrored(crystal: Crystal) -> Crystal:
    """Fractional x of every site negated."""
    return crystal.replaced(frac=crystal.frac * np.array([-1.0, 1.0, 1.0]))


def inverted(crystal: Crystal) -> Crystal:
    """All fractional coordinates negated: the mirror image of the crystal, whatever its cell."""
    return crystal.replaced(frac=-crystal.frac)


def scaled(crystal: Crystal, factor: float = 1.05) -> Crystal:
    """Cell lengths times a factor, fractional coordinates kept."""
    a, b, c, alpha, beta, gamma = crystal.cell
    return Crystal((a * factor, b * factor, c * factor, alpha, beta, gamma), crystal.species, crystal.frac)


def shifted(crystal: Crystal, distance: float = 1.5) -> Crystal:
    """Every site moved by the same distance in Å along the Cartesian direction (1, 1, 1)."""
    step = np.full(3, distance / np.sqrt(3.0)) @ crystal.inverse
    return crystal.replaced(frac=crystal.frac + step)


def doubled(crystal: Crystal, offset: float = 0.5) -> Crystal:
    """Every site written twice, the second copy `offset` Å along x from the first."""
    step = np.array([offset, 0.0, 0.0]) @ crystal.inverse
    frac = np.vstack([crystal.frac, crystal.frac + step])
    return Crystal(crystal.cell, crystal.species * 2, wrap(frac, TARGET_DECIMALS))
