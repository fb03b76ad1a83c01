"""From Å to pixels: one orthographic view for all crystals of a picture, in which the edit can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from atomworld_env.structures.crystal import Crystal, FloatArray

ATOM_SCALE = 0.45
"""Drawn radius over covalent radius: atoms of one cell stay apart and show what lies behind them."""

# Azimuth and elevation of the viewer in degrees; the first is the usual view, a to the right and c up.
_VIEWS = tuple((azimuth, elevation) for elevation in (14, 28, 45, 65) for azimuth in (-70, -55, -80, -35, -110, -20))

_JUDGED_ATOMS = 100
"""Overlaps are judged on this many atoms at most, spread evenly over the list."""

CORNERS = np.array(list(product((0.0, 1.0), repeat=3)))
"""Of a cell, fractional, shape (8, 3)."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One crystal to be drawn.

    Attributes:
        crystal: cell and sites.
        marked: indices of the sites that should not be hidden.
        extra: Cartesian points in Å outside the list of sites that must be in the picture, shape (n, 3).
    """

    crystal: Crystal
    marked: tuple[int, ...]
    extra: FloatArray

    @cached_property
    def radii(self) -> FloatArray:
        """Drawn radius of each site in Å, shape (n_sites,)."""
        return np.array([drawn_radius(symbol) for symbol in self.crystal.species])

    @cached_property
    def corners(self) -> FloatArray:
        """Points in Å that the picture must hold besides the atoms, shape (8 + n, 3)."""
        return np.concatenate([CORNERS @ self.crystal.matrix, self.extra])

    def bounds(self, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower left and upper right of everything drawn, in Å along the first two of these axes."""
        points, atoms = self.corners @ axes[:2].T, self.crystal.cartesian @ axes[:2].T
        radii = self.radii[:, None]
        low = np.concatenate([points, atoms - radii]).min(axis=0)
        high = np.concatenate([points, atoms + radii]).max(axis=0)
        return low, high


@dataclass(frozen=True, eq=False)
class View:
    """An orthographic projection.

    Attributes:
        axes: unit vectors to the right, up and towards the viewer as rows, shape (3, 3).
        scale: pixels per Å.
        middle: what lies in the middle of a panel, in Å along the first two axes, shape (2,).
    """

    axes: FloatArray
    scale: float
    middle: FloatArray

    def project(self, cartesian: FloatArray) -> FloatArray:
        """Pixels to the right of the middle, pixels up and depth in Å (larger is nearer), shape (n, 3)."""
        seen: FloatArray = cartesian @ self.axes.T
        seen[:, :2] = (seen[:, :2] - self.middle) * self.scale
        return seen


def drawn_radius(symbol: str) -> float:
    """Radius in Å with which an element is drawn."""
    from ase.data import atomic_numbers, covalent_radii

    return ATOM_SCALE * float(np.clip(covalent_radii[atomic_numbers.get(symbol, 0)], 0.5, 1.9))


def choose_view(scenes: Sequence[Scene], width: float, height: float) -> View:
    """The view in which all scenes are large, the marked sites are least hidden and the atoms overlap least.

    Args:
        width, height: of a panel in pixels.
    """
    views = [fitted_view(scenes, _axes(*angles), width, height) for angles in _VIEWS]
    largest = max(view.scale for view in views)
    best, best_score = views[0], -np.inf
    for rank, view in enumerate(views):
        covers = [_cover(scene, view.axes) for scene in scenes]
        marked = max(cover for cover, _ in covers)
        everywhere = float(np.mean([cover for _, cover in covers]))
        # Size counts as its logarithm, so that half the size is as bad in a small picture as in a large one.
        score = 0.7 * np.log(view.scale / largest) - 0.5 * marked - 0.6 * everywhere - 0.01 * rank
        if score > best_score + 1e-9:
            best, best_score = view, score
    return best


def fitted_view(scenes: Sequence[Scene], axes: FloatArray, width: float, height: float) -> View:
    """The view along these axes in which all scenes, laid over each other, fill a panel."""
    low, high = (np.array(corner) for corner in zip(*(scene.bounds(axes) for scene in scenes), strict=True))
    low, high = low.min(axis=0), high.max(axis=0)
    wide, tall = np.maximum(high - low, 1e-3).tolist()
    return View(axes, min(width / wide, height / tall), (low + high) / 2)


def _axes(azimuth: float, elevation: float) -> FloatArray:
    turn, tilt = np.radians(azimuth), np.radians(elevation)
    towards = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    return np.array([right, np.cross(towards, right), towards])


def _cover(scene: Scene, axes: FloatArray) -> tuple[float, float]:
    """How much is hidden by atoms in front, 0 for nothing: mean over the marked sites, mean over all."""
    count = len(scene.crystal)
    if count == 0:
        return 0.0, 0.0
    judged = np.unique(np.linspace(0, count - 1, min(count, _JUDGED_ATOMS)).astype(int))
    rows = np.concatenate([np.array(scene.marked[:_JUDGED_ATOMS], dtype=int), judged])
    seen = scene.crystal.cartesian @ axes.T
    apart = np.hypot(*(seen[rows, None, :2] - seen[None, :, :2]).transpose(2, 0, 1))
    overlap = np.clip(1.0 - apart / (scene.radii[rows, None] + scene.radii[None, :]), 0.0, None)
    overlap[seen[None, :, 2] <= seen[rows, None, 2]] = 0.0
    hidden = np.minimum(overlap.sum(axis=1), 1.0)
    marked = hidden[: len(rows) - len(judged)]
    return float(marked.mean()) if len(marked) else 0.0, float(hidden[len(rows) - len(judged) :].mean())


def segments_of_edges(matrix: FloatArray, pieces: int) -> tuple[FloatArray, FloatArray]:
    """The twelve cell edges cut into pieces, so that atoms can pass in front of and behind them.

    Returns:
        Start and end of each piece in Å, shape (12 * pieces, 3) each.
    """
    steps = np.linspace(0.0, 1.0, pieces + 1)
    starts, ends = [], []
    for axis in range(3):
        for corner in CORNERS[CORNERS[:, axis] == 0.0]:
            points = np.repeat(corner[None, :], pieces + 1, axis=0)
            points[:, axis] = steps
            starts.append(points[:-1])
            ends.append(points[1:])
    return np.concatenate(starts) @ matrix, np.concatenate(ends) @ matrix
