"""The strict profile: in the frame given, nothing rescaled, nothing shifted."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from rewards import Arrangement, Stage, compare_strict
from rewards.arrangement import Cell, cell_matrix

CELL: Cell = (4.2, 5.1, 6.3, 75.0, 82.0, 101.0)
SPECIES = ("Na", "Na", "Cl", "Cl", "O")


def crystal(seed: int = 0, cell: Cell = CELL, species: tuple[str, ...] = SPECIES) -> Arrangement:
    return Arrangement(cell, species, np.random.default_rng(seed).random((len(species), 3)))


def moved(arrangement: Arrangement, displacements: NDArray[np.float64]) -> Arrangement:
    """Each site moved by a Cartesian vector in Å."""
    frac = arrangement.frac + displacements @ np.linalg.inv(arrangement.matrix)
    return Arrangement(arrangement.cell, arrangement.species, frac)


def by_brute_force(answer: Arrangement, target: Arrangement) -> tuple[float, float]:
    """Smallest maximum and smallest sum over all permutations within elements and 11³ images of every pair."""
    matrix = cell_matrix(target.cell)
    shifts = np.array(list(product(range(-5, 6), repeat=3)))
    wrapped = (answer.frac[:, None] - target.frac[None]) % 1.0
    distances = np.linalg.norm((wrapped[:, :, None] + shifts) @ matrix, axis=-1).min(axis=2)
    pairings = [
        [distances[order[j], j] for j in range(len(order))]
        for order in permutations(range(len(answer)))
        if all(answer.species[i] == target.species[j] for j, i in enumerate(order))
    ]
    return min(map(max, pairings)), min(map(sum, pairings))


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param((4.0, 5.0, 6.0, 90.0, 90.0, 90.0), id="orthogonal"),
        pytest.param((4.0, 4.0, 6.0, 90.0, 90.0, 120.0), id="hexagonal"),
        pytest.param((5.0, 5.0, 5.0, 30.0, 30.0, 30.0), id="needle"),
        pytest.param((4.0, 7.0, 9.0, 30.0, 45.0, 60.0), id="triclinic"),
        pytest.param((3.0, 4.0, 8.0, 40.0, 135.0, 115.0), id="obtuse"),
    ],
)
def test_displacements_against_all_permutations_and_images(cell: Cell) -> None:
    for seed in range(6):
        target, answer = crystal(seed, cell), crystal(seed + 100, cell)
        comparison = compare_strict(answer, target)
        largest, total = by_brute_force(answer, target)
        assert comparison.max_displacement == pytest.approx(largest, abs=1e-9)
        assert comparison.sum_displacement == pytest.approx(total, abs=1e-9)


def test_identical() -> None:
    comparison = compare_strict(crystal(), crystal())
    assert comparison.stage is Stage.CORRECT
    assert (comparison.max_displacement, comparison.sum_displacement) == (0.0, 0.0)
    assert (comparison.composition_difference, comparison.composition_matches, comparison.cell_matches) == (
        0,
        True,
        True,
    )


def test_any_order_of_atoms_and_any_image() -> None:
    target = crystal()
    order = np.array([4, 2, 0, 3, 1])
    frac = target.frac[order] + [[1, 0, 0], [0, -2, 0], [3, 3, 3], [0, 0, 0], [-1, 0, 7]]
    answer = Arrangement(CELL, tuple(SPECIES[i] for i in order), frac)
    comparison = compare_strict(answer, target)
    assert comparison.stage is Stage.CORRECT
    assert comparison.max_displacement == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("distance", "tolerance", "stage"),
    [
        pytest.param(0.09, 0.1, Stage.CORRECT, id="within"),
        pytest.param(0.11, 0.1, Stage.STRUCTURE_MISMATCH, id="beyond"),
        pytest.param(0.11, 0.25, Stage.CORRECT, id="wider-tolerance"),
        pytest.param(0.09, 0.05, Stage.STRUCTURE_MISMATCH, id="narrower-tolerance"),
    ],
)
def test_one_atom_moved(distance: float, tolerance: float, stage: Stage) -> None:
    displacements = np.zeros((5, 3))
    displacements[2, 1] = distance
    comparison = compare_strict(moved(crystal(), displacements), crystal(), tolerance=tolerance)
    assert comparison.stage is stage
    assert comparison.max_displacement == pytest.approx(distance)
    assert comparison.sum_displacement == pytest.approx(distance)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda a: moved(a, np.full((5, 3), 0.4)), id="shifted-rigidly"),
        pytest.param(lambda a: Arrangement(a.cell, a.species, a.frac * [-1, 1, 1]), id="mirrored"),
        pytest.param(lambda a: Arrangement(a.cell, a.species, -a.frac), id="inverted"),
        pytest.param(lambda a: Arrangement(a.cell, a.species[::-1], a.frac), id="elements-exchanged"),
        pytest.param(lambda a: Arrangement((4.41, 5.355, 6.615, *CELL[3:]), a.species, a.frac), id="scaled"),
        pytest.param(
            lambda a: Arrangement((5.1, 4.2, 6.3, 82.0, 75.0, 101.0), a.species, a.frac[:, [1, 0, 2]]),
            id="axes-renamed",
        ),
    ],
)
def test_what_the_frame_forbids(change) -> None:  # type: ignore[no-untyped-def]
    target = Arrangement(CELL, ("Na", "Na", "Cl", "O", "O"), crystal().frac)
    assert compare_strict(change(target), target).stage is Stage.STRUCTURE_MISMATCH


@pytest.mark.parametrize(
    ("cell", "matches"),
    [
        pytest.param((4.2 * 1.005, 5.1, 6.3, 75.0, 82.0, 101.0), True, id="half-a-percent"),
        pytest.param((4.2 * 1.006, 5.1, 6.3, 75.0, 82.0, 101.0), False, id="more-than-half-a-percent"),
        pytest.param((4.2, 5.1, 6.3 * 0.994, 75.0, 82.0, 101.0), False, id="too-short"),
        pytest.param((4.2, 5.1, 6.3, 75.5, 82.0, 101.0), True, id="half-a-degree"),
        pytest.param((4.2, 5.1, 6.3, 75.0, 81.4, 101.0), False, id="more-than-half-a-degree"),
    ],
)
def test_cell_tolerance(cell: Cell, matches: bool) -> None:
    comparison = compare_strict(Arrangement(cell, SPECIES, crystal().frac), crystal())
    assert comparison.cell_matches is matches
    assert (comparison.stage is Stage.CORRECT) is matches
    if not matches:
        assert comparison.max_displacement is None
        assert comparison.sum_displacement is None
        assert "the cell differs" in comparison.message


@pytest.mark.parametrize(
    ("species", "difference"),
    [
        pytest.param(("Na", "Na", "Cl", "Cl"), 1, id="one-missing"),
        pytest.param(("Na", "Na", "Cl", "Cl", "O", "O"), 1, id="one-more"),
        pytest.param(("Na", "Na", "Cl", "O", "O"), 2, id="one-exchanged"),
        pytest.param((), 5, id="empty"),
        pytest.param(SPECIES * 2, 5, id="doubled"),
    ],
)
def test_composition_comes_before_geometry(species: tuple[str, ...], difference: int) -> None:
    comparison = compare_strict(crystal(species=species), crystal())
    assert comparison.stage is Stage.COMPOSITION_MISMATCH
    assert comparison.composition_difference == difference
    assert comparison.composition_matches is False
    assert comparison.cell_matches is True
    assert (comparison.max_displacement, comparison.sum_displacement) == (None, None)


def test_composition_mismatch_still_tells_about_the_cell() -> None:
    comparison = compare_strict(crystal(cell=(9.0, 5.1, 6.3, 75.0, 82.0, 101.0), species=("Na",)), crystal())
    assert comparison.stage is Stage.COMPOSITION_MISMATCH
    assert comparison.cell_matches is False


def test_isotopes_of_hydrogen_are_hydrogen() -> None:
    frac = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]])
    answer, target = Arrangement(CELL, ("D", "T"), frac), Arrangement(CELL, ("H", "H"), frac)
    assert compare_strict(answer, target).stage is Stage.CORRECT


def test_one_far_move_is_told_from_a_chain_of_hops() -> None:
    # Atoms at 0, 2, 4, 6 Å become 2, 4, 6, 8: the first moved by 4 Å (8 is -4 in a cell of 12), or all by 2 Å.
    cell: Cell = (12.0, 4.0, 4.0, 90.0, 90.0, 90.0)
    row = np.array([[x / 12, 0, 0] for x in (0.0, 2.0, 4.0, 6.0)])
    target = Arrangement(cell, ("Cu",) * 4, row)
    answer = Arrangement(cell, ("Cu",) * 4, row + np.array([2 / 12, 0, 0]))
    comparison = compare_strict(answer, target)
    assert comparison.max_displacement == pytest.approx(2.0)
    assert comparison.sum_displacement == pytest.approx(4.0)


def test_the_targets_lattice_measures() -> None:
    answer = Arrangement((10.04, 10.0, 10.0, 90.0, 90.0, 90.0), ("Cu",), np.array([[0.51, 0.0, 0.0]]))
    target = Arrangement((10.0, 10.0, 10.0, 90.0, 90.0, 90.0), ("Cu",), np.array([[0.5, 0.0, 0.0]]))
    assert compare_strict(answer, target).max_displacement == pytest.approx(0.1)
