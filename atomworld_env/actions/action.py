"""What every edit provides, and the exception by which a draw is refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from atomworld_env.structures.crystal import Crystal

Params = dict[str, Any]
Category = Literal["point defect", "surface", "perturbation", "supercell"]

ONE_READING_MARGIN = 0.05
"""Å. Two readings of an instruction that differ by less than this in a distance are not told apart."""

OTHER_POINT_MARGIN = 0.3
"""Å. How far the right place must lie from the place a plausible misreading gives."""


class RejectedDraw(Exception):
    """A draw that would not be a well-posed task; the reason is counted and another draw is made."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Action(ABC):
    """One kind of edit: its parameter sampler, instruction, truth and rules.

    Subclasses are frozen dataclasses whose fields are the parameter ranges, so that a user changes a range with
    ``dataclasses.replace(ACTIONS["move"], sigma=1.0)``.
    """

    name: ClassVar[str]
    category: ClassVar[Category]
    cartesian: ClassVar[bool]
    """Whether new coordinates have to be worked out through the Cartesian frame."""

    def unsuitable(self, crystal: Crystal) -> str | None:
        """Why no draw on this crystal can succeed, or None."""
        return None

    @abstractmethod
    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        """Endless draws of parameters as printed (Å to 2 decimals, whole degrees), not yet checked.

        Args:
            elements: the symbols an added or changed atom is drawn from.
        """

    @abstractmethod
    def check(self, crystal: Crystal, params: Params) -> None:
        """Rules that depend on this edit alone.

        Raises:
            RejectedDraw: if the instruction would have two readings or be empty.
        """

    @abstractmethod
    def instruction(self, params: Params) -> str:
        """The instruction in plain English, with every number as it is used for the truth."""

    @abstractmethod
    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        """The exact target, wrapped, coordinates with 8 decimals.

        Raises:
            ValueError: if the parameters do not fit the crystal.
        """

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        """Sites of the target that were added, moved or changed; their contacts are judged."""
        return []

    def lever(self, crystal: Crystal, params: Params) -> float:
        """The longest distance in Å that has to be turned into coordinates; 0 where none has to."""
        return 0.0


def site_index(crystal: Crystal, params: Mapping[str, Any], key: str = "index") -> int:
    """The site a parameter names.

    Raises:
        ValueError: if there is no such site.
    """
    index = params[key]
    if not isinstance(index, int | np.integer) or not 0 <= index < len(crystal):
        raise ValueError(f"there is no site {index}: the structure has sites 0 to {len(crystal) - 1}")
    return int(index)


def vector_text(vector: Sequence[float]) -> str:
    """A Cartesian vector as the instructions print it, for example ``(1.20, -0.35, 0.00)``."""
    return "(" + ", ".join(f"{component:.2f}" for component in vector) + ")"


def printed_vector(vector: np.ndarray) -> list[float]:
    """The vector with the two decimals it is printed with, and no negative zeros."""
    return [round(float(component), 2) + 0.0 for component in vector]
