"""A crystal as printed: the Cartesian frame, wrapping and rounding."""

from __future__ import annotations

from math import cos, radians, sin, sqrt

import numpy as np
import pytest
from ase.geometry import cellpar_to_cell

from atomworld_env.structures.crystal import Crystal, cell_matrix, wrap


def test_hexagonal_cell_by_hand():
    matrix = cell_matrix((4.0, 4.0, 6.0, 90.0, 90.0, 120.0))
    assert matrix == pytest.approx(np.array([[4, 0, 0], [-2, 2 * sqrt(3), 0], [0, 0, 6]]), abs=1e-12)


def test_monoclinic_cell_by_hand():
    # β = 110°: c leans towards -x, b stays along y. pymatgen's default would turn a instead.
    matrix = cell_matrix((5.0, 6.0, 7.0, 90.0, 110.0, 90.0))
    assert matrix[0] == pytest.approx([5, 0, 0])
    assert matrix[1] == pytest.approx([0, 6, 0])
    assert matrix[2] == pytest.approx([7 * cos(radians(110)), 0, 7 * sin(radians(110))])


def test_right_angles_give_exact_zeros():
    matrix = cell_matrix((3.0, 4.0, 5.0, 90.0, 90.0, 90.0))
    assert np.array_equal(matrix, np.diag([3.0, 4.0, 5.0]))


def random_cells(count):
    rng = np.random.default_rng(5)
    while count:
        cell = (*rng.uniform(2, 20, 3), *rng.uniform(30, 150, 3))
        try:
            cell_matrix(cell)
        except ValueError:
            continue
        count -= 1
        yield cell


def test_frame_of_random_cells_has_a_along_x_b_in_the_plane_and_c_upwards():
    for cell in random_cells(500):
        matrix = cell_matrix(cell)
        assert matrix[0, 1] == matrix[0, 2] == matrix[1, 2] == 0
        assert matrix[0, 0] > 0
        assert matrix[1, 1] > 0
        assert matrix[2, 2] > 0
        lengths = np.linalg.norm(matrix, axis=1)
        cosines = [np.dot(matrix[i], matrix[j]) / lengths[i] / lengths[j] for i, j in ((1, 2), (0, 2), (0, 1))]
        assert lengths == pytest.approx(cell[:3], rel=1e-9)
        assert np.degrees(np.arccos(cosines)) == pytest.approx(cell[3:], abs=1e-6)


def test_frame_is_that_of_ase():
    for cell in random_cells(500):
        assert cell_matrix(cell) == pytest.approx(cellpar_to_cell(cell), abs=1e-9 * max(cell[:3]))


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param((0.0, 4.0, 4.0, 90.0, 90.0, 90.0), id="length of zero"),
        pytest.param((-4.0, 4.0, 4.0, 90.0, 90.0, 90.0), id="negative length"),
        pytest.param((4.0, 4.0, 4.0, 0.0, 90.0, 90.0), id="angle of 0"),
        pytest.param((4.0, 4.0, 4.0, 90.0, 90.0, 180.0), id="angle of 180"),
        pytest.param((4.0, 4.0, 4.0, 30.0, 40.0, 80.0), id="angles that do not close"),
        pytest.param((4.0, 4.0, 4.0, 130.0, 130.0, 130.0), id="angles above 360 together"),
    ],
)
def test_six_numbers_that_are_no_cell_are_refused_in_one_line(cell):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        cell_matrix(cell)


@pytest.mark.parametrize(
    ("given", "decimals", "printed"),
    [
        pytest.param(0.25, 4, 0.25, id="as it is"),
        pytest.param(1.25, 4, 0.25, id="above one"),
        pytest.param(-0.25, 4, 0.75, id="negative"),
        pytest.param(1.0, 4, 0.0, id="one"),
        pytest.param(0.99996, 4, 0.0, id="rounds up to one"),
        pytest.param(0.99994, 4, 0.9999, id="just does not"),
        pytest.param(-0.00004, 4, 0.0, id="minus zero"),
        pytest.param(-0.0, 4, 0.0, id="negative zero"),
        pytest.param(-1e-20, 8, 0.0, id="a hair below zero"),
        pytest.param(1 / 3, 4, 0.3333, id="a third stays 0.3333"),
        pytest.param(0.99996, 8, 0.99996, id="more decimals"),
    ],
)
def test_wrapping(given, decimals, printed):
    (result,) = wrap(np.array([given]), decimals)
    assert result == printed
    assert not np.signbit(result)


def test_wrapping_twice_changes_nothing():
    frac = np.random.default_rng(0).uniform(-3, 3, (1000, 3))
    once = wrap(frac, 4)
    assert np.array_equal(wrap(once, 4), once)
    assert ((once >= 0) & (once < 1)).all()


def test_printed_rounds_cell_and_coordinates():
    crystal = Crystal.printed((4.00004, 4, 4, 90, 90.00006, 90), ("Na",), [[0.12345, 0.99999, -0.1]])
    assert crystal.cell == (4.0, 4.0, 4.0, 90.0, 90.0001, 90.0)
    assert crystal.frac.tolist() == [[0.1235, 0.0, 0.9]] or crystal.frac.tolist() == [[0.1234, 0.0, 0.9]]
    assert not crystal.is_orthogonal


def test_coordinates_are_read_only_and_not_shared():
    frac = np.zeros((1, 3))
    crystal = Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na",), frac)
    frac[0, 0] = 0.5
    assert crystal.frac[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        crystal.frac[0, 0] = 0.5


def test_species_and_coordinates_go_together():
    with pytest.raises(ValueError, match=r"^2 species but 1 coordinates$"):
        Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na", "Cl"), np.zeros((1, 3)))


def test_replaced_keeps_the_cell_and_eight_decimals():
    crystal = Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na",), np.zeros((1, 3)))
    target = crystal.replaced(frac=np.array([[1.123456789, -0.5, 0.999999999]]))
    assert target.frac.tolist() == [[0.12345679, 0.5, 0.0]]
    assert target.cell == crystal.cell
    assert target.species == ("Na",)
    assert crystal.replaced(species=("K",)).species == ("K",)


def test_heights_are_distances_between_opposite_faces():
    crystal = Crystal((4.0, 4.0, 6.0, 90.0, 90.0, 120.0), ("Na",), np.zeros((1, 3)))
    assert crystal.heights == pytest.approx([2 * sqrt(3), 2 * sqrt(3), 6.0])


def test_cartesian_and_inverse_belong_together():
    rng = np.random.default_rng(3)
    for cell in random_cells(50):
        crystal = Crystal(cell, ("Na",) * 4, rng.random((4, 3)))
        assert crystal.cartesian @ crystal.inverse == pytest.approx(crystal.frac, abs=1e-9)
        assert crystal.composition == {"Na": 4}
        assert len(crystal) == 4
