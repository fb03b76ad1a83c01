"""The fast paper profile against StructureMatcher: equal verdicts, figures within 1e-3."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from crystal_texts import mirrored, prototypes, shifted
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure

from rewards.matcher import prepared
from rewards.matcher import search as matcher_search
from rewards.matcher.mappings import find_mappings
from rewards.matcher.open_candidates import any_fits
from rewards.matcher.prepared import NotPlainError, in_frame, prepare_crystal, prepare_once
from rewards.matcher.search import search
from rewards.paper import PaperComparison, compare_paper
from rewards.stages import Stage

Change = Callable[[Structure, np.random.Generator], Structure]


def displaced(structure: Structure, distance: float, rng: np.random.Generator) -> Structure:
    """Every atom by a normal distribution with this rms, in Å."""
    moves = rng.normal(size=(len(structure), 3)) * distance / np.sqrt(3)
    return Structure(structure.lattice, structure.species, structure.cart_coords + moves, coords_are_cartesian=True)


def one_moved(structure: Structure, distance: float, rng: np.random.Generator) -> Structure:
    direction = rng.normal(size=3)
    moved = structure.copy()
    index = [int(rng.integers(len(moved)))]
    moved.translate_sites(index, direction / np.linalg.norm(direction) * distance, frac_coords=False)
    return moved


def swapped(structure: Structure, rng: np.random.Generator) -> Structure:
    species = list(structure.species)
    first = int(rng.integers(len(species)))
    others = [index for index, symbol in enumerate(species) if symbol != species[first]]
    if others:
        second = others[rng.integers(len(others))]
        species[first], species[second] = species[second], species[first]
    return Structure(structure.lattice, species, structure.frac_coords)


def other_setting(structure: Structure, rng: np.random.Generator) -> Structure:
    basis = np.eye(3, dtype=int)
    first, second = rng.permutation(3)[:2]
    basis[first, second] = rng.integers(-2, 3)
    matrix = basis @ structure.lattice.matrix
    return Structure(Lattice(matrix), structure.species, structure.cart_coords, coords_are_cartesian=True)


def permuted_axes(structure: Structure, rng: np.random.Generator) -> Structure:
    order = rng.permutation(3)
    return Structure(Lattice(structure.lattice.matrix[order]), structure.species, structure.frac_coords[:, order])


def length_scale(structure: Structure) -> float:
    return float((structure.volume / len(structure)) ** (1 / 3))


def strained(structure: Structure, rng: np.random.Generator) -> Structure:
    matrix = structure.lattice.matrix @ (np.eye(3) + rng.normal(size=(3, 3)) * 0.04)
    return Structure(Lattice(matrix), structure.species, structure.frac_coords)


def rounded(structure: Structure, rng: np.random.Generator) -> Structure:
    lattice = Lattice.from_parameters(*np.round(structure.lattice.parameters, 3))
    return Structure(lattice, structure.species, np.round(structure.frac_coords, 4))


CHANGES: dict[str, Change] = {
    "exact": lambda s, rng: s.copy(),
    "permuted": lambda s, rng: Structure.from_sites([s[int(i)] for i in rng.permutation(len(s))]),
    "rounded": rounded,
    "near": lambda s, rng: displaced(s, 0.02, rng),
    "shifted": lambda s, rng: shifted(s, rng.random(3) * 5),
    "mirrored": lambda s, rng: mirrored(s),
    "permuted axes": permuted_axes,
    "other setting": other_setting,
    "scaled": lambda s, rng: Structure(Lattice(s.lattice.matrix * rng.uniform(0.8, 1.2)), s.species, s.frac_coords),
    "strained": strained,
    "noisy": lambda s, rng: displaced(s, 0.2, rng),
    "at the tolerance": lambda s, rng: displaced(s, length_scale(s) * rng.uniform(0.2, 0.7), rng),
    "scattered": lambda s, rng: displaced(s, length_scale(s) * rng.uniform(0.6, 1.2), rng),
    "moved": lambda s, rng: one_moved(s, rng.uniform(0.1, 3), rng),
    "two moved": lambda s, rng: one_moved(one_moved(s, rng.uniform(0.5, 3), rng), rng.uniform(0.5, 3), rng),
    "swapped": swapped,
    "random": lambda s, rng: Structure(s.lattice, s.species, rng.random((len(s), 3))),
}


def sorted_as_read(structure: Structure) -> Structure:
    """By electronegativity, as pymatgen's CIF reader leaves the sites."""
    return structure.get_sorted_structure()


def assert_equal(fast: PaperComparison, reference: PaperComparison, what: str) -> None:
    assert fast.stage is reference.stage, what
    assert (fast.rmsd is None) == (reference.rmsd is None), what
    if fast.rmsd is not None:
        assert fast.rmsd == pytest.approx(reference.rmsd, abs=1e-3), what
        assert fast.max_dist == pytest.approx(reference.max_dist, abs=1e-3), what


def both(answer: Structure, target: Structure) -> tuple[PaperComparison, PaperComparison]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare_paper(answer, target), compare_paper(answer, target, engine="reference")


@pytest.mark.parametrize("kind", CHANGES)
def test_verdicts_and_figures_are_those_of_the_matcher(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    for structure in prototypes(2, 16)[::29]:
        if not structure.is_ordered:
            continue
        target = sorted_as_read(one_moved(structure, 0.7, rng) if rng.random() < 0.5 else structure)
        answer = sorted_as_read(CHANGES[kind](target, rng))
        assert_equal(*both(answer, target), f"{kind} {target.formula}")


def test_an_unedited_crystal_against_the_edited_one() -> None:
    rng = np.random.default_rng(7)
    for structure in prototypes(4, 12)[::17]:
        if structure.is_ordered:
            target = sorted_as_read(one_moved(structure, float(rng.uniform(0.3, 3)), rng))
            assert_equal(*both(sorted_as_read(structure), target), target.formula)


CUBIC = Structure(
    Lattice.cubic(5), ["Na", "Cl", "O", "O"], [[0, 0, 0], [0.3, 0.1, 0.2], [0.6, 0.4, 0.9], [0.2, 0.7, 0.6]]
)


def test_exact_and_permuted_answers_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_search, "search", pytest.fail)
    for answer in (CUBIC.copy(), Structure.from_sites([CUBIC[i] for i in (3, 1, 2, 0)])):
        found = compare_paper(answer, CUBIC)
        assert found.stage is Stage.CORRECT
        assert found.max_dist == pytest.approx(0, abs=1e-9)


def test_in_frame_is_for_the_very_cell_and_for_the_bound() -> None:
    target = prepare_crystal(CUBIC)
    near, far = CUBIC.copy(), CUBIC.copy()
    near.translate_sites([0], [0.0005, 0, 0], frac_coords=False)  # 2 √4 · 0.0005 / 3.15 < 1e-3
    far.translate_sites([0], [0.001, 0, 0], frac_coords=False)
    figures = in_frame(target, prepare_crystal(near))
    assert figures is not None
    assert figures[1] == pytest.approx(0.0005 * 3 / 4 / length_scale(CUBIC))
    assert in_frame(target, prepare_crystal(far)) is None
    scaled = Structure(Lattice.cubic(5.0001), CUBIC.species, CUBIC.frac_coords)
    assert in_frame(target, prepare_crystal(scaled)) is None


@pytest.mark.parametrize("index", range(0, 100, 11))
def test_mappings_are_those_of_pymatgen_in_its_order(index: int) -> None:
    structure = prototypes(2, 30)[index]
    target, answer = structure.lattice, Lattice(structure.lattice.matrix @ np.diag([1.05, 0.97, 1.1]))
    ours = find_mappings(target, answer)
    ratio = (answer.volume / target.volume) ** (1 / 6)
    theirs = Lattice(target.matrix * ratio).find_all_mappings(
        Lattice(answer.matrix / ratio), ltol=0.2, atol=5, skip_rotation_matrix=True
    )
    scales = [scale for _, _, scale in theirs if abs(abs(np.linalg.det(scale)) - 1) < 0.5]
    assert len(ours) == len(scales)
    for to_average, own, scale in zip(ours.of_target, ours.of_answer, scales, strict=True):
        assert np.allclose(np.linalg.inv(scale) @ own, to_average)


def test_no_mapping_is_a_rejection() -> None:
    flat = Structure(Lattice.orthorhombic(2, 8, 8), CUBIC.species, CUBIC.frac_coords)
    target, answer = prepare_crystal(CUBIC), prepare_crystal(flat)
    mappings = find_mappings(target.niggli, answer.niggli)
    assert len(mappings) == 0
    assert search(target, answer, mappings).fits is False


def test_single_candidates_can_be_put_to_the_matcher() -> None:
    from pymatgen.core.structure_matcher import StructureMatcher

    matcher = StructureMatcher(primitive_cell=False, stol=0.5)
    other = swapped(CUBIC, np.random.default_rng(0))
    target, answer = prepare_crystal(CUBIC), prepare_crystal(other)
    mappings = find_mappings(target.niggli, answer.niggli)
    every = [(number, 0) for number in range(len(mappings))]
    assert any_fits(matcher, CUBIC, CUBIC, len(mappings), every) is True
    assert any_fits(matcher, CUBIC, other, len(mappings), every) is bool(matcher.fit(CUBIC, other))
    assert any_fits(matcher, CUBIC, other, len(mappings) + 1, every[:0]) is None


@pytest.mark.parametrize("species", [{"Na": 0.5}, {"Na": 0.5, "K": 0.5}], ids=["half", "shared"])
def test_partial_occupancy_is_left_to_the_matcher(species: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_search, "search", pytest.fail)
    target = Structure(CUBIC.lattice, [species, "Cl", "O", "O"], CUBIC.frac_coords)
    assert_equal(*both(target.copy(), target), "partial occupancy")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e20])
def test_coordinates_without_digits_are_left_to_the_matcher(value: float) -> None:
    answer = CUBIC.copy()
    answer[0]._frac_coords = np.array([value, 0, 0])
    with pytest.raises(NotPlainError):
        prepare_crystal(answer)


def test_a_target_is_prepared_once_and_forgotten_with_it() -> None:
    target = CUBIC.copy()
    key = id(target)
    assert prepare_once(target) is prepare_once(target)
    assert key in prepared._prepared
    del target
    gc.collect()
    assert key not in prepared._prepared


def test_a_cell_that_cannot_be_reduced_is_a_mismatch_for_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ValueError("can't find niggli")

    monkeypatch.setattr(Lattice, "get_niggli_reduced_lattice", fail)
    # A crystal of its own: the matcher remembers what it has reduced before.
    target = Structure(Lattice.cubic(6.25), CUBIC.species, CUBIC.frac_coords)
    for found in both(target.copy(), target):
        assert found.stage is Stage.STRUCTURE_MISMATCH
        assert "ValueError" in found.message


def test_charges_are_part_of_the_species() -> None:
    charged = CUBIC.copy()
    charged.add_oxidation_state_by_element({"Na": 1, "Cl": 1, "O": -1})
    assert compare_paper(CUBIC, charged).stage is Stage.COMPOSITION_MISMATCH
    assert compare_paper(charged.copy(), charged).stage is Stage.CORRECT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("smallest", "largest", "count"),
    [
        pytest.param(2, 12, 1500, id="tiny"),
        pytest.param(2, 40, 2000, id="small"),
        pytest.param(41, 160, 150, id="large"),
    ],
)
def test_parity_over_thousands_of_answers(smallest: int, largest: int, count: int) -> None:
    """Targets from the pool, edited or not; answers of every kind, and the edit on another site."""
    from atomworld_env.structures.pool import default_pool

    rng = np.random.default_rng(largest)
    crystals = [entry.crystal for entry in default_pool().entries() if smallest <= entry.n_sites <= largest]
    kinds = [*CHANGES, "wrong site"]
    for number in range(count):
        crystal = crystals[rng.integers(len(crystals))]
        target = Structure(Lattice.from_parameters(*crystal.cell), list(crystal.species), crystal.frac)
        kind = kinds[number % len(kinds)]
        if kind == "wrong site":
            target, answer = (one_moved(target, float(rng.uniform(0.8, 3)), rng) for _ in range(2))
        else:
            if rng.random() < 0.5:
                target = one_moved(target, float(rng.uniform(0.3, 2)), rng)
            answer = CHANGES[kind](target, rng)
        answer, target = sorted_as_read(answer), sorted_as_read(target)
        assert_equal(*both(answer, target), f"{number} {kind} {target.formula}")
