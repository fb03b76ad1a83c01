"""However an answer names its space group, every setting that the name may mean is read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import gemmi
import numpy as np
import pytest
import spglib
from pymatgen.core.structure import Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
from pymatgen.symmetry.groups import SYMM_DATA, SpaceGroup

from atomworld_env.families.cif_gen_prototypes import PROTOTYPES, Prototype
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from rewards import Stage
from rewards.cif_reading import read_for_paper
from rewards.same_crystal import prepare_crystal, verify_same_crystal
from rewards.space_group_settings import named_symmetry, with_operators, without_symmetry

ELEMENTS = {"A": "Mg", "B": "Ti", "X": "O"}
HM, ALT, HALL = "_symmetry_space_group_name_H-M", "_space_group_name_H-M_alt", "_space_group_name_Hall"
NUMBER, CODE = "_space_group_IT_number", "_space_group_IT_coordinate_system_code"
SPGLIB = {each.hall_symbol: each for each in map(spglib.get_spacegroup_type, range(1, 531))}
each_type = pytest.mark.parametrize("name", PROTOTYPES)


def example(prototype: Prototype, shift: float = 0.0) -> Crystal:
    c = None if prototype.axial is None else round(5.1 * float(np.mean(prototype.axial)), 3)
    u = 0.0 if prototype.free is None else float(np.mean(prototype.free)) + shift
    return prototype.crystal(ELEMENTS, 5.1, c, u)


TARGETS = {name: prepare_crystal(write_cif(example(each), decimals=8)) for name, each in PROTOTYPES.items()}


def cif(cell: tuple[float, ...], species: list[str], frac: np.ndarray, symmetry: dict[str, str]) -> str:
    tags = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    lines = ["data_x", *(f"_cell_{tag} {value:.6f}" for tag, value in zip(tags, cell, strict=True))]
    lines += [f"{tag} '{value}'" for tag, value in symmetry.items()]
    lines += ["loop_", *(f"_atom_site_{tag}" for tag in ("label", "type_symbol", "fract_x", "fract_y", "fract_z"))]
    lines += [f"{s}{k} {s} {x:.6f} {y:.6f} {z:.6f}" for k, (s, (x, y, z)) in enumerate(zip(species, frac, strict=True))]
    return "\n".join(lines)


Unit = tuple[gemmi.SpaceGroup, tuple[float, ...], list[str], np.ndarray]


def asymmetric_units(crystal: Crystal) -> Iterator[Unit]:
    """One atom of each orbit, in every setting of the group that has the standard axes, found by spglib."""
    structure = Structure(crystal.matrix, crystal.species, crystal.frac)
    standard = SpacegroupAnalyzer(structure, symprec=1e-3).get_conventional_standard_structure()
    numbers = [site.specie.Z for site in standard]
    arrays = (standard.lattice.matrix, standard.frac_coords, numbers)
    number = spglib.get_symmetry_dataset(arrays, symprec=1e-3).number
    reference = gemmi.find_spacegroup_by_number(number)
    for setting in gemmi.spacegroup_table():
        if setting.number == number and setting.hm == reference.hm:
            hall_number = SPGLIB[setting.hall].hall_number
            found = spglib.get_symmetry_dataset(arrays, symprec=1e-3, hall_number=hall_number)
            frac = standard.frac_coords @ found.transformation_matrix.T + found.origin_shift
            chosen = [k for k in range(len(numbers)) if found.crystallographic_orbits[k] == k]
            yield setting, standard.lattice.parameters, [standard[k].specie.symbol for k in chosen], frac[chosen]


def ways_to_name(setting: gemmi.SpaceGroup) -> list[dict[str, str]]:
    hm, ext = setting.hm, setting.ext.strip("\0")
    full = SPGLIB[setting.hall].international_full
    ways = [
        {HM: hm},
        {HM: hm.replace(" ", "")},
        {ALT: hm},
        {HM: re.sub(r"([2346])([1-5])", r"\1_\2", hm)},
        {HM: full},
        {HM: full.replace(" ", "").replace("_", "")},
        {"_space_group_name_H-M_full": full},
        {NUMBER: str(setting.number)},
        {"_symmetry_Int_Tables_number": str(setting.number)},
        {HM: hm, NUMBER: str(setting.number)},
        {HM.lower(): hm},
        {HALL: setting.hall},
        {HALL: setting.hall, HM: hm, NUMBER: str(setting.number)},
    ]
    if setting.number >= 200:
        ways += [{HM: hm.replace("-3", "3")}, {HM: hm.replace("-3", "3").replace(" ", "")}]
    if ext:
        letter = {"1": "S", "2": "Z"}.get(ext, ext)
        ways += [{ALT: f"{hm} :{ext}"}, {ALT: f"{hm.replace(' ', '')}:{ext}"}, {HM: f"{hm} {letter}"}]
        ways += [{HM: f"{hm.replace(' ', '')}{letter}"}, {HM: hm, CODE: ext.lower()}]
        ways += [{NUMBER: str(setting.number), CODE: ext}]
    return ways


def stage(text: str, name: str, engine: str = "fast") -> Stage:
    return verify_same_crystal(f"<cif>\n{text}\n</cif>", TARGETS[name], engine=engine).stage


@each_type
def test_the_asymmetric_unit_is_right_however_the_group_is_named(name: str) -> None:
    units = list(asymmetric_units(example(PROTOTYPES[name])))
    assert units
    for setting, cell, species, frac in units:
        for symmetry in ways_to_name(setting):
            text = cif(cell, species, frac, symmetry)
            found = verify_same_crystal(f"<cif>{text}</cif>", TARGETS[name])
            assert found.stage is Stage.CORRECT, (setting.xhm(), symmetry, found.message)


@each_type
def test_both_engines_agree(name: str) -> None:
    for setting, cell, species, frac in asymmetric_units(example(PROTOTYPES[name])):
        for symmetry in ({HM: setting.hm}, {HALL: setting.hall}):
            assert stage(cif(cell, species, frac, symmetry), name, "reference") is Stage.CORRECT


@each_type
def test_another_lattice_constant_is_wrong_in_every_setting(name: str) -> None:
    for setting, cell, species, frac in asymmetric_units(example(PROTOTYPES[name])):
        scaled = (*(1.015 * length for length in cell[:3]), *cell[3:])
        for symmetry in ways_to_name(setting):
            assert stage(cif(scaled, species, frac, symmetry), name) is Stage.STRUCTURE_MISMATCH


@pytest.mark.parametrize("name", [name for name, prototype in PROTOTYPES.items() if prototype.free is not None])
def test_another_free_coordinate_is_wrong_in_every_setting(name: str) -> None:
    for setting, cell, species, frac in asymmetric_units(example(PROTOTYPES[name], 0.04)):
        for symmetry in ways_to_name(setting):
            assert stage(cif(cell, species, frac, symmetry), name) is Stage.STRUCTURE_MISMATCH


@pytest.mark.parametrize("name", ["diamond", "spinel", "laves_c15", "anatase", "beta_tin", "cuprite"])
def test_coordinates_of_the_other_origin_are_wrong_where_the_origin_is_named(name: str) -> None:
    (first, cell, species, frac), (second, _, _, other) = asymmetric_units(example(PROTOTYPES[name]))
    for places, setting in ((frac, second), (other, first)):
        for symmetry in ({ALT: setting.xhm()}, {HALL: setting.hall}, {HM: setting.hm, CODE: setting.ext}):
            assert stage(cif(cell, species, places, symmetry), name) is not Stage.CORRECT, symmetry


CUBIC = {"sc": (1.0, 90.0), "fcc": (2**-0.5, 60.0), "bcc": (0.75**0.5, float(np.degrees(np.arccos(-1 / 3))))}


@pytest.mark.parametrize("name", CUBIC)
@pytest.mark.parametrize("axes", ["R", "H"])
@pytest.mark.parametrize("write", ["R -3 m", "R-3m", "R -3 m :{}", "R-3m{}", "R -3 2/m:{}", "166"])
def test_cubic_crystals_in_rhombohedral_groups(name: str, axes: str, write: str) -> None:
    """A cubic lattice of one atom is a rhombohedral one, on either axes."""
    ratio, angle = CUBIC[name]
    edge = 5.1 * ratio
    if axes == "R":
        cell = (edge, edge, edge, angle, angle, angle)
    else:
        radians = np.radians(angle)
        a, c = 2 * edge * np.sin(radians / 2), edge * np.sqrt(3 + 6 * np.cos(radians))
        cell = (a, a, c, 90.0, 90.0, 120.0)
    symmetry = {NUMBER if write.isdecimal() else HM: write.format(axes)}
    assert stage(cif(cell, ["Mg"], np.zeros((1, 3)), symmetry), name) is Stage.CORRECT
    if "{" in write:
        wrong = {HM: write.format({"R": "H", "H": "R"}[axes])}
        # On hexagonal axes the operators of the rhombohedral ones leave out the centring.
        assert stage(cif(cell, ["Mg"], np.zeros((1, 3)), wrong), name) is not Stage.CORRECT


def test_names_that_contradict_one_another_are_read_as_before() -> None:
    setting, cell, species, frac = list(asymmetric_units(example(PROTOTYPES["spinel"])))[1]
    text = cif(cell, species, frac, {HM: "F d -3 m", NUMBER: "225"})
    found = verify_same_crystal(f"<cif>{text}</cif>", TARGETS["spinel"])
    assert found.stage is not Stage.CORRECT
    assert "contradict" in found.message
    assert named_symmetry(cif(cell, species, frac, {HM: "F m -3 m", HALL: "P 1"})).settings == ()
    assert len(named_symmetry(cif(cell, species, frac, {HM: "F d -3 m", HALL: setting.hall})).settings) == 1


def test_a_hall_symbol_outside_the_tables_is_that_setting() -> None:
    """Its origin is moved by a quarter along c, and so are the atoms or they are elsewhere."""
    _, cell, species, frac = next(asymmetric_units(example(PROTOTYPES["rocksalt"])))
    moved = {HALL: "-F 4 2 3 (0 0 3)"}
    stages = {stage(cif(cell, species, frac + np.array([0, 0, z]), moved), "rocksalt") for z in (0.25, -0.25)}
    assert stages == {Stage.CORRECT}
    assert stage(cif(cell, species, frac, moved), "rocksalt") is not Stage.CORRECT
    assert len(named_symmetry(cif(cell, species, frac, moved | {HM: "F m -3 m", NUMBER: "225"})).settings) == 1


def test_an_unknown_name_is_said_to_be_unknown() -> None:
    _, cell, species, frac = next(asymmetric_units(example(PROTOTYPES["rutile"])))
    found = verify_same_crystal(f"<cif>{cif(cell, species, frac, {HM: 'Q 7/x'})}</cif>", TARGETS["rutile"])
    assert found.stage is not Stage.CORRECT
    assert "'Q 7/x' is not known" in found.message
    crystal = example(PROTOTYPES["rutile"])
    all_atoms = cif(crystal.cell, list(crystal.species), crystal.frac, {HM: "Q 7/x"})
    assert stage(all_atoms, "rutile") is Stage.CORRECT


@pytest.mark.parametrize("name", ["fcc", "spinel", "wurtzite", "rutile"])
@pytest.mark.parametrize("listed", [False, True])
def test_atoms_that_the_operators_make_again_are_named(name: str, listed: bool) -> None:
    crystal = example(PROTOTYPES[name])
    setting = next(asymmetric_units(crystal))[0]
    text = cif(crystal.cell, list(crystal.species), crystal.frac, {HM: setting.hm})
    if listed:
        text = with_operators(text, named_symmetry(text).settings[-1])
    found = verify_same_crystal(f"<cif>{text}</cif>", TARGETS[name])
    assert found.stage is Stage.CIF_INVALID
    assert "make atoms again that are listed already" in found.message
    assert stage(without_symmetry(text), name) is Stage.CORRECT


def test_one_operator_is_p1_whatever_the_name() -> None:
    crystal = example(PROTOTYPES["spinel"])
    text = cif(crystal.cell, list(crystal.species), crystal.frac, {HM: "F d -3 m"})
    assert stage(text.replace("loop_", "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\nloop_"), "spinel") is Stage.CORRECT


def test_every_name_of_the_reader_is_known_with_its_number() -> None:
    for name, entry in SYMM_DATA["space_group_encoding"].items():
        settings = named_symmetry(f"data_x\n{HM} '{name}'\nloop_\n_atom_site_label\nX\n").settings
        assert settings or entry["int_number"] == 1, name
        for setting in settings:
            number = gemmi.find_spacegroup_by_ops(gemmi.GroupOps([gemmi.Op(each) for each in setting.operators])).number
            assert number == entry["int_number"], name
    for number in range(2, 231):
        settings = named_symmetry(f"data_x\n{NUMBER} {number}\nloop_\n_atom_site_label\nX\n").settings
        assert len(SpaceGroup.from_int_number(number).symmetry_ops) in {len(each.operators) for each in settings}


def test_the_paper_profile_reads_as_before() -> None:
    _, cell, species, frac = next(asymmetric_units(example(PROTOTYPES["spinel"])))
    structure = read_for_paper(cif(cell, species, frac, {HM: "F d -3 m S"}))
    assert isinstance(structure, Structure)
    assert len(structure) == len(species)


HOSTILE: dict[str, Callable[[], str]] = {
    "a long name": lambda: cif((5.0,) * 3 + (90.0,) * 3, ["Mg"], np.zeros((1, 3)), {HM: "F d -3 m " * 4000}),
    "a name of noise": lambda: cif((5.0,) * 3 + (90.0,) * 3, ["Mg"], np.zeros((1, 3)), {HALL: "-F 4vw\x00 \x7f (1 2"}),
    "a number out of range": lambda: cif((5.0,) * 3 + (90.0,) * 3, ["Mg"], np.zeros((1, 3)), {NUMBER: "9" * 5000}),
    "many names": lambda: "data_x\n" + f"{HM} 'F d -3 m'\n" * 5000,
    "many loops": lambda: f"{HM} x\n" + "loop_\n# c\n" * 40000,
    "a group of 192 for 1,000 rows": lambda: cif(
        (50.0,) * 3 + (90.0,) * 3, ["Mg"] * 1000, np.random.default_rng(0).random((1000, 3)), {HM: "F d -3 m"}
    ),
    "no atoms": lambda: f"data_x\n{HM} 'F d -3 m'\n",
    "a surrogate": lambda: f"data_x\n{HM} '\ud800'\nloop_\n_atom_site_label\nMg\n",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_any_text_gets_a_verdict_soon(name: str, engine: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = HOSTILE[name]()
    started = time.perf_counter()
    assert stage(text, "diamond", engine) is not Stage.CORRECT
    assert time.perf_counter() - started < 6
    assert capfd.readouterr() == ("", "")
