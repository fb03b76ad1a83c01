"""The interface of a property oracle: crystal in, value with unit out, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

from rewards import Arrangement

CostClass = Literal["seconds", "minutes", "unknown"]


class Failure(StrEnum):
    """Why there is no value.

    ``crystal`` lies in the crystal and will be the same next time; ``timeout`` and ``lost`` mean that the computation
    was ended before it knew, ``missing`` that a package it needs is not installed.
    """

    CRYSTAL = "crystal"
    TIMEOUT = "timeout"
    LOST = "lost"
    MISSING = "missing"


@dataclass(frozen=True)
class PropertyValue:
    """What an oracle says of one crystal.

    Attributes:
        value: in `unit`; None if there is none.
        unit: of the value.
        energy: eV per atom of the relaxed crystal, where the oracle relaxes it; it orders crystals of one composition.
        failure: why there is no value.
        message: one sentence on the failure.
    """

    value: float | None
    unit: str
    energy: float | None = None
    failure: Failure | None = None
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values."""
        return {
            "value": self.value,
            "unit": self.unit,
            "energy": self.energy,
            "failure": None if self.failure is None else str(self.failure),
            "message": self.message,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PropertyValue:
        """The value of a dictionary made by :meth:`to_json`.

        Raises:
            ValueError, KeyError, TypeError: if it is none.
        """
        failure = record["failure"]
        value, energy = record["value"], record["energy"]
        return cls(
            None if value is None else float(value),
            str(record["unit"]),
            None if energy is None else float(energy),
            None if failure is None else Failure(failure),
            str(record["message"]),
        )


@dataclass(frozen=True)
class Noise:
    """How far two values of one crystal, written in different ways, may lie apart: the larger of the two parts.

    Attributes:
        absolute: in the property's unit.
        relative: of the value.
    """

    absolute: float
    relative: float = 0.0

    def at(self, value: float) -> float:
        """The noise of a value, in the property's unit."""
        return max(self.absolute, self.relative * abs(value))


class PropertyOracle(Protocol):
    """Evaluates one property.

    Attributes:
        property: ``bulk_modulus`` or ``band_gap``.
        unit: of its values.
        version: moves whenever the same crystal gives another value; values of two versions are never compared.
        cost: how long one crystal takes.
        deterministic: whether one crystal, written in one way, gives one value on one machine.
        noise: measured, see docs/structprop.md.
    """

    @property
    def unit(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def cost(self) -> CostClass: ...
    @property
    def deterministic(self) -> bool: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def property(self) -> str: ...  # last: it hides the decorator of its name

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        """The value for a crystal; total: it never raises because of the crystal, and ends within a time limit."""
        ...
