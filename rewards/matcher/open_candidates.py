"""What the search leaves open, put to ``StructureMatcher`` itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure
    from pymatgen.core.structure_matcher import StructureMatcher


def any_fits(
    matcher: StructureMatcher,
    target: Structure,
    answer: Structure,
    mappings: int,
    candidates: Sequence[tuple[int, int]],
) -> bool | None:
    """What StructureMatcher makes of single candidates: whether ``fit`` would accept one of them.

    Args:
        mappings: how many there are.
        candidates: number of the mapping and of the target site among those of the rarest species.

    Returns:
        None if it sees other mappings than those that they are numbered by.
    """
    ask: Any = matcher  # its methods are not typed
    # By its own way from the structures that were read: the last bit of a coordinate may decide.
    one, two, *_ = ask._preprocess(*ask._process_species([target, answer]))
    mask, sites, seed = ask._get_mask(one, two, 1, True)
    wanted: dict[int, list[int]] = {}
    for mapping, site in candidates:
        wanted.setdefault(mapping, []).append(site)
    last = -1
    for last, (theirs, mine, lattice, _) in enumerate(ask._get_supercells(one, two, 1, True)):
        if last not in wanted:
            continue
        unit = (len(theirs) / lattice.volume) ** (1 / 3)
        reach = ask.stol / (np.pi * unit)
        boxes = [np.array(each.reciprocal_lattice.abc) * reach for each in (lattice, lattice.get_lll_reduced_lattice())]
        for site in wanted[last]:
            moved = mine + (theirs[sites[site]] - mine[seed])
            if not ask._cmp_fstruct(theirs, moved, boxes[0], mask):
                continue
            if max(ask._cart_dists(theirs, moved, lattice, mask, unit, boxes[1])[0]) < ask.stol:
                return True
    return False if last + 1 == mappings else None
