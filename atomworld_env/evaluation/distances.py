"""Distances of the answers from the truth, each under its own name, and success against the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atomworld_env.evaluation.asked import AskedTask
from atomworld_env.evaluation.intervals import Rate, rate_of
from atomworld_env.evaluation.records import Record

TOLERANCES = (0.01, 0.05, 0.1, 0.25, 0.5)
"""Å. Where success under the strict profile is looked at."""


@dataclass(frozen=True)
class Distances:
    """One distance over the answers that have it.

    Attributes:
        name: what it is and over which answers, a key of :data:`NAMED`.
        unit: ``Å``, or ``(V/N)^(1/3)`` for the paper profile's dimensionless distances.
        n: answers.
        mean, median, p90, largest: None if there is no answer.
    """

    name: str
    unit: str
    n: int
    mean: float | None
    median: float | None
    p90: float | None
    largest: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


NORMALISED = "(V/N)^(1/3)"
"""Unit of the paper profile's distances: the edge of a cube that holds one atom of the target."""


def _in_angstrom(key: str) -> Callable[[Record], float | None]:
    def value(record: Record) -> float | None:
        distance, scale = record.get(key), record.get("length_scale")
        return None if distance is None or scale is None else distance * scale

    return value


NAMED: dict[str, tuple[str, str | None, Callable[[Record], float | None]]] = {
    "max_displacement_all": ("Å", None, lambda record: record.get("max_displacement")),
    "max_displacement_right": ("Å", "success", lambda record: record.get("max_displacement")),
    "max_dist_paper_right": (NORMALISED, "success_paper", lambda record: record.get("max_dist")),
    "max_dist_paper_right_angstrom": ("Å", "success_paper", _in_angstrom("max_dist")),
    "rmsd_paper_right": (NORMALISED, "success_paper", lambda record: record.get("rmsd")),
    "rmsd_paper_right_angstrom": ("Å", "success_paper", _in_angstrom("rmsd")),
}
"""Unit, success that an answer must have (None for all), and value, by name.

`max_displacement` exists for every answer with the target's composition and cell. The mean of ``max_dist_paper_right``
is the published column.
"""


def distances(records: Sequence[Record]) -> dict[str, Distances]:
    """Every distance of :data:`NAMED` over these answers."""
    found = {}
    for name, (unit, success, value) in NAMED.items():
        kept = [value(record) for record in records if success is None or record.get(success)]
        numbers = np.array([number for number in kept if number is not None])
        summary = (None,) * 4 if len(numbers) == 0 else _summary(numbers)
        found[name] = Distances(name, unit, len(numbers), *summary)
    return found


def _summary(numbers: np.ndarray) -> tuple[float, float, float, float]:
    return (
        float(numbers.mean()),
        float(np.median(numbers)),
        float(np.quantile(numbers, 0.9)),
        float(numbers.max()),
    )


def tolerance_curve(tasks: Sequence[AskedTask]) -> dict[float, Rate]:
    """Success by tolerance in Å: attempts with the right composition and cell and no larger displacement."""
    structures = [task.structure_id for task in tasks]
    asked = [task.asked for task in tasks]
    largest = [
        [value for record in task.records if (value := record.get("max_displacement")) is not None] for task in tasks
    ]
    return {
        tolerance: rate_of([sum(value <= tolerance for value in values) for values in largest], asked, structures)
        for tolerance in TOLERANCES
    }
