"""What a CIF must say to be read, and what may be written in more than one way."""

from __future__ import annotations

import numpy as np
import pytest
from crystal_texts import CELL, CELL_TAGS, FRAC, SPECIES, cif, cif_of, prototypes
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifWriter

from rewards import Arrangement, Stage, compare_strict
from rewards.cif_reading import Unreadable, read_cif, read_for_paper, read_for_strict

CUBIC = (4.0, 4.0, 4.0, 90, 90, 90)


def refusal(text: str) -> Unreadable:
    reading = read_for_strict(text)
    assert isinstance(reading, Unreadable)
    return reading


def arrangement(text: str) -> Arrangement:
    reading = read_for_strict(text)
    assert isinstance(reading, Arrangement), reading.message
    return reading


def test_one_parse_serves_both_profiles() -> None:
    reading = read_cif(cif())
    assert isinstance(reading.strict, Arrangement)
    assert isinstance(reading.paper, Structure)
    assert reading.strict.cell == CELL
    assert sorted(reading.strict.species) == sorted(SPECIES)
    assert reading.paper.composition.formula == "Na2 Cl1 O1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(cif(occupancy=[1, 0.5, 1, 1]), "occupancy is 0.5", id="occupancy-half"),
        pytest.param(cif(occupancy=[1, 0, 1, 1]), "occupancy is 0", id="occupancy-zero"),
        pytest.param(cif(occupancy=[1, ".", 1, 1]), "occupancy is .", id="occupancy-dot"),
        pytest.param(cif(occupancy=[1, 2, 1, 1]), "occupancy is 2", id="occupancy-two"),
        pytest.param(cif(occupancy=[1, "full", 1, 1]), "'full' is not a number", id="occupancy-word"),
        pytest.param(cif((-4.2, *CELL[1:])), "-4.2 is not between", id="negative-length"),
        pytest.param(cif((0, *CELL[1:])), "", id="zero-length"),
        pytest.param(cif((1e9, *CELL[1:])), "not between 0.1 and 1000", id="absurd-length"),
        pytest.param(cif((1e-308, *CELL[1:])), "", id="vanishing-length"),
        pytest.param(cif((0.09, *CELL[1:])), "not between 0.1 and 1000", id="tiny-length"),
        pytest.param(cif(("nan", *CELL[1:])), "", id="nan-length"),
        pytest.param(cif(("inf", *CELL[1:])), "", id="inf-length"),
        pytest.param(cif(("1_0", *CELL[1:])), "not a number", id="underscore-length"),
        pytest.param(cif((*CELL[:5], 180)), "", id="flat-angle"),
        pytest.param(cif((4, 4, 4, 90, 150, 30)), "", id="angles-do-not-close"),
        pytest.param(cif(frac=[("a", 0, 0), *FRAC[1:]]), "", id="coordinate-word"),
        pytest.param(cif(frac=[("?", 0, 0), *FRAC[1:]]), "", id="coordinate-unknown"),
        pytest.param(cif(frac=[(".", 0, 0), *FRAC[1:]]), "'.' is not a number", id="coordinate-dot"),
        pytest.param(cif(frac=[("nan", 0, 0), *FRAC[1:]]), "", id="coordinate-nan"),
        pytest.param(cif(frac=[("inf", 0, 0), *FRAC[1:]]), "", id="coordinate-inf"),
        pytest.param(cif(frac=[("1/2", 0, 0), *FRAC[1:]]), "", id="coordinate-fraction"),
        pytest.param(cif(frac=[("0_1", 0, 0), *FRAC[1:]]), "not a number", id="coordinate-underscore"),
        pytest.param(cif(frac=[("1e7", 0, 0), *FRAC[1:]]), "beyond", id="coordinate-too-large"),
        pytest.param(cif(frac=[("−0.1", 0, 0), *FRAC[1:]]), "U+2212", id="minus-outside-ascii"),
        pytest.param(cif(species=["Na", "Na", "Cl", "Xx"]), "'Xx' is not an element", id="unknown-element"),
        pytest.param(cif(species=["Na", "Na", "Cl", "Ox"]), "'Ox' is not an element", id="element-with-a-letter"),
        pytest.param(cif(species=["Na", "Na", "Cl", "Wat"]), "not an element", id="water"),
        pytest.param(cif(frac=[FRAC[1], *FRAC[1:]]), "on one place", id="two-atoms-on-one-place"),
        pytest.param(cif(frac=[*FRAC[:3], FRAC[0]]), "on one place", id="two-elements-on-one-place"),
        pytest.param(cif() + cif().replace("data_crystal", "data_other"), "more than one", id="two-blocks"),
        pytest.param(cif() + cif(), "more than one", id="two-blocks-of-one-name"),
        pytest.param(cif() + cif().partition("\n")[2], "more than one", id="two-structures-in-one-block"),
        pytest.param(cif(species=[], frac=[]), "", id="empty-loop"),
        pytest.param(cif().replace("_atom_site_fract_y\n", ""), "", id="column-missing"),
        pytest.param(cif().replace("_cell_length_b 5.1\n", ""), "", id="length-missing"),
        pytest.param(cif() + "That is all I changed.", "", id="prose-after"),
        pytest.param(cif() + "```", "", id="fence-after"),
        pytest.param(cif() + "_C C9 0.1 0.2 0.3 1\n", "outside of any loop", id="row-that-is-a-tag"),
        pytest.param(cif() + "_x 1\nC C9 0.1 0.2 0.3 1\n", "outside of any loop", id="row-after-another-tag"),
        pytest.param(cif() + "_eof 1\nC C9 0.1 0.2 0.3 1\n", "", id="row-after-the-end"),
        pytest.param(cif() + "data_C 0.1 0.2 0.3\n", "outside of any loop", id="row-that-is-a-block"),
        pytest.param(cif() + ";C C9 0.1 0.2 0.3 1\n", "never closed", id="row-in-an-open-text-field"),
        pytest.param(cif(extra="_x\n;\n;_cell_length_a 4.2"), "more than one", id="length-behind-a-text-field"),
        pytest.param(cif(extra="_Cell_Length_a 4.2"), "more than one", id="length-in-other-letters"),
        pytest.param(cif(species=["Na", "Na", "Cl", "NO3"]), "", id="nitrate"),
        pytest.param(cif().replace("O O3", "'a0O1 + a0O1' O3"), "sum of elements", id="mixture-of-one-element"),
        pytest.param(
            cif() + "loop_\n_atom_site_Cartn_x\n_atom_site_Cartn_y\n_atom_site_Cartn_z\n1 2 3\n",
            "_atom_site_Cartn_x has 1 values for 4 atoms",
            id="another-list-of-atoms",
        ),
        pytest.param(
            cif() + "loop_\n_atom_site.label\n_atom_site.fract_x\nC9 .1\n", "1 values for 4 atoms", id="dotted-list"
        ),
        pytest.param(cif().replace("_occupancy", "_attached_hydrogens"), "hydrogens", id="hydrogens-without-positions"),
        pytest.param(
            cif(operators=["x,y,z", "-x,-y,-z"], extra="loop_\n_atom_site_moment_label\nNa0"),
            "symmetry is not read",
            id="symmetry-beside-moments",
        ),
        pytest.param(cif(operators=["x+1/2,y,z"]), "no site of its own", id="operators-without-identity"),
        pytest.param(cif(extra="_x αβ"), "", id="bare-value-outside-ascii"),
        pytest.param(cif(extra="_cell_x 'α'"), "U+03B1", id="value-of-the-cell-outside-ascii"),
        pytest.param(cif(extra="_x 'α # '"), "", id="value-with-a-comment-outside-ascii"),
        pytest.param(cif().replace("data_crystal", "crystal"), "", id="no-block"),
        pytest.param("data_x\n_cell_length_a 4\n", "", id="no-sites"),
    ],
)
def test_cif_invalid(text: str, reason: str) -> None:
    problem = refusal(text)
    assert problem.stage is Stage.CIF_INVALID
    assert reason in problem.message
    assert "\n" not in problem.message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(cif(species=["Na+", "Na1+", "Cl-", "O2-"]), id="charges"),
        pytest.param(cif(species=["NA", "na", "CL", "o"]), id="case-of-symbols"),
        pytest.param(cif(occupancy=["1.0", "1.00(1)", "1", "?"]), id="occupancy-left-to-its-default"),
        pytest.param(cif(frac=[("0.0(1)", "0", "-1.0"), *FRAC[1:]]), id="standard-uncertainties"),
        pytest.param(cif(frac=[FRAC[0], ("3.1e-1", "52e-2", "+.13"), *FRAC[2:]]), id="exponents"),
        pytest.param(cif(frac=[FRAC[0], (1.31, -0.48, 2.13), *FRAC[2:]]), id="other-images"),
        pytest.param("Here is the crystal in Å:\n" + cif(), id="prose-before"),
        pytest.param(cif(extra="_chemical_name_common 'α-phase'"), id="unrelated-value-outside-ascii"),
        pytest.param(cif().replace("_cell_", "_CELL_").replace("_atom_site", "_ATOM_SITE"), id="tags-in-capitals"),
        pytest.param(cif(extra="_space_group_it_number 1").replace("_fract", "_Fract"), id="tags-in-other-letters"),
        pytest.param(cif() + "loop_\n_atom_site_aniso_label\n_atom_site_aniso_U_11\nNa0 0.01\n", id="aniso-of-one"),
        pytest.param(cif(extra="_x\n;\nmade by hand, 0.1 0.2 0.3\n;"), id="text-field"),
        pytest.param(cif(extra="# moved by 1 Å"), id="comment-outside-ascii"),
        pytest.param(cif(extra="_chemical_formula_sum 'Na7 Cl'"), id="wrong-formula-sum"),
        pytest.param(cif(extra="_symmetry_space_group_name_H-M 'P 1'"), id="p1-by-name"),
        pytest.param(cif(operators=["x, y, z"]), id="p1-by-operator"),
        pytest.param("data_global\n_audit_author_name me\n" + cif(), id="block-without-sites-before"),
        pytest.param(cif().replace("\n", "\r\n"), id="dos-line-ends"),
        pytest.param(cif().replace(" ", "\t"), id="tabs"),
        pytest.param(cif() + "\n" * 5000, id="blank-lines-after"),
    ],
)
def test_same_crystal(text: str) -> None:
    comparison = compare_strict(arrangement(text), arrangement(cif()))
    assert comparison.stage is Stage.CORRECT
    assert comparison.max_displacement == pytest.approx(0, abs=1e-9)


def test_oxidation_states_do_not_matter() -> None:
    numbers = "loop_\n_atom_type_symbol\n_atom_type_oxidation_number\nNa 1\nCl -1\nO -2"
    assert sorted(arrangement(cif(extra=numbers)).species) == sorted(SPECIES)


def test_label_stands_for_a_missing_type_symbol() -> None:
    lines = [line.split(" ", 1)[-1] if line[0] in "NCO" else line for line in cif().splitlines()]
    text = "\n".join(line for line in lines if line != "_atom_site_type_symbol")
    assert sorted(arrangement(text).species) == sorted(SPECIES)


def test_isotopes_are_read() -> None:
    assert sorted(arrangement(cif(species=["D", "D", "T", "O"])).species) == ["H", "H", "H", "O"]


@pytest.mark.parametrize(
    "notation",
    [
        pytest.param({"operators": ["x, y, z", "-x, -y, -z"]}, id="operators"),
        pytest.param({"extra": "_symmetry_space_group_name_H-M 'P -1'"}, id="hermann-mauguin"),
        pytest.param({"extra": "_space_group_IT_number 2"}, id="number"),
    ],
)
def test_symmetry_notation_of_the_same_cell(notation: dict[str, object]) -> None:
    short = cif(species=["Na", "Cl"], frac=[(0, 0, 0), (0.1, 0.2, 0.3)], **notation)  # type: ignore[arg-type]
    full = cif(species=["Na", "Cl", "Cl"], frac=[(0, 0, 0), (0.1, 0.2, 0.3), (0.9, 0.8, 0.7)])
    assert compare_strict(arrangement(short), arrangement(full)).stage is Stage.CORRECT


@pytest.mark.parametrize("structure", prototypes(6, 12)[::9], ids=lambda structure: structure.formula.replace(" ", ""))
def test_written_with_its_space_group(structure: Structure) -> None:
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    conventional = SpacegroupAnalyzer(structure).get_symmetrized_structure()
    symmetric = str(CifWriter(conventional, symprec=1e-3, refine_struct=False))
    comparison = compare_strict(arrangement(symmetric), arrangement(cif_of(structure)))
    assert comparison.stage is Stage.CORRECT
    assert comparison.max_displacement == pytest.approx(0, abs=1e-3)


def test_thirds_are_read_alike_from_any_number_of_digits() -> None:
    short = cif(CUBIC, ["Mg"], [("0.3333", "0.6667", "0.5")])
    long = cif(CUBIC, ["Mg"], [("0.33333333", "0.66666667", "0.5")])
    np.testing.assert_array_equal(arrangement(short).frac, arrangement(long).frac)


def test_cell_by_crystal_system() -> None:
    text = cif(CUBIC, ["Mg"], [(0, 0, 0)], extra="_symmetry_cell_setting cubic")
    kept = [line for line in text.splitlines() if not any(line.startswith(f"_cell_{tag}") for tag in CELL_TAGS[1:])]
    assert arrangement("\n".join(kept)).cell == pytest.approx((4.0, 4.0, 4.0, 90.0, 90.0, 90.0))


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        pytest.param(cif((-4.2, *CELL[1:])), "Na2 Cl1 O1", id="absolute-value-of-a-length"),
        pytest.param(cif(occupancy=[1, 0.5, 1, 1]), "Na1.5 Cl1 O1", id="occupancy"),
        pytest.param(cif() + cif(species=["K"] * 4).replace("crystal", "other"), "Na2 Cl1 O1", id="first-of-two"),
        pytest.param(cif() + cif(species=["K"] * 4), "K4", id="last-of-one-name"),
        pytest.param(cif(species=["Na", "Na", "Cl", "Ox"]), "Na2 Cl1 O1", id="letter-dropped"),
    ],
)
def test_paper_takes_what_pymatgen_takes(text: str, formula: str) -> None:
    structure = read_for_paper(text)
    assert isinstance(structure, Structure)
    assert structure.composition.formula == formula
    refusal(text)
