"""The embedded pool: enough, distinct, physical structures, split by family, quickly at hand."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.data import atomic_numbers, covalent_radii
from ase.neighborlist import neighbor_list

from atomworld_env.errors import UsageError
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import (
    EMBEDDED_FILE,
    PoolEntry,
    StructurePool,
    default_pool,
    load_pool,
    read_pool_file,
    row_of,
)

ACTINIDES = {"Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm"}


def distinct(entries: list[PoolEntry] | tuple[PoolEntry, ...]) -> int:
    return len({(e.family, tuple(sorted(e.crystal.composition.items())), e.n_sites) for e in entries})


@pytest.mark.parametrize("sites", [(2, 9), (10, 100)], ids=["2-9-sites", "10-100-sites"])
def test_at_least_a_thousand_distinct_structures(sites: tuple[int, int]) -> None:
    entries = tuple(default_pool().entries(None, *sites))
    assert distinct(entries) == len(entries) >= 1000


def test_every_family_has_a_structure_of_10_to_100_sites() -> None:
    pool = default_pool()
    families = {entry.family for entry in pool.entries(min_sites=1)}
    assert {entry.family for entry in pool.entries(None, 10, 100)} == families
    assert len(families) >= 260


def test_the_test_split_is_large_enough_for_every_edit() -> None:
    entries = default_pool().entries("test", 10, 100)
    assert len({entry.family for entry in entries}) >= 90
    assert sum(len(entry.elements) > 1 for entry in entries) >= 700


def test_no_family_is_in_two_splits_and_shares_are_50_10_40() -> None:
    pool = default_pool()
    splits = defaultdict(set)
    for entry in pool.entries(min_sites=1):
        splits[entry.family].add(entry.split)
    assert all(len(found) == 1 for found in splits.values())
    shares = {
        split: sum(found == {split} for found in splits.values()) / len(splits)
        for split in ("train", "validation", "test")
    }
    assert shares == pytest.approx({"train": 0.5, "validation": 0.1, "test": 0.4}, abs=0.01)


def test_structures_of_two_splits_share_no_arrangement_label() -> None:
    # The AFLOW label stands in the id too: a family that was renamed by hand would show here.
    for entry in default_pool().entries(min_sites=1):
        assert entry.structure_id.startswith(f"aflow-{entry.family}-")


def test_numbers_are_as_printed() -> None:
    for entry in default_pool().entries(min_sites=1):
        crystal = entry.crystal
        again = Crystal.printed(crystal.cell, crystal.species, crystal.frac)
        assert again.cell == crystal.cell
        assert np.array_equal(again.frac, crystal.frac)
        assert len(crystal) == entry.n_sites <= 100
        assert tuple(sorted(crystal.composition)) == entry.elements
        assert len(np.unique(crystal.frac, axis=0)) == len(crystal)
        assert np.linalg.det(crystal.matrix) > 0


def test_no_impossible_contact_by_an_independent_neighbour_list() -> None:
    for entry in default_pool().entries(min_sites=1)[::7]:
        if set(entry.elements) <= ACTINIDES:
            continue
        crystal = entry.crystal
        atoms = Atoms(crystal.species, scaled_positions=crystal.frac, cell=crystal.matrix, pbc=True)
        limits = {symbol: 0.7 * covalent_radii[atomic_numbers[symbol]] for symbol in entry.elements}
        # ASE takes a radius for each atom and lists the pairs whose spheres meet.
        near = neighbor_list("i", atoms, [limits[symbol] - 1e-9 for symbol in crystal.species])
        assert len(near) == 0, entry.structure_id


def test_elements_have_a_tabulated_radius() -> None:
    assert max(atomic_numbers[symbol] for symbol in default_pool().elements) <= 96


def test_ids_tell_the_origin() -> None:
    pool = default_pool()
    perovskite = pool.entry("aflow-AB3C_cP5_221_a_c_b-CaTiO3")
    assert (perovskite.n_sites, perovskite.crystal.composition) == (5, {"Ca": 1, "Ti": 1, "O": 3})
    assert "AFLOW AB3C_cP5_221_a_c_b" in perovskite.provenance
    repeated = pool.entry("aflow-AB_cF8_225_a_b-NaCl-conventional")
    assert repeated.crystal.composition == {"Na": 4, "Cl": 4}
    substituted = pool.entry("aflow-AB2_cF12_225_a_c-CaF2-Ca>Sr")
    assert substituted.elements == ("F", "Sr")


def test_selection_is_cached_and_in_a_stable_order() -> None:
    pool = default_pool()
    entries = pool.entries("train", 10, 100)
    assert pool.entries("train", 10, 100) is entries
    everything = [entry.structure_id for entry in pool.entries(min_sites=1)]
    assert len(everything) == len(set(everything)) == len(pool)
    chosen = {entry.structure_id for entry in entries}
    assert [entry.structure_id for entry in entries] == [name for name in everything if name in chosen]


def test_coordinates_stay_text_until_asked_for() -> None:
    entry = read_pool_file(EMBEDDED_FILE).entries()[0]
    assert "crystal" not in vars(entry)
    assert entry.crystal is entry.crystal
    assert pickle.loads(pickle.dumps(entry)) == entry


def test_loads_fast_and_without_pymatgen() -> None:
    code = (
        "import sys; from atomworld_env.structures.pool import default_pool; default_pool().entries('test');"
        "sys.exit('pymatgen' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    seconds = []
    for _ in range(5):
        start = time.process_time()
        read_pool_file(EMBEDDED_FILE)
        seconds.append(time.process_time() - start)
    assert min(seconds) <= 0.15
    assert EMBEDDED_FILE.stat().st_size < 2_000_000


def test_version_follows_the_data(tmp_path: Path) -> None:
    data = gzip.decompress(EMBEDDED_FILE.read_bytes())
    copy = tmp_path / "copy.jsonl.gz"
    copy.write_bytes(gzip.compress(data, 1))
    assert read_pool_file(copy).version == default_pool().version
    copy.write_bytes(gzip.compress(data.replace(b"0.5000", b"0.5001", 1)))
    assert read_pool_file(copy).version != default_pool().version


def test_a_row_gives_back_its_crystal() -> None:
    crystal = Crystal.printed((4, 5, 6, 90, 100.12345, 90), ("Na", "Cl", "Na"), np.array([[1.0, -0.1, 1 / 3]] * 3))
    row = json.loads(json.dumps(row_of("one", "family", "made up", crystal)))
    entry = StructurePool("test", "0", [row]).entry("one")
    assert row["species"] == "Na1 Cl1 Na1"
    assert entry.crystal.species == crystal.species
    assert entry.crystal.cell == crystal.cell
    assert np.array_equal(entry.crystal.frac, crystal.frac)


def test_load_pool_by_name() -> None:
    assert load_pool("aflow") is default_pool()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: load_pool("aflw"), "no structure pool or path 'aflw'", id="unknown-pool"),
        pytest.param(lambda: default_pool().entries("dev"), "choose one of train", id="unknown-split"),
        pytest.param(lambda: default_pool().entry("aflow-AB_cF8_225_a_b-NaCI"), "did you mean", id="unknown-structure"),
    ],
)
def test_mistakes_are_named_in_one_line(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        call()  # type: ignore[operator]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no gzip", id="not-gzip"),
        pytest.param(gzip.compress(b"{}\n"), id="no-format"),
        pytest.param(gzip.compress(b'{"format": 99}\n'), id="newer-format"),
        pytest.param(EMBEDDED_FILE.read_bytes()[:5000], id="cut-off"),
    ],
)
def test_a_damaged_pool_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pool.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="rebuild it"):
        read_pool_file(path)
