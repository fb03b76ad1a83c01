"""Periodic images of sites by explicit enumeration: which is nearest, and how clearly.

Task truths use this module; verification has its own minimum-image code in `rewards`, so that one mistake cannot
hide in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from atomworld_env.structures.crystal import Crystal, FloatArray


def shifts_within(crystal: Crystal, radius: float) -> FloatArray:
    """Integer cell shifts that reach every image within `radius` Å of a point, for differences wrapped to ±0.5.

    A difference vector of length r has |fractional component k| <= r / height_k, so an image n + d with |d| <= 0.5
    needs |n| <= r / height_k + 0.5. The bound holds for any cell, however skewed.

    Returns:
        Integer array of shape (n_shifts, 3) as floats.
    """
    reach = np.floor(radius / crystal.heights + 0.5).astype(int)
    ranges = [range(-n, n + 1) for n in reach]
    return np.array(list(product(*ranges)), dtype=float)


def shortest_lattice_vector(crystal: Crystal) -> float:
    """Length in Å of the shortest non-zero lattice vector."""
    return _shortest_lattice_vector(crystal.cell)


@lru_cache(maxsize=4096)  # asked for several times per draw, and depends on the cell alone
def _shortest_lattice_vector(cell: tuple[float, float, float, float, float, float]) -> float:
    crystal = Crystal(cell, (), np.empty((0, 3)))
    shifts = shifts_within(crystal, min(crystal.cell[:3]) + 1e-9)
    lengths = np.linalg.norm(shifts @ crystal.matrix, axis=1)
    return float(lengths[lengths > 1e-6].min())


@dataclass(frozen=True)
class NearestImage:
    """The image of one site that is nearest to another.

    Attributes:
        vector: from the origin site to the image, Å, shape (3,).
        distance: its length in Å.
        margin: how much farther, in Å, the second nearest image lies.
    """

    vector: FloatArray
    distance: float
    margin: float


def nearest_image(crystal: Crystal, origin: int, other: int) -> NearestImage:
    """The image of site `other` nearest to site `origin` (another image of the same site if both are equal)."""
    difference = crystal.frac[other] - crystal.frac[origin]
    difference = difference - np.round(difference)
    first_guess = float(np.linalg.norm(difference @ crystal.matrix))
    # The second nearest image is no farther than the first guess plus one shortest lattice vector.
    shifts = shifts_within(crystal, first_guess + shortest_lattice_vector(crystal) + 1e-6)
    vectors = (shifts + difference) @ crystal.matrix
    distances = np.linalg.norm(vectors, axis=1)
    if origin == other:
        distances[distances < 1e-6] = np.inf
    first, second = np.argsort(distances, kind="stable")[:2]
    return NearestImage(vectors[first], float(distances[first]), float(distances[second] - distances[first]))


@dataclass(frozen=True)
class Neighbours:
    """All images within a radius of a point.

    Attributes:
        sites: index of the site each image belongs to, shape (n_images,).
        vectors: from the point to the image, Å, shape (n_images, 3).
        distances: Å, shape (n_images,).
    """

    sites: np.ndarray
    vectors: FloatArray
    distances: FloatArray


def neighbours_of_point(crystal: Crystal, frac_point: FloatArray, radius: float) -> Neighbours:
    """All images of all sites within `radius` Å of a fractional point, the point's own site included."""
    differences = crystal.frac - frac_point
    differences = differences - np.round(differences)
    shifts = shifts_within(crystal, radius)
    cartesian_shifts = shifts @ crystal.matrix
    vectors = (differences @ crystal.matrix)[:, None, :] + cartesian_shifts[None, :, :]
    distances_squared = np.einsum("ijk,ijk->ij", vectors, vectors)
    sites, images = np.nonzero(distances_squared <= radius * radius)
    return Neighbours(sites, vectors[sites, images], np.sqrt(distances_squared[sites, images]))
