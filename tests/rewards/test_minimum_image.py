"""Nearest images, against a search over every image that could be nearer."""

from __future__ import annotations

from itertools import product
from math import ceil

import numpy as np
import pytest
from numpy.typing import NDArray

from rewards.arrangement import cell_matrix
from rewards.minimum_image import image_distances, nearest_sites, reduced_lattice

Floats = NDArray[np.float64]


def distance_by_search(difference: Floats, matrix: Floats) -> float:
    """The shortest |d + n| over all whole n that can matter.

    The in-cell image is a first bound; a nearer one lies within that distance of the origin, hence between
    lattice planes that are counted with the reciprocal vectors.
    """
    difference = difference - np.floor(difference)
    bound = float(np.linalg.norm(difference @ matrix))
    spacing = 1 / np.linalg.norm(np.linalg.inv(matrix), axis=0)
    reach = [ceil(bound / step) + 1 for step in spacing]
    shifts = np.array(list(product(*(range(-n - 1, n + 1) for n in reach))))
    return float(np.linalg.norm((difference + shifts) @ matrix, axis=1).min())


CELLS = [
    pytest.param((4.0, 5.0, 6.0, 90.0, 90.0, 90.0), id="orthogonal"),
    pytest.param((4.0, 4.0, 6.0, 90.0, 90.0, 120.0), id="hexagonal"),
    pytest.param((4.0, 4.0, 4.0, 60.0, 60.0, 60.0), id="primitive-fcc"),
    pytest.param((4.0, 4.0, 4.0, 109.4712, 109.4712, 109.4712), id="primitive-bcc"),
    pytest.param((5.0, 5.0, 5.0, 30.0, 30.0, 30.0), id="needle-30"),
    pytest.param((5.0, 9.0, 14.0, 30.0, 45.0, 60.0), id="triclinic-30-45-60"),
    pytest.param((3.0, 4.0, 15.0, 35.0, 140.0, 115.0), id="triclinic-obtuse"),
    pytest.param((3.0, 12.0, 4.0, 90.0, 90.0, 30.0), id="long-oblique-edge"),
    pytest.param((6.0, 6.0, 6.0, 119.0, 119.0, 119.0), id="nearly-flat"),
]


@pytest.mark.parametrize("cell", CELLS)
def test_nearest_image(cell: tuple[float, float, float, float, float, float]) -> None:
    rng = np.random.default_rng(5)
    frac_a = rng.uniform(-2, 3, (12, 3))
    frac_b = np.concatenate([rng.uniform(-2, 3, (9, 3)), [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]])
    matrix = cell_matrix(cell)
    expected = [[distance_by_search(a - b, matrix) for b in frac_b] for a in frac_a]
    np.testing.assert_allclose(image_distances(frac_a, frac_b, reduced_lattice(cell)), expected, atol=1e-9)


def test_random_cells() -> None:
    rng = np.random.default_rng(6)
    tried = 0
    while tried < 150:
        cell = (*rng.uniform(2, 12, 3), *rng.uniform(30, 150, 3))
        try:
            matrix = cell_matrix(cell)
        except ValueError:
            continue
        if np.linalg.det(matrix) / np.prod(cell[:3]) < 0.05:
            continue
        tried += 1
        a, b = rng.uniform(0, 1, (3, 3)), rng.uniform(0, 1, (3, 3))
        expected = [[distance_by_search(x - y, matrix) for y in b] for x in a]
        np.testing.assert_allclose(image_distances(a, b, reduced_lattice(cell)), expected, atol=1e-9)


def test_the_same_place_is_at_distance_zero() -> None:
    frac = np.array([[0.1, 0.2, 0.3]])
    lattice = reduced_lattice((5.0, 9.0, 14.0, 30.0, 45.0, 60.0))
    assert image_distances(frac, frac + np.array([3, -2, 1]), lattice)[0, 0] == pytest.approx(0, abs=1e-12)


def test_many_sites_are_taken_in_chunks_without_a_seam() -> None:
    rng = np.random.default_rng(7)
    frac = rng.random((900, 3))
    lattice = reduced_lattice((20.0, 21.0, 22.0, 70.0, 80.0, 100.0))
    whole = image_distances(frac, frac, lattice)
    np.testing.assert_allclose(np.diagonal(whole), 0, atol=1e-12)
    np.testing.assert_allclose(whole[500:520], image_distances(frac[500:520], frac, lattice), atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_nearest_sites_are_those_of_all_images(cell: tuple[float, float, float, float, float, float]) -> None:
    rng = np.random.default_rng(8)
    lattice = reduced_lattice(cell)
    found = 0
    for spread in (0.001, 0.02, 0.1, 0.3) * 20:
        frac_b = rng.uniform(-2, 3, (5, 3))
        frac_a = frac_b[rng.integers(0, 5, 4)] + rng.normal(0, spread, (4, 3))
        everything = image_distances(frac_a, frac_b, lattice)
        near = nearest_sites(frac_a, frac_b, lattice)
        if near is None:
            assert everything.min(axis=1).max() > lattice.inner_radius - 1e-9
            continue
        found += 1
        np.testing.assert_allclose(near[1], everything.min(axis=1), atol=1e-9)
        np.testing.assert_array_equal(near[0], everything.argmin(axis=1))
    assert found > 20


def test_images_that_can_never_be_nearer_are_left_out() -> None:
    counts = [len(reduced_lattice(cell).translation_norms) for cell in ((4, 5, 6, 90, 90, 90), (4, 4, 6, 90, 90, 120))]
    assert counts[0] == 0
    assert 0 < counts[1] < 13
