"""Which prototype families are distorted variants of one another, so that a split never separates them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure

MOST_SITES_COMPARED = 24
"""Sites of a primitive cell; the search over permuted elements takes minutes on larger ones."""


def lineages(families: Mapping[str, Sequence[Structure]]) -> dict[str, str]:
    """For each family the name of its lineage: the first, in alphabetical order, of the families it is like.

    Two families are alike if a structure of one matches a structure of the other under pymatgen's
    ``StructureMatcher.fit_anonymous`` (default tolerances: primitive cells, volume scaled, elements permuted), and a
    lineage is closed under likeness. Two labels can name one arrangement, distorted or described in another setting:
    marcasite's and rutile's, say, or the cubic and a tetragonal perovskite's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        primitive = {
            name: [structure.get_primitive_structure() for structure in structures]
            for name, structures in families.items()
        }
        matcher = StructureMatcher()
        lineage = {name: name for name in families}
        for first, second in combinations(sorted(families), 2):
            if lineage[first] != lineage[second] and _alike(matcher, primitive[first], primitive[second]):
                joined, kept = sorted((lineage[first], lineage[second]), reverse=True)
                lineage = {name: kept if of == joined else of for name, of in lineage.items()}
    return lineage


def _alike(matcher: StructureMatcher, first: Sequence[Structure], second: Sequence[Structure]) -> bool:
    return any(
        one.composition.anonymized_formula == other.composition.anonymized_formula
        and len(one) == len(other) <= MOST_SITES_COMPARED
        and bool(matcher.fit_anonymous(one, other))
        for one in first
        for other in second
    )
