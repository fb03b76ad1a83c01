"""An edit as a picture: before, target and answer side by side, with the changed sites marked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atomworld_env.envs.canvas import Canvas
from atomworld_env.envs.crystal_panel import Panel, draw_mark, draw_panel, element_colour
from atomworld_env.envs.marks import (
    ARROWS,
    COLOURS,
    MEANINGS,
    Box,
    Mark,
    MarkKind,
    marks_after,
    marks_before,
    marks_of_answer,
)
from atomworld_env.envs.projection import CORNERS, Scene, View, choose_view, fitted_view
from atomworld_env.envs.site_diff import SiteDiff, diff_sites
from atomworld_env.structures.crystal import Crystal


def render_picture(
    before: Crystal,
    target: Crystal,
    answer: Crystal | None,
    *,
    title: str,
    captions: Sequence[str] | None = None,
    size: tuple[int, int] = (1200, 450),
) -> NDArray[np.uint8]:
    """Before, target and answer in one view and at one scale, what changed and what is wrong marked.

    A site is drawn where it is listed; its periodic images are not drawn. An arrow leads along the nearest
    image and is at least 14 pixels long, so a short one shows the direction only. An answer whose cell is
    more than 2.5 times as large as the others would make them too small to read: it is drawn at its own
    scale, and its caption says so.

    Args:
        title: one or two lines over the picture.
        captions: a few words beside the names of the panels; by default the number of sites and of wrong
            ones. Where `answer` is None the third one stands in its panel and says why.
        size: width and height in pixels, at least 600 x 300.

    Returns:
        uint8 array of shape (height, width, 3). Equal input gives equal bytes.

    Raises:
        ValueError: if the size is too small.
    """
    width, height = size
    if width < 600 or height < 300:
        raise ValueError(f"a picture is at least 600 x 300 pixels, got {width} x {height}")
    canvas = Canvas(width, height)
    top, bottom = canvas.em * 4.2, canvas.em * 4.6
    frames = [
        Box((k + 0.5) * width / 3, (height - top + bottom) / 2, width / 6 - 6, (height - top - bottom) / 2)
        for k in range(3)
    ]
    panels = _panels(before, target, answer, captions, frames)
    drawn = [panel.scene for panel in panels if panel.scene is not None]
    room_x, room_y = 2 * frames[0].half_width - 3.5 * canvas.em, 2 * frames[0].half_height - 4.2 * canvas.em
    together = drawn[:2] + [scene for scene in drawn[2:] if _comparable(scene, drawn[:2])]
    view = choose_view(together, room_x, room_y)
    faded = any(panel.marks for panel in panels)

    _write_title(canvas, title)
    for panel in panels:
        scene = panel.scene
        own = scene is not None and scene not in together
        _write_caption(canvas, panel, " (at its own scale)" if own else "")
        if scene is not None:
            fitting = fitted_view([scene], view.axes, room_x, room_y) if own else view
            draw_panel(canvas, panel, scene, fitting, faded)
    for k in (1, 2):
        canvas.line((k * width / 3, bottom), (k * width / 3, height - top), "#DDDDDD", 1.0)
    _draw_legend(canvas, panels, view)
    return canvas.pixels()


def write_png(picture: NDArray[np.uint8], path: Path) -> None:
    """Write a picture as a PNG file."""
    from matplotlib.image import imsave

    imsave(path, picture, format="png")


def _panels(
    before: Crystal,
    target: Crystal,
    answer: Crystal | None,
    captions: Sequence[str] | None,
    frames: Sequence[Box],
) -> list[Panel]:
    edit = diff_sites(before, target, by_index=True)
    diffs = [diff_sites(before, before), edit]
    marks = [marks_before(edit, before), marks_after(edit, target)]
    crystals = [before, target]
    texts = [_size(diff, crystal) for diff, crystal in zip(diffs, crystals, strict=True)]
    if answer is not None:
        done, wrong = diff_sites(before, answer, by_index=True), diff_sites(target, answer)
        diffs.append(done)
        marks.append(marks_of_answer(done, wrong, answer))
        crystals.append(answer)
        texts.append(_size(done, answer) + _fault(wrong))
    panels = []
    for k, name in enumerate(("Before", "Target", "Answer")):
        text = captions[k] if captions is not None else texts[k] if k < len(texts) else "no answer"
        if k == len(crystals):
            panels.append(Panel(name, text, frames[k]))
            continue
        input_cell = None if diffs[k].same_cell else before
        panels.append(
            Panel(name, text, frames[k], _scene(crystals[k], marks[k], input_cell), tuple(marks[k]), input_cell)
        )
    return panels


def _size(diff: SiteDiff, crystal: Crystal) -> str:
    repeated = "" if diff.factors is None else ", cell {} × {} × {}".format(*diff.factors)
    return f"{len(crystal)} site{'' if len(crystal) == 1 else 's'}{repeated}"


def _fault(wrong: SiteDiff) -> str:
    if not wrong.same_cell:
        return ", wrong cell"
    if not wrong.paired:
        return ""
    return f", {len(wrong.changes)} wrong" if wrong.changes else ", right"


def _scene(crystal: Crystal, marks: Sequence[Mark], input_cell: Crystal | None) -> Scene:
    sites = tuple(sorted({mark.site for mark in marks if mark.site is not None}))
    points = [mark.point for mark in marks] + [mark.other for mark in marks if mark.other is not None]
    corners = [] if input_cell is None else list(CORNERS @ input_cell.matrix)
    return Scene(crystal, sites, np.array(points + corners, dtype=float).reshape(-1, 3))


def _comparable(scene: Scene, others: Sequence[Scene]) -> bool:
    """Whether a scene is of the size of the others, within a factor of 2.5."""
    largest = max(float(np.ptp(other.corners, axis=0).max()) for other in others)
    return float(np.ptp(scene.corners, axis=0).max()) <= 2.5 * largest


def _write_title(canvas: Canvas, title: str) -> None:
    lines = textwrap.wrap(" ".join(title.split()), width=int(canvas.width / (0.6 * canvas.em)), max_lines=2)
    for k, line in enumerate(lines):
        canvas.text((0.8 * canvas.em, canvas.height - (1.1 + 1.4 * k) * canvas.em), line, align="left")


def _write_caption(canvas: Canvas, panel: Panel, remark: str) -> None:
    left, top = panel.frame.x - panel.frame.half_width + 4, panel.frame.y + panel.frame.half_height
    canvas.text((left, top - 0.8 * canvas.em), panel.name, bold=True, align="left")
    columns = int(2 * panel.frame.half_width / (0.6 * canvas.em))
    if panel.scene is None:
        lines = textwrap.wrap(panel.caption, width=int(0.8 * columns), max_lines=8)
        for k, line in enumerate(lines):
            above = (len(lines) / 2 - k) * 1.4 * canvas.em
            canvas.text((panel.frame.x, panel.frame.y + above), line, colour="#555555")
        return
    text = textwrap.shorten(panel.caption + remark, width=columns - 10, placeholder=" …")
    canvas.text((left + 5.0 * canvas.em, top - 0.8 * canvas.em), text, align="left", colour="#555555")


def _draw_legend(canvas: Canvas, panels: Sequence[Panel], view: View) -> None:
    em = canvas.em
    x, y = 0.8 * em, 3.2 * em
    elements = dict.fromkeys(s for panel in panels if panel.scene for s in panel.scene.crystal.species)
    for symbol in elements:
        if x > canvas.width - 28 * em:
            canvas.text((x, y), f"and {len(elements)} elements in all", align="left")
            break
        canvas.ball((x + 0.6 * em, y), 0.6 * em, element_colour(symbol))
        canvas.text((x + 1.5 * em, y), symbol, align="left")
        x += 2.4 * em + canvas.text_width(symbol)
    _draw_scale_bar(canvas, view, y)
    x, y = 0.8 * em, 1.2 * em
    marks = [mark for panel in panels for mark in panel.marks]
    for kind in MarkKind:
        if any(mark.kind is kind for mark in marks):
            shifted = any(mark.kind is kind and mark.other is not None for mark in marks)
            meaning = MEANINGS[kind] + (ARROWS[kind] if shifted else "")
            draw_mark(canvas, kind, (x + 0.8 * em, y), 0.4 * em)
            canvas.text((x + 2.2 * em, y), meaning, align="left")
            x += 3.8 * em + canvas.text_width(meaning)
    if any(panel.input_cell is not None for panel in panels):
        canvas.line((x, y), (x + 1.8 * em, y), COLOURS[MarkKind.MOVED], 1.4, dashed=True)
        canvas.text((x + 2.3 * em, y), "cell of the input", align="left")


def _draw_scale_bar(canvas: Canvas, view: View, y: float) -> None:
    length = next(n for n in (0.5, 1, 2, 5, 10, 20, 50, 100, 1e9) if n * view.scale > 2.5 * canvas.em)
    right = canvas.width - 4.5 * canvas.em
    canvas.line((right - length * view.scale, y), (right, y), "#000000", 2.0)
    canvas.text((right + 0.6 * canvas.em, y), f"{length:g} Å", align="left")
