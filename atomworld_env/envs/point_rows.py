"""A task of pure coordinates as text for a terminal: points of the target beside the nearest of input and answer."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from atomworld_env.families.coordinates import points_of
from atomworld_env.tasks.task import Task
from rewards import Verdict
from rewards.point_reading import FloatArray, extract_points, read_points


def render_points(
    task: Task, answer: str | None, verdict: Verdict | None, reward: float, *, strict_tags: bool = False
) -> str:
    """The instruction, one row for each point of the target, and the verdict; no newline at the end.

    A row has the point, the input's with which it is paired (by least sum of distances), and the same of an answer
    that could be read and has as many points. Points without a partner are a dash.
    """
    target = points_of(task.target)
    columns = [("input", _partners(target, points_of(task.structure)))]
    if verdict is not None and verdict.parsable:
        found = extract_points(answer, strict_tags=strict_tags).cif or ""
        points = read_points(found)
        if len(points) == len(target):
            columns.append(("answer", _partners(target, points)))
    lines = [task.prompt, "", "   ".join(f"{name:^29}" for name in ("target", *(name for name, _ in columns))).rstrip()]
    for number, point in enumerate(target):
        cells = [_cell(point), *(_cell(partners[number]) for _, partners in columns)]
        mark = ""
        if len(columns) == 2 and (partner := columns[1][1][number]) is not None:
            mark = f"   {np.linalg.norm(partner - point):.3f} off"
        lines.append("   ".join(cells) + mark)
    if verdict is None:
        lines += ["", "Answer: not given yet"]
    else:
        lines += ["", f"{verdict.stage}: {verdict.message}; reward {reward:.3f}"]
    return "\n".join(lines)


def _partners(target: FloatArray, points: FloatArray) -> list[FloatArray | None]:
    distances = np.linalg.norm(target[:, None] - points[None], axis=-1)
    partners: list[FloatArray | None] = [None] * len(target)
    for row, column in zip(*linear_sum_assignment(distances), strict=True):
        partners[row] = points[column]
    return partners


def _cell(point: FloatArray | None) -> str:
    return f"{'–':^29}" if point is None else " ".join(f"{value:9.4f}" for value in point)
