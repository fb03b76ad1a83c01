"""A crystal in any cell, origin, setting, orientation is right; another lattice constant, element or place is not."""

from __future__ import annotations

import time

import numpy as np
import pytest
import spglib
from hypothesis import given, settings
from hypothesis import strategies as st

from atomworld_env.families.cif_gen_prototypes import PROTOTYPES, Prototype
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from rewards import Arrangement, Stage, TargetError
from rewards.same_crystal import MAX_SITES, CrystalTarget, compare_crystals, prepare_crystal, verify_same_crystal
from rewards.translations import cell_of, primitive_crystal

ELEMENTS = {"A": "Mg", "B": "Ti", "X": "O"}


def example(prototype: Prototype) -> Crystal:
    c = None if prototype.axial is None else round(5.1 * float(np.mean(prototype.axial)), 3)
    return prototype.crystal(ELEMENTS, 5.1, c, 0.0 if prototype.free is None else float(np.mean(prototype.free)))


CRYSTALS = {name: example(prototype) for name, prototype in PROTOTYPES.items()}
TARGETS = {name: prepare_crystal(write_cif(crystal, decimals=8)) for name, crystal in CRYSTALS.items()}
each_type = pytest.mark.parametrize("name", PROTOTYPES)


def compare(crystal: Crystal | Arrangement, target: CrystalTarget) -> Stage:
    return compare_crystals(Arrangement(crystal.cell, crystal.species, crystal.frac), target).stage


def in_another_cell(
    crystal: Crystal, rng: np.random.Generator, *, inverted: bool = False, decimals: int = 4
) -> Crystal:
    """The crystal in a random cell of equal volume with a random origin, its numbers rounded."""
    operation = np.eye(3)
    for _ in range(6):
        i, j = rng.choice(3, 2, replace=False)
        step = np.eye(3)
        step[i, j] = rng.integers(-1, 2)
        operation = step @ operation
    frac = (crystal.frac + rng.random(3)) @ np.linalg.inv(operation) * (-1 if inverted else 1)
    order = rng.permutation(len(crystal))
    cell = cell_of(operation @ crystal.matrix)
    return Crystal(cell, tuple(crystal.species[k] for k in order), np.round(frac[order], decimals))


def repeated(crystal: Crystal, factors: tuple[int, int, int]) -> Crystal:
    cells = np.array([(i, j, k) for i in range(factors[0]) for j in range(factors[1]) for k in range(factors[2])])
    frac = np.concatenate([(crystal.frac + cell) / factors for cell in cells])
    lengths = np.array(crystal.cell[:3]) * factors
    return Crystal((*lengths.tolist(), *crystal.cell[3:]), crystal.species * len(cells), frac)


@each_type
def test_the_primitive_cell_is_that_of_spglib(name: str) -> None:
    crystal = CRYSTALS[name]
    numbers = [sorted(set(crystal.species)).index(symbol) for symbol in crystal.species]
    _, places, _ = spglib.find_primitive((crystal.matrix, crystal.frac, numbers))
    found = primitive_crystal(Arrangement(crystal.cell, crystal.species, crystal.frac), 0.06)
    assert len(found.elements) == len(places)
    assert found.copies * len(places) == len(crystal)
    assert np.allclose(cell_of(found.to_given @ found.matrix), crystal.cell)


@each_type
def test_any_cell_of_equal_volume_and_any_origin_is_right(name: str) -> None:
    rng = np.random.default_rng(3)
    for k in range(6):
        assert compare(in_another_cell(CRYSTALS[name], rng, inverted=k % 2 > 0), TARGETS[name]) is Stage.CORRECT


@each_type
def test_primitive_cells_and_supercells_are_right(name: str) -> None:
    primitive = TARGETS[name].primitive
    assert compare(Arrangement(cell_of(primitive.matrix), primitive.elements, primitive.frac), TARGETS[name]) is (
        Stage.CORRECT
    )
    for factors in ((2, 1, 1), (1, 1, 3), (2, 2, 1)):
        larger = repeated(CRYSTALS[name], factors)
        if len(larger) <= MAX_SITES:
            assert compare(larger, TARGETS[name]) is Stage.CORRECT


@each_type
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_asymmetric_unit_with_operators_is_right(name: str, engine: str) -> None:
    from pymatgen.core.structure import Structure
    from pymatgen.io.cif import CifWriter

    crystal = CRYSTALS[name]
    structure = Structure(crystal.matrix, crystal.species, crystal.frac)
    for refined in (structure, structure.get_primitive_structure()):
        text = str(CifWriter(refined, symprec=1e-3))
        assert "\n  2  '" in text  # it has operators
        found = verify_same_crystal(f"<cif>{text}</cif>", TARGETS[name], engine=engine)
        assert found.stage is Stage.CORRECT, found.message


@each_type
@pytest.mark.parametrize("factor", [0.98, 0.9895, 1.0105, 1.02])
def test_one_lattice_constant_beyond_one_per_cent_is_wrong(name: str, factor: float) -> None:
    crystal = CRYSTALS[name]
    for axis in range(3):
        cell = np.array(crystal.cell)
        cell[axis] *= factor
        assert compare(Crystal(tuple(cell), crystal.species, crystal.frac), TARGETS[name]) is Stage.STRUCTURE_MISMATCH
    cell = np.array(crystal.cell)
    cell[:3] *= factor
    found = verify_same_crystal(
        f"<cif>{write_cif(Crystal(tuple(cell), crystal.species, crystal.frac))}</cif>", TARGETS[name]
    )
    assert (found.stage, found.cell_matches) == (Stage.STRUCTURE_MISMATCH, False)
    assert "lattice" in found.message


@each_type
@pytest.mark.parametrize("factors", [(1.0095, 1.0095, 1.0095), (0.9905, 0.9905, 0.9905), (1.009, 1.009, 0.991)])
def test_lattice_constants_within_one_per_cent_are_right(name: str, factors: tuple[float, float, float]) -> None:
    crystal = CRYSTALS[name]
    cell = (*(np.array(crystal.cell[:3]) * factors).tolist(), *crystal.cell[3:])
    assert compare(Crystal(cell, crystal.species, crystal.frac), TARGETS[name]) is Stage.CORRECT


@each_type
def test_an_angle_a_degree_off_is_wrong(name: str) -> None:
    crystal = CRYSTALS[name]
    for angle in range(3, 6):
        cell = np.array(crystal.cell)
        cell[angle] += 1.0
        assert compare(Crystal(tuple(cell), crystal.species, crystal.frac), TARGETS[name]) is Stage.STRUCTURE_MISMATCH


@each_type
def test_an_atom_a_tenth_of_an_angstrom_off_is_wrong(name: str) -> None:
    crystal, rng = CRYSTALS[name], np.random.default_rng(5)
    if len(crystal) == 1:
        pytest.skip("a lone atom has no place of its own")
    for size, stage in ((0.1, Stage.STRUCTURE_MISMATCH), (0.02, Stage.CORRECT)):
        for _ in range(4):
            vector = rng.normal(size=3)
            frac = crystal.frac.copy()
            frac[rng.integers(len(frac))] += size * vector / np.linalg.norm(vector) @ np.linalg.inv(crystal.matrix)
            assert compare(Crystal(crystal.cell, crystal.species, frac), TARGETS[name]) is stage


@each_type
def test_another_element_another_count_and_another_type_are_wrong(name: str) -> None:
    crystal = CRYSTALS[name]
    first = Crystal(crystal.cell, ("Zr", *crystal.species[1:]), crystal.frac)
    assert compare(first, TARGETS[name]) is Stage.COMPOSITION_MISMATCH
    if len(set(crystal.species)) > 1:
        fewer = Crystal(crystal.cell, crystal.species[1:], crystal.frac[1:])
        assert compare(fewer, TARGETS[name]) is Stage.COMPOSITION_MISMATCH
    for other, target in TARGETS.items():
        if other != name:
            assert compare(crystal, target) is not Stage.CORRECT, other


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("rocksalt", True),
        ("zincblende", True),
        ("wurtzite", True),
        ("cesium_chloride", True),
        ("nickel_arsenide", False),
    ],
)
def test_anion_and_cation_exchanged(name: str, alike: bool) -> None:
    crystal = CRYSTALS[name]
    exchanged = tuple({"Mg": "O", "O": "Mg"}[symbol] for symbol in crystal.species)
    found = compare(Crystal(crystal.cell, exchanged, crystal.frac), TARGETS[name])
    assert found is (Stage.CORRECT if alike else Stage.STRUCTURE_MISMATCH)


def test_the_roles_of_a_perovskite_matter() -> None:
    crystal = CRYSTALS["perovskite"]
    exchanged = tuple({"Mg": "Ti", "Ti": "Mg", "O": "O"}[symbol] for symbol in crystal.species)
    found = compare_crystals(Arrangement(crystal.cell, exchanged, crystal.frac), TARGETS["perovskite"])
    assert found.stage is Stage.STRUCTURE_MISMATCH
    assert found.cell_matches
    assert found.max_displacement is not None
    assert found.max_displacement > 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(sorted(PROTOTYPES)))
def test_pymatgens_matcher_agrees(seed: int, name: str) -> None:
    """A crystal with every atom moved at random: right here exactly if the matcher, as tight, finds it right."""
    from pymatgen.analysis.structure_matcher import StructureMatcher
    from pymatgen.core.structure import Structure

    rng = np.random.default_rng(seed)
    crystal = in_another_cell(CRYSTALS[name], rng, decimals=9)
    primitive = TARGETS[name].primitive
    noise = rng.normal(size=(len(primitive.elements), 3)) * rng.choice([0.002, 0.2])
    noisy = Arrangement(
        cell_of(primitive.matrix), primitive.elements, primitive.frac + noise @ np.linalg.inv(primitive.matrix)
    )
    right = compare_crystals(noisy, TARGETS[name])
    matcher = StructureMatcher(ltol=0.01, stol=0.3, angle_tol=0.5, primitive_cell=True, scale=False)
    one = Structure(crystal.matrix, crystal.species, crystal.frac)
    # In the frame of the primitive vectors, which cell parameters alone do not give.
    two = Structure(primitive.matrix, primitive.elements, noisy.frac)
    rms = matcher.get_rms_dist(one, two)
    largest = np.inf if rms is None else rms[1] * (one.volume / len(one)) ** (1 / 3)
    # The matcher minimises the rms and not the largest displacement, and the noise is far from the tolerance.
    assert (right.stage is Stage.CORRECT) == (largest <= 0.03)


def test_right_answers_of_a_supercell_with_one_atom_off_are_wrong() -> None:
    crystal = repeated(CRYSTALS["fcc"], (2, 2, 2))
    frac = crystal.frac.copy()
    frac[7] += 0.1 / 10.2
    assert compare(Crystal(crystal.cell, crystal.species, frac), TARGETS["fcc"]) is Stage.STRUCTURE_MISMATCH


@each_type
def test_a_supercell_with_every_atom_off_within_the_tolerance_is_right(name: str) -> None:
    """A translation is read off atoms that are off themselves."""
    crystal = repeated(CRYSTALS[name], (2, 2, 1))
    rng = np.random.default_rng(11)
    for size, stage in ((0.027, Stage.CORRECT), (0.06, Stage.STRUCTURE_MISMATCH)):
        for _ in range(3):
            vectors = rng.normal(size=(len(crystal), 3))
            vectors -= vectors.mean(axis=0)
            vectors *= size / np.linalg.norm(vectors, axis=1).max()
            frac = crystal.frac + vectors @ np.linalg.inv(crystal.matrix)
            assert compare(Crystal(crystal.cell, crystal.species, frac), TARGETS[name]) is stage


def test_thirds_need_four_decimals_beside_operators() -> None:
    symmetric = """data_Mg
_cell_length_a 5.1\n_cell_length_b 5.1\n_cell_length_c {c}
_cell_angle_alpha 90\n_cell_angle_beta 90\n_cell_angle_gamma 120
_symmetry_space_group_name_H-M 'P 63/m m c'
loop_\n_atom_site_label\n_atom_site_type_symbol\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z
Mg0 Mg {x} {y} 0.25
"""
    cell = {"c": CRYSTALS["hcp"].cell[2]}
    for (x, y), stage in (("0.3333", "0.6667"), Stage.CORRECT), (("0.333", "0.667"), Stage.STRUCTURE_MISMATCH):
        answer = f"<cif>{symmetric.format(x=x, y=y, **cell)}</cif>"
        assert verify_same_crystal(answer, TARGETS["hcp"]).stage is stage


@each_type
def test_a_spoiled_supercell_is_judged_quickly(name: str) -> None:
    """The lattice is right and nothing repeats, so that all ways to see the lattice are open."""
    primitive = TARGETS[name].primitive
    crystal = repeated(Crystal(cell_of(primitive.matrix), primitive.elements, primitive.frac), (2, 2, 2))
    shaken = crystal.frac + np.random.default_rng(2).normal(size=crystal.frac.shape) * 0.03
    started = time.perf_counter()
    assert compare(Crystal(crystal.cell, crystal.species, shaken), TARGETS[name]) is Stage.STRUCTURE_MISMATCH
    assert time.perf_counter() - started < 3


def test_a_left_out_atom_of_a_supercell_and_a_doubled_one_are_wrong() -> None:
    crystal = repeated(CRYSTALS["sc"], (2, 2, 2))
    fewer = Crystal(crystal.cell, crystal.species[1:], crystal.frac[1:])
    assert compare(fewer, TARGETS["sc"]) is Stage.STRUCTURE_MISMATCH
    beside = np.vstack([crystal.frac[1:], crystal.frac[1] + 0.002])
    assert compare(Crystal(crystal.cell, crystal.species, beside), TARGETS["sc"]) is Stage.STRUCTURE_MISMATCH


def test_the_share_of_the_composition_that_is_right() -> None:
    crystal = CRYSTALS["fluorite"]
    for species, difference in (("Mg", "O"), 0), (("Zr", "S"), 200), (("Mg", "S"), 133):
        kinds = dict(zip(("Mg", "O"), species, strict=True))
        changed = Arrangement(crystal.cell, tuple(kinds[symbol] for symbol in crystal.species), crystal.frac)
        assert compare_crystals(changed, TARGETS["fluorite"]).composition_difference == difference


HOSTILE = {
    "200 atoms in a line": ((500.0, 500.0, 0.6, 90.0, 90.0, 90.0), 200),
    "a needle": ((900.0, 900.0, 1.0, 90.0, 90.0, 179.0), 40),
    "a flat cell": ((40.0, 40.0, 40.0, 10.0, 10.0, 10.0), 200),
    "random atoms": ((20.0, 20.0, 32.0, 90.0, 90.0, 90.0), 200),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_bounded(name: str) -> None:
    cell, sites = HOSTILE[name]
    rng = np.random.default_rng(1)
    cif = write_cif(Crystal(cell, ("Mg",) * sites, rng.random((sites, 3))), decimals=6)
    started = time.perf_counter()
    for target in TARGETS.values():
        assert verify_same_crystal(f"<cif>{cif}</cif>", target).stage is not Stage.CORRECT
    assert time.perf_counter() - started < 30


def test_too_many_sites_are_not_looked_at() -> None:
    rng = np.random.default_rng(1)
    cif = write_cif(Crystal((20.0, 20.0, 20.0, 90.0, 90.0, 90.0), ("Mg",) * 201, rng.random((201, 3))))
    found = verify_same_crystal(f"<cif>{cif}</cif>", TARGETS["sc"])
    assert found.stage is Stage.TIMEOUT
    assert "201 sites" in found.message
    with pytest.raises(TargetError, match="201 sites"):
        prepare_crystal(cif)


@pytest.mark.parametrize("answer", [None, 7, "", "data_", "<cif>data_\n</cif>", "\ud800", "<cif>" + "(" * 10**6])
def test_any_answer_gets_a_verdict(answer: object) -> None:
    found = verify_same_crystal(answer, TARGETS["rutile"])
    assert found.stage in (Stage.NO_CIF, Stage.CIF_INVALID, Stage.TIMEOUT)
    assert found.success_strict is False


def test_mistakes_of_the_caller() -> None:
    with pytest.raises(TargetError):
        verify_same_crystal("", "no cif")
    with pytest.raises(ValueError, match="positive"):
        verify_same_crystal("", TARGETS["sc"], tolerance=0)
