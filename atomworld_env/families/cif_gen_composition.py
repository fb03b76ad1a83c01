"""What a structure type is made of: elements for its roles, and lattice constants from the sum of their radii."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import numpy as np

from atomworld_env.families.cif_gen_prototypes import Prototype
from atomworld_env.structures.contacts import CONTACT_FACTOR, covalent_radius, smallest_contact_ratio
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.splits import SPLITS
from rewards.same_crystal import SITE_TOLERANCE

METALS = (
    "Li", "Na", "K", "Rb", "Cs", "Be", "Mg", "Ca", "Sr", "Ba", "Sc", "Y", "La", "Ce", "Nd", "Sm", "Gd", "Dy", "Er",
    "Yb", "Lu", "Ti", "Zr", "Hf", "V", "Nb", "Ta", "Cr", "Mo", "W", "Mn", "Re", "Fe", "Ru", "Os", "Co", "Rh", "Ir",
    "Ni", "Pd", "Pt", "Cu", "Ag", "Au", "Zn", "Cd", "Al", "Ga", "In", "Tl", "Sn", "Pb", "Bi", "Th", "U",
)  # fmt: skip
METALLOIDS = ("B", "C", "Si", "Ge", "As", "Sb")
ANIONS = ("N", "P", "O", "S", "Se", "Te", "F", "Cl", "Br", "I")
KINDS = {"metal": METALS, "anion": ANIONS, "element": METALS + METALLOIDS}

STRETCH = (0.92, 1.12)
"""Range of the bond over the sum of covalent radii (`ase.data.covalent_radii`): hypothetical, not impossible."""

LENGTH_DECIMALS = 3
FREE_DECIMALS = 4
OFF_USUAL = 2 * SITE_TOLERANCE
"""How far in Å some atom must be from where the middle of the range of u would put it, so that u must be read."""

_MOST_DRAWS = 500

Numbers = dict[str, float]


class NoCompositionError(Exception):
    """No draw gave a possible crystal of the split."""


def split_of(prototype: Prototype, elements: Mapping[str, str]) -> str:
    """Split of a structure type with a composition: half train, a tenth validation, four tenths test, by a hash.

    All lattice constants of one composition are in one split; the types themselves, a few dozen, are in all.
    """
    text = f"{prototype.name} {' '.join(f'{role}:{elements[role]}' for role in sorted(elements))}"
    tenth = int.from_bytes(sha256(text.encode()).digest()[:8], "big") % 10
    return SPLITS[(tenth >= 5) + (tenth >= 6)]


def draw(prototype: Prototype, split: str | None, rng: np.random.Generator) -> tuple[dict[str, str], Numbers, Crystal]:
    """Elements for each role, the numbers a, c and u as printed, and the crystal in its conventional cell.

    Args:
        split: train, validation or test; None for any.

    Raises:
        NoCompositionError: if no draw is of the split with contacts that a crystal can have and its own u.
    """
    for _ in range(_MOST_DRAWS):
        elements = _elements(prototype, rng)
        numbers = _numbers(prototype, elements, rng)
        if split is not None and split_of(prototype, elements) != split:
            continue
        crystal = prototype.crystal(elements, **numbers)
        if prototype.free is not None and off_usual(prototype, elements, numbers) <= OFF_USUAL:
            continue
        if smallest_contact_ratio(crystal)[0] >= CONTACT_FACTOR:
            return elements, numbers, crystal
    raise NoCompositionError(f"no composition of {prototype.name} in split {split!r} in {_MOST_DRAWS} draws")


def off_usual(prototype: Prototype, elements: Mapping[str, str], numbers: Numbers) -> float:
    """Largest displacement in Å, mean shift taken off, from the crystal whose u is the middle of its range."""
    low, high = prototype.free or (0.0, 0.0)
    crystal = prototype.crystal(elements, **numbers)
    usual = prototype.crystal(elements, **numbers | {"u": (low + high) / 2})
    apart = crystal.frac - usual.frac
    vectors = (apart - np.rint(apart)) @ crystal.matrix  # so near that it is the nearest image
    return float(np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).max())


def _elements(prototype: Prototype, rng: np.random.Generator) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for role, kind in prototype.roles.items():
        left = [symbol for symbol in KINDS[kind] if symbol not in chosen.values()]
        chosen[role] = left[int(rng.integers(len(left)))]
    return chosen


def _numbers(prototype: Prototype, elements: Mapping[str, str], rng: np.random.Generator) -> Numbers:
    axial = 1.0 if prototype.axial is None else float(rng.uniform(*prototype.axial))
    u = 0.0 if prototype.free is None else round(float(rng.uniform(*prototype.free)), FREE_DECIMALS)
    bond = sum(covalent_radius(elements[role]) for role in prototype.bond[:2]) * float(rng.uniform(*STRETCH))
    a = bond / prototype.bond_length(axial, u)
    numbers = {"a": round(a, LENGTH_DECIMALS)}
    if prototype.axial is not None:
        numbers["c"] = round(a * axial, LENGTH_DECIMALS)
    if prototype.free is not None:
        numbers["u"] = u
    return numbers
