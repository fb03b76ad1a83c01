"""What StructProp is made from: crystals to begin with, disturbances of them, and substitutions to try."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from atomworld_env.families.structprop_elements import elements_alike
from atomworld_env.properties.dft_gap import electrons
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import PoolEntry, default_pool
from atomworld_env.structures.splits import SPLITS
from rewards import Arrangement
from rewards.property_change import LARGEST_MOVE, broken_rule

MOST_SITES = 6
MOST_OF_ONE_FAMILY = 6
MOST_CANDIDATES = 8
STRAIN = 0.03  # relative, largest change of a cell length

GAP_COMPOUNDS = {
    "test": {
        "aflow-AB_cF8_216_c_a-ZnS": "AlP BeO BeS SiC BP AlN BN",
        "aflow-AB_cF8_225_a_b-NaCl": "LiCl LiF",
        "aflow-A_cF8_227_a-C": "SiSi CC",
        "aflow-AB_hP4_186_b_b-ZnS": "BeS AlN SiC AlP BeO BP BN",
    },
    "train": {
        "aflow-AB2_cF12_225_a_c-CaF2": "OLi SLi",
        "aflow-AB2_hP3_164_a_d-CdI2": "BeCl BeF",
        "aflow-AB_hP4_194_c_d-BN": "BN BeO",
        "aflow-A_hP4_194_f-C": "CC SiSi",
    },
}
"""Compounds of light elements on the prototypes of the pool that insulators have: first element and second. The pool's
own substitutions have only a few with cells of two to four sites, where a gap takes seconds. One cell of each crystal:
in a longer one the mesh of k-points is another, and so is the gap."""


def compounds(split: str) -> Iterator[tuple[str, Crystal]]:
    """Relaxed crystals of :data:`GAP_COMPOUNDS` with their ids, prototypes in turn."""
    from atomworld_env.properties.chgnet_relaxation import relaxed_atoms

    queues = [
        [(structure_id, pair) for pair in pairs.split()] for structure_id, pairs in GAP_COMPOUNDS.get(split, {}).items()
    ]
    for structure_id, pair in (each for turn in zip_longest(*queues) for each in turn if each is not None):
        crystal = default_pool().entry(structure_id).crystal
        renamed = dict(zip(dict.fromkeys(crystal.species), re.findall("[A-Z][a-z]?", pair), strict=False))
        species = tuple(renamed[symbol] for symbol in crystal.species)
        atoms, _ = relaxed_atoms(Arrangement(crystal.cell, species, crystal.frac))
        yield (
            f"{structure_id}-{pair}",
            Crystal.printed(tuple(atoms.cell.cellpar().tolist()), species, atoms.get_scaled_positions()),
        )


def small_crystals(split: str, seed: int) -> Iterator[tuple[str, Crystal]]:
    """Crystals of the pool with their ids, families in turn, one of a composition."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, SPLITS.index(split), 0x5350]))
    members: dict[str, list[PoolEntry]] = {}
    for entry in default_pool().entries(split, 2, MOST_SITES):
        members.setdefault(entry.family, []).append(entry)
    queues = []
    for entries in members.values():
        shuffled = [entries[k] for k in rng.permutation(len(entries))]
        distinct = {_formula(entry.crystal): entry for entry in reversed(shuffled)}
        queues.append(list(reversed(distinct.values()))[:MOST_OF_ONE_FAMILY])
    order = [queues[k] for k in rng.permutation(len(queues))]
    for turn in range(MOST_OF_ONE_FAMILY):
        yield from ((queue[turn].structure_id, queue[turn].crystal) for queue in order if turn < len(queue))


def _formula(crystal: Crystal) -> tuple[tuple[str, int], ...]:
    smallest = int(np.gcd.reduce(list(crystal.composition.values())))
    return tuple(sorted((symbol, number // smallest) for symbol, number in crystal.composition.items()))


def disturbed(crystal: Crystal, size: float, rng: np.random.Generator) -> Crystal:
    """The crystal strained, and its atoms displaced.

    Args:
        size: standard deviation of each Cartesian coordinate in Å.
    """
    lengths = np.array(crystal.cell[:3]) * (1 + rng.uniform(-STRAIN, STRAIN, 3))
    moves = np.clip(rng.normal(0.0, size, (len(crystal), 3)), -LARGEST_MOVE / 2, LARGEST_MOVE / 2)
    return Crystal.printed(
        (*lengths.tolist(), *crystal.cell[3:]), crystal.species, crystal.frac + moves @ crystal.inverse
    )


def substituted(crystal: Crystal, property_name: str, rng: np.random.Generator) -> Sequence[Crystal]:
    """Substitutions that keep the rules, in random order: all sites of an element, or as many as may be replaced."""
    most = len(crystal) // 2
    gap = property_name == "band_gap"
    changes = [
        (element, symbol)
        for element in sorted(crystal.composition)
        for symbol in elements_alike(element, property_name)
        if symbol != element
    ]
    made: list[Crystal] = []
    for k in rng.permutation(len(changes)):
        element, symbol = changes[k]
        sites = [site for site, each in enumerate(crystal.species) if each == element]
        chosen = set(sites if len(sites) <= most else sites[: max(1, most)])
        species = tuple(symbol if site in chosen else each for site, each in enumerate(crystal.species))
        candidate = Crystal.printed(crystal.cell, species, crystal.frac)
        if gap and electrons(species) % 2:
            continue
        if broken_rule(arrangement(candidate), arrangement(crystal), set(species)) is None:
            made.append(candidate)
    return made[:MOST_CANDIDATES]


def arrangement(crystal: Crystal) -> Arrangement:
    """The crystal as an oracle takes it."""
    return Arrangement(crystal.cell, crystal.species, crystal.frac)
