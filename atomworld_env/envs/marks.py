"""Which sites of a picture are marked, how, and where the labels go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from atomworld_env.envs.site_diff import ChangeKind, SiteChange, SiteDiff
from atomworld_env.structures.crystal import Crystal, FloatArray


class MarkKind(StrEnum):
    """The marks of a picture. Each has a shape of its own, so that none depends on colour alone."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    CHANGED = "changed"
    SWAPPED = "swapped"
    WRONG = "wrong"
    """An atom of the answer that is not as in the target."""
    MISSING = "missing"
    """A place where the target has an atom and the answer has none."""


COLOURS = {
    MarkKind.ADDED: "#009E73",
    MarkKind.REMOVED: "#333333",
    MarkKind.MOVED: "#0072B2",
    MarkKind.CHANGED: "#A6228A",
    MarkKind.SWAPPED: "#A6228A",
    MarkKind.WRONG: "#D55E00",
    MarkKind.MISSING: "#D55E00",
}
"""After Okabe and Ito (jfly.uni-koeln.de/color), whose colours remain distinct for colour-blind readers.

Their purple is darkened to be seen on white."""

MEANINGS = {
    MarkKind.ADDED: "added",
    MarkKind.REMOVED: "removed",
    MarkKind.MOVED: "moved",
    MarkKind.CHANGED: "element changed",
    MarkKind.SWAPPED: "swapped",
    MarkKind.WRONG: "wrong",
    MarkKind.MISSING: "missing",
}

ARROWS = {
    MarkKind.MOVED: ", arrow from the old place",
    MarkKind.WRONG: ", arrow to the right place",
}

_ONE_PLACE = 0.3
"""Å. Two ghosts nearer than this are drawn as one."""

_DISTANCES = 6
"""With more displaced sites than this in a panel, the labels leave out how far."""


@dataclass(frozen=True, eq=False)
class Mark:
    """One mark in one panel.

    Attributes:
        kind: what it says.
        site: the site of the panel's crystal that it marks; None for a place without an atom.
        species: the element there, which gives the size of the mark.
        point: its place in Å, shape (3,).
        other: where it was, if it moved, or where it belongs, if it is wrong, in Å, shape (3,); the nearest
            image, which may lie outside the cell.
        label: element and index as in the CIF, for example ``Na3``, and how far it moved; "" for none.
    """

    kind: MarkKind
    site: int | None
    species: str
    point: FloatArray
    other: FloatArray | None = None
    label: str = ""


def marks_before(diff: SiteDiff, before: Crystal) -> list[Mark]:
    """Marks on the sites that the edit will touch."""
    return [
        Mark(
            MarkKind(change.kind.value),
            change.first,
            change.species,
            before.cartesian[change.first],
            label=f"{change.species}{change.first}",
        )
        for change in diff.changes
        if change.first is not None
    ]


def marks_after(diff: SiteDiff, after: Crystal) -> list[Mark]:
    """Marks on what an edit has made of a crystal: new places with arrows, and ghosts of what was removed."""
    return [_mark(MarkKind(change.kind.value), change, diff, after) for change in diff.changes]


def marks_of_answer(done: SiteDiff, wrong: SiteDiff, answer: Crystal) -> list[Mark]:
    """Marks on what an answer did, and on what is wrong with it.

    A site that is wrong is only marked as wrong: how it came there would hide where it belongs.

    Args:
        done: from the input to the answer.
        wrong: from the target to the answer.
    """
    faults = [
        _mark(MarkKind.MISSING if change.second is None else MarkKind.WRONG, change, wrong, answer)
        for change in wrong.changes
    ]
    sites = {mark.site for mark in faults if mark.site is not None}
    gaps = [mark.point for mark in faults if mark.site is None]
    right = [
        mark
        for mark in marks_after(done, answer)
        if mark.site not in sites
        and not (mark.site is None and any(np.linalg.norm(mark.point - gap) < _ONE_PLACE for gap in gaps))
    ]
    return right + faults


def _mark(kind: MarkKind, change: SiteChange, diff: SiteDiff, after: Crystal) -> Mark:
    """The mark of a change in the second crystal of its diff."""
    if change.second is None:
        return Mark(kind, None, change.species, np.array(change.position) @ after.matrix)
    point = after.cartesian[change.second]
    label = f"{change.new_species}{change.second}"
    if change.kind is not ChangeKind.MOVED:
        return Mark(kind, change.second, change.new_species, point, None, label)
    if sum(other.kind is ChangeKind.MOVED for other in diff.changes) <= _DISTANCES:
        label += f"  {change.distance:.2f} Å"
    return Mark(kind, change.second, change.new_species, point, point - np.array(change.vector), label)


_DIRECTIONS = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1)], dtype=float)


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels: centre and half sizes."""

    x: float
    y: float
    half_width: float
    half_height: float

    def overlap(self, other: Box) -> float:
        """Shared area over this box's area."""
        wide = min(self.x + self.half_width, other.x + other.half_width) - max(
            self.x - self.half_width, other.x - other.half_width
        )
        high = min(self.y + self.half_height, other.y + other.half_height) - max(
            self.y - self.half_height, other.y - other.half_height
        )
        return max(wide, 0.0) * max(high, 0.0) / (4 * self.half_width * self.half_height)


def place_labels(
    anchors: Sequence[tuple[float, float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    bounds: Box,
) -> list[Box | None]:
    """Boxes for labels beside their anchors, each where it covers least.

    Args:
        anchors: x, y and radius in pixels of what each label names.
        sizes: width and height of each label in pixels.
        obstacles: what should not be covered.
        bounds: the panel.

    Returns:
        A box for each label, or None where every place would cover too much or leave the panel.
    """
    placed: list[Box | None] = []
    labels: list[Box] = []
    for (x, y, radius), (width, height) in zip(anchors, sizes, strict=True):
        best, best_cost = None, 1.0
        for rank, (dx, dy) in enumerate(
            [tuple(direction * far) for far in (1.0, 1.7, 2.4) for direction in _DIRECTIONS]
        ):
            slant = 0.72 if dx and dy else 1.0
            box = Box(
                x + dx * (slant * radius + width / 2),
                y + dy * (slant * radius + height / 2),
                width / 2,
                height / 2,
            )
            inside = bounds.overlap(box) * bounds.half_width * bounds.half_height / (box.half_width * box.half_height)
            cost = (
                4.0 * sum(box.overlap(label) for label in labels)
                + 4.0 * (1.0 - inside)
                + 1.0 * sum(box.overlap(obstacle) for obstacle in obstacles)
                + 0.005 * rank
            )
            if cost < best_cost:
                best, best_cost = box, cost
        placed.append(best)
        if best is not None:
            labels.append(best)
    return placed
