"""A sheet of pixels to draw on: balls, lines, rings, arrows and text, rasterised by Matplotlib's Agg."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Colour = tuple[float, float, float] | str

_DPI = 100
_POINTS = 72 / _DPI  # points per pixel: Matplotlib measures line widths and fonts in points
_DASH = (0, (2.5, 1.6))


def mixed(colour: tuple[float, float, float], paleness: float) -> tuple[float, float, float]:
    """The colour mixed with white: 0 leaves it as it is, 1 gives white."""
    red, green, blue = (part + (1.0 - part) * min(paleness, 1.0) for part in colour)
    return (red, green, blue)


class Canvas:
    """Collects shapes in drawing order, then turns them into pixels at once.

    Coordinates are pixels from the lower left corner. Nothing here touches Matplotlib's global state: no
    pyplot, no current figure, and the font is named, so that a user's settings do not change the picture.

    Attributes:
        width, height: in pixels.
        em: height of the text in pixels, which the layout is measured in.
    """

    def __init__(self, width: int, height: int) -> None:
        # Matplotlib takes a good part of a second to import, which only those who draw should wait for.
        from matplotlib.path import Path

        self.width, self.height = width, height
        self.em = max(13.0 * min(width / 1200, height / 450), 9.0)
        self._path = Path
        self._circle = Path.unit_circle()
        self._shapes: list[tuple[Any, Any, Any, float, Any]] = []
        self._texts: list[dict[str, Any]] = []

    def ball(self, at: Point, radius: float, colour: tuple[float, float, float]) -> None:
        """A shaded sphere."""
        rim = tuple(0.45 * part for part in colour)
        self._add(self._disc(at, radius), colour, (*rim, 0.9), 0.8)
        gleam = (at[0] - 0.3 * radius, at[1] + 0.32 * radius)
        for size, strength in ((0.5, 0.18), (0.28, 0.4)):
            self._add(self._disc(gleam, size * radius), (1.0, 1.0, 1.0, strength), "none", 0.0)

    def line(self, start: Point, end: Point, colour: Colour, width: float, *, dashed: bool = False) -> None:
        """A straight line; the width is in pixels."""
        self._add(self._path(np.array([start, end])), "none", colour, width, dashed)

    def ring(self, at: Point, radius: float, colour: Colour, width: float, *, dashed: bool = False) -> None:
        """A circle on a white rim, which keeps it apart from atoms of its own colour."""
        self._outlined(self._disc(at, radius), colour, width, dashed)

    def frame(self, at: Point, radius: float, colour: Colour, width: float, *, diamond: bool = False) -> None:
        """A square of half side `radius`, or a diamond of that half diagonal times 1.2, on a white rim."""
        corners = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)]) * 1.2 if diamond else _SQUARE
        points = np.array(at) + radius * corners
        self._outlined(self._path(np.concatenate([points, points[:1]]), closed=True), colour, width, False)

    def cross(self, at: Point, radius: float, colour: Colour, *, upright: bool = False) -> None:
        """A cross: + if upright, else ×."""
        arms = ((1, 0), (0, 1)) if upright else ((0.7, 0.7), (0.7, -0.7))
        for rim in (True, False):
            for x, y in arms:
                dx, dy = x * radius, y * radius
                shade, width = ("#FFFFFF", 4.0) if rim else (colour, 2.0)
                self.line((at[0] - dx, at[1] - dy), (at[0] + dx, at[1] + dy), shade, width)

    def arrow(self, start: Point, end: Point, colour: Colour) -> None:
        """An arrow from start to end."""
        along = np.subtract(end, start)
        length = float(np.hypot(*along))
        head = min(9.0, 0.6 * length)
        unit = along / length
        side = np.array([-unit[1], unit[0]])
        neck = np.array(end) - head * unit
        self.line(start, (float(neck[0]), float(neck[1])), "#FFFFFF", 4.5)
        self.line(start, (float(neck[0]), float(neck[1])), colour, 2.2)
        points = np.array([end, neck + 0.45 * head * side, neck - 0.45 * head * side, end])
        self._add(self._path(points, closed=True), colour, "#FFFFFF", 0.6)

    def text(
        self,
        at: Point,
        text: str,
        *,
        align: Literal["left", "center"] = "center",
        colour: Colour = "#000000",
        bold: bool = False,
        italic: bool = False,
        halo: bool = False,
    ) -> None:
        """One line of text, vertically centred; a halo keeps it legible on atoms."""
        self._texts.append(
            {
                "at": at,
                "text": text,
                "align": align,
                "colour": colour,
                "bold": bold,
                "italic": italic,
                "halo": halo,
            }
        )

    def text_width(self, text: str, *, bold: bool = False) -> float:
        """About how wide a text will be, in pixels."""
        return (0.66 if bold else 0.56) * self.em * len(text)

    def pixels(self) -> NDArray[np.uint8]:
        """The picture, shape (height, width, 3)."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PathCollection
        from matplotlib.figure import Figure

        figure = Figure(figsize=(self.width / _DPI, self.height / _DPI), dpi=_DPI, facecolor="white")
        agg = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0, self.width)
        axes.set_ylim(0, self.height)
        axes.set_axis_off()
        if self._shapes:
            paths, faces, edges, widths, dashes = zip(*self._shapes, strict=True)
            axes.add_collection(
                PathCollection(
                    paths,
                    facecolors=faces,
                    edgecolors=edges,
                    linewidths=widths,
                    linestyles=dashes,
                    capstyle="round",
                ),
                autolim=False,
            )
        self._write(axes)
        agg.draw()  # type: ignore[no-untyped-call]
        # A copy: the buffer belongs to the canvas.
        return np.array(np.asarray(agg.buffer_rgba())[..., :3], dtype=np.uint8)  # type: ignore[no-untyped-call]

    def _write(self, axes: Any) -> None:
        from matplotlib.font_manager import FontProperties, findfont, get_font
        from matplotlib.patheffects import withStroke

        glyphs = get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
        for item in self._texts:
            font = FontProperties(
                family="DejaVu Sans",
                style="italic" if item["italic"] else "normal",
                weight="bold" if item["bold"] else "normal",
                size=self.em * _POINTS,
            )
            axes.text(
                *item["at"],
                # A missing glyph would be a warning on the user's terminal.
                "".join(character if ord(character) in glyphs else "?" for character in item["text"]),
                fontproperties=font,
                color=item["colour"],
                ha=item["align"],
                va="center",
                parse_math=False,  # a dollar sign is a dollar sign
                path_effects=[withStroke(linewidth=2.2, foreground="white")] if item["halo"] else [],
            )

    def _outlined(self, path: Any, colour: Colour, width: float, dashed: bool) -> None:
        self._add(path, "none", "#FFFFFF", width + 2.0)
        self._add(path, "none", colour, width, dashed)

    def _disc(self, at: Point, radius: float) -> Any:
        return self._path(np.asarray(self._circle.vertices) * radius + np.array(at), self._circle.codes)

    def _add(self, path: Any, face: Any, edge: Any, width: float, dashed: bool = False) -> None:
        self._shapes.append((path, _rgba(face), _rgba(edge), width * _POINTS, _DASH if dashed else "solid"))


_SQUARE = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])


def _rgba(colour: Any) -> tuple[float, float, float, float]:
    from matplotlib.colors import to_rgba

    return to_rgba(colour)
