"""Which elements may be brought into a crystal: those alike the ones it has.

With any element allowed, tungsten on half of the sites raises nearly every bulk modulus and caesium lowers it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ase.data import atomic_numbers

from atomworld_env.properties.dft_gap import ELEMENTS as GAP_ELEMENTS

ALIKE = (
    "Li Na K Rb Cs", "Be Mg Ca Sr Ba", "B Al Ga In Tl", "C Si Ge Sn Pb", "N P As Sb Bi", "O S Se Te", "F Cl Br I",
    "Sc Ti V Cr Mn Fe Co Ni Cu Zn", "Y Zr Nb Mo Tc Ru Rh Pd Ag Cd", "Hf Ta W Re Os Ir Pt Au Hg", "Ti Zr Hf", "V Nb Ta",
    "Cr Mo W", "Mn Tc Re", "Fe Ru Os", "Co Rh Ir", "Ni Pd Pt", "Cu Ag Au", "Zn Cd Hg Mg", "Sc Y La",
    "La Ce Pr Nd Sm Eu Gd Tb Dy Ho Er Tm Yb Lu", "Th U Np Pu", "C N O F", "B C N", "Al Si P S Cl", "Al Sc Fe Cr",
)  # fmt: skip
"""Rows of elements that replace one another in crystals, if only sometimes."""

GROUPS = 7
"""Of these rows the first so many are groups of the periodic table."""


def elements_alike(element: str, property_name: str) -> tuple[str, ...]:
    """Elements that may stand for one, itself included, by atomic number; for gaps, of its group and computed ones."""
    rows = ALIKE[:GROUPS] if property_name == "band_gap" else ALIKE  # other groups would give metals
    found = {element} | {symbol for row in rows if element in row.split() for symbol in row.split()}
    if property_name == "band_gap":
        found &= GAP_ELEMENTS
    return tuple(sorted(found, key=atomic_numbers.__getitem__))


def allowed_elements(species: Iterable[str], property_name: str) -> tuple[str, ...]:
    """Elements that may occur in an answer, by atomic number."""
    found = {symbol for element in set(species) for symbol in elements_alike(element, property_name)}
    return tuple(sorted(found | set(species), key=atomic_numbers.__getitem__))
