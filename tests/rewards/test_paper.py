"""The paper profile, against the published protocol written out plainly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from crystal_texts import cif_of, mirrored, prototypes, shifted, tagged
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifParser

from rewards import Stage, Verdict, prepare_target, verify


def protocol(answer: str, target: str) -> tuple[str, float | None, float | None]:
    """Stage, rmsd and max_dist as the published code computes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = CifParser.from_str(target).parse_structures(primitive=False, check_occu=False)[0]
        try:
            given = CifParser.from_str(answer).parse_structures(primitive=False, check_occu=False)[0]
        except Exception:
            return "cif_invalid", None, None
        if given.composition.as_dict() != truth.composition.as_dict():
            return "composition_mismatch", None, None
        matcher = StructureMatcher(primitive_cell=False, stol=0.5)
        if not matcher.fit(truth, given):
            return "structure_mismatch", None, None
        rmsd, max_dist = matcher.get_rms_dist(truth, given)
        return "correct", rmsd, max_dist


def perturbed(structure: Structure, distance: float, rng: np.random.Generator) -> Structure:
    moved = structure.copy()
    for index in range(len(moved)):
        direction = rng.normal(size=3)
        moved.translate_sites(index, direction / np.linalg.norm(direction) * distance, frac_coords=False)
    return moved


def one_moved(structure: Structure, rng: np.random.Generator) -> Structure:
    moved = structure.copy()
    moved.translate_sites(int(rng.integers(len(moved))), rng.normal(size=3) * 1.2, frac_coords=False)
    return moved


def answers(structure: Structure, rng: np.random.Generator) -> dict[str, str]:
    """Texts of several kinds, right and wrong, for one target."""
    strained = structure.copy()
    strained.apply_strain([0.04, -0.03, 0.08])
    order = rng.permutation(len(structure))
    without = structure.copy()
    without.remove_sites([0])
    full = cif_of(structure)
    return {
        "exact": full,
        "permuted": cif_of(Structure.from_sites([structure[int(i)] for i in order])),
        "perturbed": cif_of(perturbed(structure, 0.3, rng)),
        "scattered": cif_of(perturbed(structure, 1.2, rng)),
        "one moved": cif_of(one_moved(structure, rng)),
        "shifted": cif_of(shifted(structure, (0.7, 0.4, -0.3))),
        "mirrored": cif_of(mirrored(structure)),
        "strained": cif_of(strained),
        "random": cif_of(Structure(structure.lattice, structure.species, rng.random((len(structure), 3)))),
        "one missing": cif_of(without) if len(without) else full,
        "cut off": full[: len(full) * 2 // 3],
        "half occupied": full[:-2] + "0.5\n",
    }


@pytest.mark.parametrize("index", range(9))
def test_bit_for_bit(index: int) -> None:
    structure = prototypes(4, 20)[7 + 13 * index]
    rng = np.random.default_rng(index)
    target = cif_of(structure)
    prepared = prepare_target(target)
    for kind, answer in answers(structure, rng).items():
        verdict = verify(tagged(answer), prepared, profile="paper", engine="reference")
        stage, rmsd, max_dist = protocol("\n" + answer, target)
        assert verdict.verdict_paper == stage, kind
        assert verdict.success_paper is (stage == "correct")
        if rmsd is None:
            assert (verdict.rmsd, verdict.max_dist) == (None, None)
        else:
            assert verdict.rmsd == pytest.approx(rmsd, abs=1e-6)
            assert verdict.max_dist == pytest.approx(max_dist, abs=1e-6)


def both(answer: Structure, target: Structure) -> Verdict:
    return verify(tagged(cif_of(answer)), cif_of(target), profile="both")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: shifted(s, (0.7, 0.4, -0.3)), id="shifted-rigidly"),
        pytest.param(mirrored, id="mirrored"),
        pytest.param(lambda s: Structure(s.lattice.scale(s.volume * 1.3), s.species, s.frac_coords), id="scaled"),
    ],
)
def test_paper_accepts_what_strict_rejects(change) -> None:  # type: ignore[no-untyped-def]
    # A low-symmetry arrangement, which no mirror or shift brings back onto itself.
    lattice = [[5.0, 0, 0], [0.0, 5.6, 0], [0.0, 0, 6.3]]
    target = Structure(lattice, ["Na", "Cl", "O", "O"], [[0, 0, 0], [0.3, 0.1, 0.2], [0.6, 0.4, 0.9], [0.2, 0.7, 0.6]])
    verdict = both(change(target), target)
    assert verdict.verdict_strict is Stage.STRUCTURE_MISMATCH
    assert verdict.verdict_paper is Stage.CORRECT
    assert verdict.rmsd == pytest.approx(0, abs=1e-3)


def test_distances_come_with_their_unit() -> None:
    structure = prototypes(8, 8)[0]
    moved = structure.copy()
    moved.translate_sites(0, (0.4, 0, 0), frac_coords=False)
    verdict = both(moved, structure)
    assert verdict.length_scale == pytest.approx((structure.volume / len(structure)) ** (1 / 3))
    # The mean translation is taken out: one of N atoms that moves by d shows as d (N - 1) / N.
    assert verdict.max_dist_angstrom == pytest.approx(0.4 * 7 / 8, abs=1e-3)
    assert verdict.max_displacement == pytest.approx(0.4, abs=1e-3)


def cell_text(cell: str) -> str:
    lengths = zip(
        ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"), cell.split(), strict=True
    )
    tags = "\n".join(f"_cell_{tag} {value}" for tag, value in lengths)
    loop = "loop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z"
    return f"data_x\n{tags}\n{loop}\nNa0 0 0 0\nCl1 0.5 0.5 0.5\n"


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        pytest.param("1e9 1e9 1e9 90 90 90", "cell length", id="giant"),
        pytest.param("nan 4 4 90 90 90", "cell length", id="nan"),
        pytest.param("1000 0.1 4 90 90 90", "lattice vectors", id="needle"),
        pytest.param("900 900 0.02 90 90 90", "lattice vectors", id="sheet"),
    ],
)
def test_a_search_that_would_not_end_is_not_begun(cell: str, reason: str) -> None:
    verdict = verify(cell_text(cell), cell_text("4 4 4 90 90 90"), profile="paper")
    assert verdict.stage is Stage.TIMEOUT
    assert verdict.success_paper is False
    assert reason in verdict.message
    assert verdict.seconds < 1


def test_the_estimate_rises_above_the_bound_only_far_beyond_honest_answers() -> None:
    from rewards.paper import MAX_SEARCH_SECONDS, _search_seconds

    assert _search_seconds(48 * 64, 512) < MAX_SEARCH_SECONDS / 10  # seen to take 17 s
    assert _search_seconds(48 * 368, 368) < MAX_SEARCH_SECONDS / 5  # seen to take 36 s
    assert _search_seconds(48 * 1000, 1000) > MAX_SEARCH_SECONDS


HYDRIDE = """data_hydride
_cell_length_a 4
_cell_length_b 5
_cell_length_c 6
_cell_angle_alpha 80
_cell_angle_beta 85
_cell_angle_gamma 95
{}loop_
_atom_site_type_symbol
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
{} {}0 0.1 0.2 0.3
Li Li1 0.6 0.5 0.8
"""
OXIDATION = "loop_\n_atom_type_symbol\n_atom_type_oxidation_number\nH 0\nLi 0\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HYDRIDE.format("", "D", "D"), id="deuterium"),
        pytest.param(HYDRIDE.format(OXIDATION, "H", "H"), id="oxidation-number-0"),
    ],
)
def test_species_of_another_name(answer: str) -> None:
    """Another composition for the protocol, which compares names, though `==` of pymatgen may call them equal."""
    target = HYDRIDE.format("", "H", "H")
    stage, _, _ = protocol(answer, target)
    for engine in ("fast", "reference"):
        assert verify(tagged(answer), target, profile="paper", engine=engine).verdict_paper == stage
