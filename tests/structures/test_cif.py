"""CIF text of a crystal, and back, without changing a digit or the order of sites."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pymatgen.core import Lattice, Structure
from pymatgen.io.cif import CifParser, CifWriter

from atomworld_env.structures.cif import CIF_STYLES, read_p1_cif, reduced_formula, write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import default_pool


def pool_crystals(count):
    entries = default_pool().entries(None, 1, 60)
    return [entries[k].crystal for k in range(0, len(entries), max(1, len(entries) // count))]


@pytest.fixture
def rock_salt():
    return Crystal(
        (4.0, 4.0, 6.0, 90.0, 90.0, 120.0),
        ("Na", "Cl", "Na", "Cl"),
        np.array([[0.0, 0.0, 0.0], [0.3333, 0.6667, 0.5], [0.0001, 0.9999, 0.25], [0.5, 0.5, 0.1]]),
    )


def without_comments(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_full_style_is_what_pymatgen_writes():
    for crystal in pool_crystals(150):
        # Occupancies are floats, as in a structure that was read from a CIF: pymatgen then prints 1.0.
        species = [{symbol: 1.0} for symbol in crystal.species]
        structure = Structure(Lattice(crystal.matrix), species, crystal.frac)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = str(CifWriter(structure, significant_figures=4))
        ours, theirs = without_comments(write_cif(crystal)), without_comments(expected)
        assert len(ours) == len(theirs)
        for our_line, their_line in zip(ours, theirs, strict=True):
            if our_line.startswith("_cell_"):
                # pymatgen's cell went through sines and cosines and may end in another digit.
                (tag, value), (their_tag, their_value) = our_line.rsplit(None, 1), their_line.rsplit(None, 1)
                assert tag == their_tag
                assert float(value) == pytest.approx(float(their_value), abs=1.01e-4)
            else:
                assert our_line == their_line


@pytest.mark.parametrize("style", CIF_STYLES)
@pytest.mark.parametrize("decimals", [3, 4, 6, 8])
def test_reading_gives_back_order_species_and_every_digit(style, decimals):
    rng = np.random.default_rng(decimals)
    for crystal in pool_crystals(25):
        shuffled = rng.permutation(len(crystal))
        crystal = Crystal.printed(
            crystal.cell,
            tuple(crystal.species[k] for k in shuffled),
            crystal.frac[shuffled] + rng.normal(0, 0.01, (len(crystal), 3)),
            decimals,
        )
        back = read_p1_cif(write_cif(crystal, style=style, decimals=decimals))
        assert back.cell == crystal.cell
        assert back.species == crystal.species
        assert np.array_equal(back.frac, crystal.frac)


def test_compact_style_is_the_same_crystal_for_pymatgen_in_half_the_text():
    for crystal in pool_crystals(60):
        full, compact = write_cif(crystal), write_cif(crystal, style="compact")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (one,), (other,) = (
                CifParser.from_str(text).parse_structures(primitive=False, check_occu=False) for text in (full, compact)
            )
        assert one.composition == other.composition
        assert np.array_equal(one.lattice.matrix, other.lattice.matrix)
        assert np.array_equal(one.frac_coords, other.frac_coords)
        assert len(compact) < 0.7 * len(full)


def test_compact_style_is_short(rock_salt):
    assert write_cif(rock_salt, style="compact").splitlines() == [
        "data_NaCl",
        "_cell_length_a 4.0000",
        "_cell_length_b 4.0000",
        "_cell_length_c 6.0000",
        "_cell_angle_alpha 90.0000",
        "_cell_angle_beta 90.0000",
        "_cell_angle_gamma 120.0000",
        "loop_",
        "_atom_site_label",
        "_atom_site_type_symbol",
        "_atom_site_fract_x",
        "_atom_site_fract_y",
        "_atom_site_fract_z",
        "Na0 Na 0.0000 0.0000 0.0000",
        "Cl1 Cl 0.3333 0.6667 0.5000",
        "Na2 Na 0.0001 0.9999 0.2500",
        "Cl3 Cl 0.5000 0.5000 0.1000",
    ]


@pytest.mark.parametrize("style", CIF_STYLES)
def test_labels_count_sites_from_zero_whatever_their_element(rock_salt, style):
    text = write_cif(rock_salt, style=style)
    for label in ("Na0", "Cl1", "Na2", "Cl3"):
        assert f" {label} " in text.replace("\n", " ")


def test_a_third_stays_as_printed(rock_salt):
    assert read_p1_cif(write_cif(rock_salt)).frac[1].tolist() == [0.3333, 0.6667, 0.5]


def test_fewer_decimals_keep_four_in_the_cell(rock_salt):
    text = write_cif(rock_salt, decimals=3)
    assert "_cell_length_a   4.0000" in text
    assert "0.333  0.667  0.500" in text


def test_formula_sum_is_quoted_only_when_it_has_a_blank():
    argon = Crystal((5.0, 5.0, 5.0, 90.0, 90.0, 90.0), ("Ar",), np.zeros((1, 3)))
    assert "_chemical_formula_sum   Ar1\n" in write_cif(argon)


@pytest.mark.parametrize(
    ("species", "formula"),
    [
        pytest.param(("Na", "Cl"), "NaCl", id="binary"),
        pytest.param(("O", "O"), "O2", id="diatomic"),
        pytest.param(("In", "In", "S", "S", "S"), "In2S3", id="electropositive first"),
        pytest.param(("Cl", "Cl", "Na", "Na"), "NaCl", id="reduced"),
    ],
)
def test_reduced_formula(species, formula):
    crystal = Crystal((5.0, 5.0, 5.0, 90.0, 90.0, 90.0), species, np.zeros((len(species), 3)))
    assert reduced_formula(crystal) == formula


def test_an_unknown_style_is_refused(rock_salt):
    with pytest.raises(ValueError, match=r"^unknown CIF style 'shelx'; choose one of full, compact$"):
        write_cif(rock_salt, style="shelx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda text: "", "one data block is needed|not a CIF", id="empty"),
        pytest.param(lambda text: "no CIF at all", "not a CIF", id="prose"),
        pytest.param(lambda text: text + text.replace("data_NaCl", "data_other"), "one data block", id="two blocks"),
        pytest.param(lambda text: text.replace("_cell_length_b", "_cell_length_q"), "_cell_length_b", id="no b"),
        pytest.param(
            lambda text: text.replace("_cell_length_a   4.0000", "_cell_length_a   ?"), "_cell_length_a", id="unknown a"
        ),
        pytest.param(lambda text: text.replace("0.6667", "two_thirds"), "fractional coordinate", id="no number"),
        pytest.param(
            lambda text: text.replace("_atom_site_fract_z", "_atom_site_fract_q"), "atom-site loop", id="no z"
        ),
        pytest.param(
            lambda text: text.replace("  1  'x, y, z'", "  1  'x, y, z'\n  2  '-x, -y, -z'"), "P 1 CIF", id="symmetry"
        ),
    ],
)
def test_what_is_no_p1_crystal_is_refused_in_one_line(rock_salt, change, message):
    with pytest.raises(ValueError, match=rf"^[^\n]*({message})[^\n]*$"):
        read_p1_cif(change(write_cif(rock_salt)))


def test_the_embedded_pool_is_wrapped_and_has_four_decimals():
    for entry in default_pool().entries(None, 1):
        frac = entry.crystal.frac
        assert ((frac >= 0) & (frac < 1)).all(), entry.structure_id
        assert np.array_equal(frac, np.round(frac, 4)), entry.structure_id
