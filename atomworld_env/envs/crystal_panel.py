"""One crystal drawn in one panel: atoms, cell edges, axis letters, marks and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atomworld_env.envs.canvas import Canvas, Point, mixed
from atomworld_env.envs.marks import COLOURS, Box, Mark, MarkKind, place_labels
from atomworld_env.envs.projection import Scene, View, drawn_radius, segments_of_edges
from atomworld_env.structures.crystal import Crystal, FloatArray

_EDGE = "#8A8A8A"
_AXIS = "#333333"
_EDGE_PIECES = 16
_CROWD = 18
"""With more marks in a panel than this, labels would not find a place, and ghosts are drawn small."""

_SHORTEST_ARROW = 14.0
"""Pixels. A shorter arrow would not show its direction."""


@dataclass(frozen=True)
class Panel:
    """One of the three pictures.

    Attributes:
        name: its heading.
        caption: a few words beside the heading, or why there is no crystal.
        frame: where it is, in pixels.
        scene: what it shows; None for an answer that could not be read.
        marks: what is marked in it.
        input_cell: the input crystal if its cell is another one, which is then drawn dashed.
    """

    name: str
    caption: str
    frame: Box
    scene: Scene | None = None
    marks: tuple[Mark, ...] = ()
    input_cell: Crystal | None = None


def draw_panel(canvas: Canvas, panel: Panel, scene: Scene, view: View, faded: bool) -> None:
    """Draw a scene into its panel.

    Args:
        scene: the panel's, which is not None.
        faded: pale all atoms without a mark.
    """
    crystal = scene.crystal
    centre = np.array([panel.frame.x, panel.frame.y - 0.8 * canvas.em, 0.0])

    def place(cartesian: FloatArray) -> FloatArray:
        placed: FloatArray = view.project(np.atleast_2d(cartesian)) + centre
        return placed

    atoms, radii = place(crystal.cartesian), scene.radii * view.scale
    starts, ends = (place(points) for points in segments_of_edges(crystal.matrix, _EDGE_PIECES))
    depths = np.concatenate([atoms[:, 2], (starts[:, 2] + ends[:, 2]) / 2])
    near, span = depths.max(), max(float(np.ptp(depths)), 1e-9)
    marked = set(scene.marked)
    for item in np.argsort(depths, kind="stable"):  # the painter's algorithm: what is far comes first
        if item >= len(atoms):
            piece = item - len(atoms)
            # The first edge of each direction starts at the origin: these three are the lattice vectors.
            strong = piece % (4 * _EDGE_PIECES) < _EDGE_PIECES
            style = (_AXIS, 1.8) if strong else (_EDGE, 1.1)
            canvas.line(_point(starts[piece]), _point(ends[piece]), *style)
            continue
        paleness = 0.25 * (near - depths[item]) / span + (0.4 if faded and int(item) not in marked else 0.0)
        canvas.ball(_point(atoms[item]), radii[item], mixed(element_colour(crystal.species[item]), paleness))
    if panel.input_cell is not None:
        for start, end in zip(
            *(place(points) for points in segments_of_edges(panel.input_cell.matrix, 1)), strict=True
        ):
            canvas.line(_point(start), _point(end), "#FFFFFF", 4.0)
            canvas.line(_point(start), _point(end), COLOURS[MarkKind.MOVED], 2.0, dashed=True)

    origin, *tips = place(np.concatenate([np.zeros((1, 3)), crystal.matrix]))
    for letter, tip in zip("abc", tips, strict=True):
        along = tip[:2] - origin[:2]
        length = max(float(np.hypot(*along)), 1e-9)
        beyond = tip[:2] + along / length * canvas.em
        canvas.text(_point(beyond), letter, bold=True, italic=True, halo=True)
    placed = [
        (
            mark,
            _point(place(mark.point)[0]),
            None if mark.other is None else _point(place(mark.other)[0]),
            max(drawn_radius(mark.species) * view.scale, 3.0),
        )
        for mark in panel.marks
    ]
    _draw_marks(canvas, panel, placed)


def _draw_marks(canvas: Canvas, panel: Panel, placed: Sequence[tuple[Mark, Point, Point | None, float]]) -> None:
    """Marks and labels of a panel.

    Args:
        placed: each mark, its place and the place of its `other` end in pixels, and the radius of its atom.
    """
    crowd = len(placed) > _CROWD
    for mark, at, other, radius in placed:
        draw_mark(canvas, mark.kind, at, radius, small=crowd)
        if other is not None:
            _draw_arrow(canvas, mark.kind, at, other, radius, small=crowd)
    if crowd:
        return
    labelled = [(mark, at, radius) for mark, at, _, radius in placed if mark.label]
    # A square reaches farther where labels go first, to the upper right.
    squares = (MarkKind.CHANGED, MarkKind.SWAPPED)
    anchors = [(*at, (1.4 if mark.kind in squares else 1.0) * radius + 4.0) for mark, at, radius in labelled]
    sizes = [(canvas.text_width(mark.label, bold=True), canvas.em) for mark, _, _ in labelled]
    obstacles = [Box(*at, 0.7 * radius, 0.7 * radius) for _, at, _, radius in placed]
    obstacles += [Box(*other, 0.6 * radius, 0.6 * radius) for _, _, other, radius in placed if other is not None]
    boxes = place_labels(anchors, sizes, obstacles, panel.frame)
    for (mark, _, _), box in zip(labelled, boxes, strict=True):
        if box is not None:
            canvas.text((box.x, box.y), mark.label, bold=True, halo=True)


def _draw_arrow(canvas: Canvas, kind: MarkKind, atom: Point, other: Point, radius: float, *, small: bool) -> None:
    """From the old place to the atom that moved, or from a wrong atom to the place where it belongs."""
    away = np.subtract(other, atom)
    length = float(np.hypot(*away))
    if length < 2.0:  # along the line of sight
        return
    if length > radius and not small:  # else the circle would only hide the atom
        canvas.ring(other, max(0.8 * radius, 4.0), COLOURS[kind], 1.4, dashed=True)
    x, y = np.array(atom) + away * max(1.0, _SHORTEST_ARROW / length)
    start, end = ((x, y), atom) if kind is MarkKind.MOVED else (atom, (x, y))
    if small:
        canvas.line(start, end, COLOURS[kind], 1.2)
    else:
        canvas.arrow(start, end, COLOURS[kind])


def draw_mark(canvas: Canvas, kind: MarkKind, at: Point, radius: float, *, small: bool = False) -> None:
    """The mark of a kind around an atom drawn with this radius in pixels; small ones are for crowds."""
    colour, width = COLOURS[kind], 1.2 if small else 2.4
    match kind:
        case MarkKind.ADDED:
            canvas.ring(at, radius + 3, colour, width)
            canvas.cross(at, 0.5 * radius, colour, upright=True)
        case MarkKind.MOVED:
            canvas.ring(at, radius + 3, colour, width)
        case MarkKind.REMOVED if small:
            canvas.cross(at, 4.0, colour)
        case MarkKind.REMOVED:
            canvas.ring(at, radius + 1, colour, 1.6, dashed=True)
            canvas.cross(at, 0.7 * radius, colour)
        case MarkKind.CHANGED | MarkKind.SWAPPED:
            canvas.frame(at, radius + 3, colour, width)
        case MarkKind.WRONG if small:
            canvas.frame(at, radius, colour, width, diamond=True)
        case MarkKind.WRONG:
            canvas.frame(at, 1.15 * radius + 5, colour, width, diamond=True)
        case MarkKind.MISSING:
            canvas.ring(at, radius + 1, colour, 0.8 * width, dashed=True)


def _point(placed: FloatArray) -> Point:
    return (float(placed[0]), float(placed[1]))


def element_colour(symbol: str) -> tuple[float, float, float]:
    """Red, green and blue of an element after Jmol, 0 to 1 each."""
    from ase.data import atomic_numbers
    from ase.data.colors import jmol_colors

    red, green, blue = (float(part) for part in jmol_colors[min(atomic_numbers.get(symbol, 0), len(jmol_colors) - 1)])
    return (red, green, blue)
