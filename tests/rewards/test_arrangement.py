"""Cells, species and places."""

from __future__ import annotations

import numpy as np
import pytest
from pymatgen.core.lattice import Lattice

from rewards import Arrangement
from rewards.arrangement import cell_matrix


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param((3.0, 4.0, 5.0, 90.0, 90.0, 90.0), id="orthogonal"),
        pytest.param((3.0, 4.0, 5.0, 90.0, 90.0, 120.0), id="hexagonal"),
        pytest.param((3.0, 4.0, 5.0, 33.0, 48.0, 71.0), id="oblique"),
        pytest.param((3.0, 4.0, 5.0, 100.0, 110.0, 120.0), id="obtuse"),
    ],
)
def test_frame(cell: tuple[float, float, float, float, float, float]) -> None:
    matrix = cell_matrix(cell)
    assert matrix[0, 1] == matrix[0, 2] == matrix[1, 2] == 0  # a along +x, b in the xy-plane
    assert (np.diagonal(matrix) > 0).all()
    np.testing.assert_allclose(Lattice(matrix).parameters, cell, rtol=1e-12)


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param((0.0, 4.0, 5.0, 90.0, 90.0, 90.0), id="zero-length"),
        pytest.param((-3.0, 4.0, 5.0, 90.0, 90.0, 90.0), id="negative-length"),
        pytest.param((3.0, 4.0, 5.0, 90.0, 90.0, 180.0), id="flat-angle"),
        pytest.param((3.0, 4.0, 5.0, 90.0, 150.0, 30.0), id="angles-do-not-close"),
        pytest.param((3.0, 4.0, float("nan"), 90.0, 90.0, 90.0), id="nan"),
        pytest.param((3.0, 4.0, float("inf"), 90.0, 90.0, 90.0), id="inf"),
    ],
)
def test_no_cell(cell: tuple[float, float, float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="cell"):
        cell_matrix(cell)


def test_isotopes_count_as_hydrogen() -> None:
    arrangement = Arrangement((5.0, 5.0, 5.0, 90.0, 90.0, 90.0), ("D", "T", "H", "O"), np.zeros((4, 3)))
    assert arrangement.element_counts == {"H": 3, "O": 1}
    assert arrangement.species == ("D", "T", "H", "O")


def test_volume_is_the_determinant() -> None:
    arrangement = Arrangement((3.0, 4.0, 5.0, 33.0, 48.0, 71.0), ("H",), np.zeros((1, 3)))
    assert arrangement.volume == pytest.approx(abs(np.linalg.det(arrangement.matrix)))


def test_species_and_rows_must_agree() -> None:
    with pytest.raises(ValueError, match="2 species but 1"):
        Arrangement((5.0, 5.0, 5.0, 90.0, 90.0, 90.0), ("H", "H"), np.zeros((1, 3)))
