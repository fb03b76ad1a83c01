from __future__ import annotations

import gzip
import json

import pytest
from pymatgen.core import Lattice, Structure

from atomworld_env.structures.lineage import lineages
from atomworld_env.structures.pool import EMBEDDED_FILE, default_pool

CUBIC = Structure.from_spacegroup("Pm-3m", Lattice.cubic(4.0), ["Ba", "Ti", "O"], [[0, 0, 0], [0.5] * 3, [0.5, 0.5, 0]])
TETRAGONAL = Structure.from_spacegroup(
    "P4mm", Lattice.tetragonal(3.99, 4.03), ["Pb", "Ti", "O", "O"],
    [[0, 0, 0], [0.5, 0.5, 0.52], [0.5, 0.5, 0.02], [0.5, 0, 0.51]],
)  # fmt: skip
ROCK_SALT = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5] * 3])
ZINC_BLENDE = Structure.from_spacegroup("F-43m", Lattice.cubic(5.41), ["Zn", "S"], [[0, 0, 0], [0.25] * 3])


def test_a_distorted_variant_with_other_elements_shares_the_lineage() -> None:
    found = lineages({"tetragonal": [TETRAGONAL], "cubic": [CUBIC], "salt": [ROCK_SALT]})
    assert found == {"tetragonal": "cubic", "cubic": "cubic", "salt": "salt"}


def test_other_arrangements_of_one_formula_stay_apart() -> None:
    found = lineages({"salt": [ROCK_SALT], "blende": [ZINC_BLENDE]})
    assert found == {"salt": "salt", "blende": "blende"}


def test_likeness_is_carried_on() -> None:
    stretched = ROCK_SALT.copy()
    stretched.apply_strain([0.0, 0.0, 0.1])
    further = stretched.copy()
    further.apply_strain([0.0, 0.0, 0.1])
    found = lineages({"c": [further], "b": [stretched], "a": [ROCK_SALT]})
    assert set(found.values()) == {"a"}


def test_no_lineage_of_the_embedded_pool_is_split() -> None:
    pool = default_pool()
    rows = [json.loads(line) for line in gzip.decompress(EMBEDDED_FILE.read_bytes()).splitlines()[1:]]
    splits: dict[str, set[str]] = {}
    for row in rows:
        splits.setdefault(row["lineage"], set()).add(pool.entry(row["id"]).split)
    assert all(len(of) == 1 for of in splits.values())
    perovskites = {row["lineage"] for row in rows if row["family"] in ("AB3C_cP5_221_a_c_b", "A3BC_tP5_99_bc_a_b")}
    assert len(perovskites) == 1


@pytest.mark.slow
def test_no_small_family_of_one_split_is_like_one_of_another() -> None:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    smallest = {}
    for entry in default_pool().entries(min_sites=1, max_sites=8):
        crystal = entry.crystal
        structure = Structure(Lattice.from_parameters(*crystal.cell), crystal.species, crystal.frac)
        smallest.setdefault(entry.family, (entry.split, structure.get_primitive_structure()))
    matcher = StructureMatcher()
    members = sorted(smallest.items())
    alike = [
        (first, second)
        for k, (first, (split, one)) in enumerate(members)
        for second, (other_split, other) in members[k + 1 :]
        if split != other_split
        and one.composition.anonymized_formula == other.composition.anonymized_formula
        and len(one) == len(other)
        and matcher.fit_anonymous(one, other)
    ]
    assert alike == []
