"""How the embedded pool is made: cells, substitutions, exclusions, and the same bytes again."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from pymatgen.analysis.prototypes import AFLOW_PROTOTYPE_LIBRARY
from pymatgen.core import Lattice, Structure

from atomworld_env.structures import substitution
from atomworld_env.structures.build_pool import Build, add_prototype, as_printed, fault, variants
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import EMBEDDED_FILE, default_pool
from atomworld_env.structures.pool_card import kind


def prototype(label: str, formula: str) -> Structure:
    for entry in AFLOW_PROTOTYPE_LIBRARY:
        structure = entry["snl"].structure
        if entry["tags"]["aflow"] == label and structure.composition.reduced_formula == formula:
            return structure
    raise LookupError(label)


ROCK_SALT = prototype("AB_cF8_225_a_b", "NaCl")
FLUORITE = prototype("AB2_cF12_225_a_c", "CaF2")
ZINC_BLENDE = prototype("AB_cF8_216_c_a", "ZnS")
CAESIUM_CHLORIDE = prototype("AB_cP2_221_b_a", "CsCl")


def test_left_handed_basis_is_turned_not_mirrored() -> None:
    right = prototype("A2B_hP9_152_c_a", "SiO2")  # alpha quartz exists in two hands
    swapped = right.lattice.matrix[[1, 0, 2]]
    left = Structure(Lattice(swapped), right.species, right.frac_coords[:, [1, 0, 2]])
    assert np.linalg.det(left.lattice.matrix) < 0
    printed = as_printed(left)
    # The map from the given frame to the printed one must be a proper rotation that takes site to site.
    rotation = np.linalg.solve(-left.lattice.matrix, printed.matrix)
    assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-4)
    assert rotation @ rotation.T == pytest.approx(np.eye(3), abs=1e-4)
    shifts = (left.cart_coords @ rotation - printed.cartesian) @ printed.inverse
    assert shifts == pytest.approx(np.round(shifts), abs=2e-4)


def test_cells_are_given_conventional_and_repeated() -> None:
    cells = variants(ROCK_SALT)
    assert [(cell.suffix, len(cell.crystal)) for cell in cells] == [
        ("", 2),
        ("-1x1x2", 4),
        ("-conventional", 8),
        ("-2x2x2", 16),
        ("-conventional-1x2x2", 32),
        ("-conventional-2x2x2", 64),
    ]
    density = len(cells[0].crystal) / np.linalg.det(cells[0].crystal.matrix)
    for cell in cells:
        assert len(cell.crystal) / np.linalg.det(cell.crystal.matrix) == pytest.approx(density, rel=1e-4)
        assert cell.crystal.composition["Na"] == cell.crystal.composition["Cl"]


def test_ions_are_replaced_by_ions_of_equal_charge() -> None:
    found = substitution.substitutions(CAESIUM_CHLORIDE, 50)
    replaced = {choice.label for choice in found}
    assert {"Cs>Rb", "Cs>K", "Cl>Br", "Cl>I", "Cl>Br+Cs>Rb"} <= replaced
    assert not any(">Ba" in label or ">O" in label for label in replaced)
    assert all(choice.rule == "ion" for choice in found)
    assert [choice.score for choice in found] == sorted((choice.score for choice in found), reverse=True)
    assert min(choice.score for choice in found) >= substitution.MIN_JOINT_PROBABILITY


def test_metals_are_replaced_within_their_group() -> None:
    found = substitution.substitutions(prototype("AB3_cP4_221_a_c", "Cu3Au"), 50)
    assert {choice.label for choice in found} == {"Au>Ag", "Cu>Ag"}
    assert all(choice.rule == "group" for choice in found)


@pytest.mark.parametrize(
    ("parent", "label", "measured"),
    [
        # Ratios of measured lattice parameters at room temperature.
        pytest.param(FLUORITE, "Ca>Sr", 5.800 / 5.463, id="SrF2"),
        pytest.param(FLUORITE, "Ca>Ba", 6.200 / 5.463, id="BaF2"),
        pytest.param(ZINC_BLENDE, "S>Se", 5.668 / 5.409, id="ZnSe"),
        pytest.param(ZINC_BLENDE, "Zn>Cd", 5.818 / 5.409, id="CdS"),
    ],
)
def test_lattice_follows_the_elements(parent: Structure, label: str, measured: float) -> None:
    scale = {choice.label: choice.length_scale for choice in substitution.substitutions(parent, 50)}
    assert scale[label] == pytest.approx(measured, rel=0.03)


def test_a_parent_whose_volume_is_mispredicted_stays_unsubstituted() -> None:
    anatase = prototype("A2B_tI12_141_e_a", "TiO2")
    ratio = substitution.predicted_volume_ratio(anatase)
    assert ratio is not None
    assert abs(ratio - 1) > substitution.VOLUME_TOLERANCE
    assert substitution.substitutions(anatase, 50) == []


def test_impossible_prototypes_are_left_out_with_their_contact() -> None:
    build = Build()
    add_prototype(build, prototype("A2B_oP24_61_2c_c", "TiO2"), "A2B_oP24_61_2c_c", "Brookite")
    assert build.rows == []
    [(structure_id, reason)] = build.excluded
    assert structure_id == "aflow-A2B_oP24_61_2c_c-TiO2"
    assert reason == "contact Ti0–O12 at 0.684 of the sum of covalent radii"


def test_actinides_may_be_close() -> None:
    neptunium = as_printed(prototype("A_oP8_62_2c", "Np"))
    assert fault(neptunium) is None
    assert "contact" in str(fault(Crystal(neptunium.cell, ("La",) * len(neptunium), neptunium.frac)))


def test_the_shipped_rows_of_a_family_are_what_the_recipe_gives() -> None:
    build = Build()
    add_prototype(build, FLUORITE, "AB2_cF12_225_a_c", "Cubic, Fluorite")
    shipped = [entry for entry in default_pool().entries(min_sites=1) if entry.family == "AB2_cF12_225_a_c"]
    built = {row["id"]: (tuple(row["cell"]), row["species"], row["coordinates"]) for row in build.rows}
    assert built == {entry.structure_id: (entry.cell, entry.species, entry.coordinates) for entry in shipped}


def test_the_card_agrees_with_the_data() -> None:
    pool = default_pool()
    text = EMBEDDED_FILE.with_name("README.md").read_text(encoding="utf-8")
    assert f"data version `{pool.version}`" in text
    assert text.count("\n- `aflow-") == 11
    everything = pool.entries(min_sites=1)
    for name in ("prototype", "conventional cell", "supercell", "substitution"):
        line = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert line.endswith(f"| {sum(kind(entry) == name for entry in everything)} |")


@pytest.mark.slow
def test_the_shipped_file_is_rebuilt_to_the_byte() -> None:
    command = [sys.executable, "-m", "atomworld_env.structures.build_pool", "--check"]
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
