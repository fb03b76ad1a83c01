"""Which crystals a pool admits: the contact rule, with its one exception."""

from __future__ import annotations

from atomworld_env.structures.contacts import CONTACT_FACTOR, smallest_contact_ratio
from atomworld_env.structures.crystal import Crystal

ACTINIDES = frozenset({"Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm"})


def impossible_contact(crystal: Crystal) -> tuple[float, int, int] | None:
    """The closest contact (share of the sum of covalent radii, and the two sites) if no crystal can have it.

    Sites that print alike have a contact of 0. Crystals of actinides only are admitted with any contact: the
    tabulated radii are too large for the metals (alpha uranium has 0.6996).
    """
    contact = smallest_contact_ratio(crystal)
    if contact[0] >= CONTACT_FACTOR or (contact[0] > 0 and ACTINIDES.issuperset(crystal.species)):
        return None
    return contact
