"""Periodic images against an enumeration so wide that no bound is needed."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from atomworld_env.structures.crystal import Crystal, cell_matrix
from atomworld_env.structures.images import (
    nearest_image,
    neighbours_of_point,
    shifts_within,
    shortest_lattice_vector,
)

WIDE = np.array(list(product(range(-12, 13), repeat=3)), dtype=float)


@cache
def oblique_crystals(count=60):
    """Angles of 30° to 150°, edges of 2 to 9 Å, 2 to 6 sites; a third of the sites at special places."""
    rng = np.random.default_rng(11)
    found = []
    while len(found) < count:
        cell = (*rng.uniform(2, 9, 3), *rng.uniform(30, 150, 3))
        try:
            matrix = cell_matrix(cell)
        except ValueError:
            continue
        heights = 1 / np.linalg.norm(np.linalg.inv(matrix), axis=0)
        if np.linalg.norm(matrix, axis=1).sum() / heights.min() > 20:
            continue  # flatter than the wide enumeration can vouch for
        sites = int(rng.integers(2, 7))
        frac = np.where(
            rng.random((sites, 3)) < 0.3, rng.choice([0, 0.25, 0.5, 0.75], (sites, 3)), rng.random((sites, 3))
        )
        found.append(Crystal.printed(cell, ("Na",) * sites, frac))
    return found


def wide_vectors(crystal, frac_point, site):
    """Vectors from a point to the images of a site in 25³ cells."""
    return (crystal.frac[site] - frac_point + WIDE) @ crystal.matrix


def test_the_cells_are_very_oblique():
    angles = np.array([crystal.cell[3:] for crystal in oblique_crystals()])
    assert angles.min() < 40
    assert angles.max() > 140


def test_nearest_image_distance_and_margin():
    pairs = 0
    for crystal in oblique_crystals():
        for origin, other in product(range(len(crystal)), repeat=2):
            vectors = wide_vectors(crystal, crystal.frac[origin], other)
            lengths = np.sort(np.linalg.norm(vectors, axis=1))
            first, second = lengths[1:3] if origin == other else lengths[:2]
            image = nearest_image(crystal, origin, other)
            assert image.distance == pytest.approx(first, abs=1e-9)
            assert image.margin == pytest.approx(second - first, abs=1e-9)
            assert np.linalg.norm(vectors - image.vector, axis=1).min() < 1e-9
            assert np.linalg.norm(image.vector) == pytest.approx(image.distance)
            pairs += 1
    assert pairs > 800


def test_nearest_image_is_the_same_from_both_ends():
    for crystal in oblique_crystals():
        there, back = nearest_image(crystal, 0, 1), nearest_image(crystal, 1, 0)
        assert there.distance == pytest.approx(back.distance, abs=1e-9)
        if there.margin > 1e-6:
            assert there.vector == pytest.approx(-back.vector, abs=1e-9)


def test_shortest_lattice_vector():
    for crystal in oblique_crystals():
        lengths = np.linalg.norm(WIDE @ crystal.matrix, axis=1)
        assert shortest_lattice_vector(crystal) == pytest.approx(lengths[lengths > 1e-6].min(), abs=1e-9)


def test_the_shortest_lattice_vector_need_not_be_an_edge():
    # a and b of 5 Å meet at 30°: their difference is 2 · 5 · sin 15° = 2.588 Å long.
    crystal = Crystal((5.0, 5.0, 9.0, 90.0, 90.0, 30.0), ("Na",), np.zeros((1, 3)))
    assert shortest_lattice_vector(crystal) == pytest.approx(10 * np.sin(np.radians(15)))


@pytest.mark.parametrize("radius", [pytest.param(r, id=f"{r} Å") for r in (0.5, 2.0, 4.05, 6.0)])
def test_neighbours_of_a_point(radius):
    rng = np.random.default_rng(2)
    images = 0
    for crystal in oblique_crystals():
        point = rng.uniform(-1, 2, 3)
        near = neighbours_of_point(crystal, point, radius)
        found = {}
        for site, vector, distance in zip(near.sites, near.vectors, near.distances, strict=True):
            assert np.linalg.norm(vector) == pytest.approx(distance)
            found.setdefault(int(site), []).append(tuple(np.round(vector, 6) + 0.0))
        for site in range(len(crystal)):
            # Points reach from -1 to 2: fold them into the middle of the wide enumeration first.
            vectors = wide_vectors(crystal, point - np.floor(point), site)
            vectors = vectors[np.linalg.norm(vectors, axis=1) <= radius]
            assert sorted(found.get(site, [])) == sorted(map(tuple, np.round(vectors, 6) + 0.0))
            images += len(vectors)
    assert images > (0 if radius < 1 else 100)


def test_the_point_s_own_site_is_included():
    crystal = Crystal((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na",), np.array([[0.3, 0.3, 0.3]]))
    near = neighbours_of_point(crystal, crystal.frac[0], 4.0)
    assert sorted(near.distances) == pytest.approx([0.0] + [4.0] * 6)


def test_no_neighbour_gives_empty_arrays():
    crystal = Crystal((9.0, 9.0, 9.0, 90.0, 90.0, 90.0), ("Na",), np.zeros((1, 3)))
    near = neighbours_of_point(crystal, np.array([0.5, 0.5, 0.5]), 1.0)
    assert len(near.sites) == len(near.distances) == 0
    assert near.vectors.shape == (0, 3)


def test_shifts_reach_every_image_of_a_wrapped_difference():
    rng = np.random.default_rng(4)
    for crystal in oblique_crystals():
        difference = rng.uniform(-0.5, 0.5, 3)
        radius = rng.uniform(1, 6)
        reached = {tuple(shift) for shift in shifts_within(crystal, radius)}
        lengths = np.linalg.norm((WIDE + difference) @ crystal.matrix, axis=1)
        assert {tuple(shift) for shift in WIDE[lengths <= radius]} <= reached
