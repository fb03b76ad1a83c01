"""Arithmetic written out line by line, every number taken as it is printed.

A line is ``name = expression = value``. The value is worked out from the numbers in the expression as they stand there,
so whoever checks the text with the same numbers finds the same value, to its last printed digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, prod, radians, sin, sqrt


@dataclass(frozen=True)
class Stated:
    """A number as printed."""

    value: float
    decimals: int

    @classmethod
    def of(cls, value: float, decimals: int) -> Stated:
        """The number rounded to what is printed; there is no negative zero."""
        return cls(round(value, decimals) + 0.0, decimals)

    @property
    def text(self) -> str:
        """The digits."""
        return f"{self.value:.{self.decimals}f}"

    def __str__(self) -> str:
        """The digits as they stand in an expression: a negative number in brackets."""
        return f"({self.text})" if self.value < 0 else self.text


Vector = tuple[Stated, Stated, Stated]
Term = tuple[int, tuple[Stated, ...]]
"""A sign, +1 or -1, and factors."""


def vector(values: Sequence[float], decimals: int) -> Vector:
    """Three numbers as printed."""
    x, y, z = (Stated.of(float(value), decimals) for value in values)
    return x, y, z


def shown(numbers: Vector) -> str:
    """``(x, y, z)``."""
    return f"({', '.join(number.text for number in numbers)})"


class Worksheet:
    """Collects the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """A line in words."""
        self.lines.append(text)

    def total(self, name: str, terms: Sequence[Term], decimals: int, *, over: Stated | None = None) -> Stated:
        """A sum of products, perhaps divided. Terms that are zero are not written."""
        kept = [(sign, factors) for sign, factors in terms if all(factor.value != 0 for factor in factors)]
        written = ""
        for sign, factors in kept:
            product = " * ".join(str(factor) for factor in factors)
            joint = (" + " if sign > 0 else " - ") if written else ("" if sign > 0 else "-")
            written += joint + product
        value = sum(sign * prod(factor.value for factor in factors) for sign, factors in kept)
        if over is None:
            return self._line(name, written or "0", value, decimals)
        top = f"({written})" if len(kept) > 1 else written or "0"
        return self._line(name, f"{top} / {over}", value / over.value, decimals)

    def length(self, name: str, of: Vector, decimals: int) -> Stated:
        """The length of a vector."""
        kept = [number for number in of if number.value != 0]
        written = " + ".join(f"{number}^2" for number in kept)
        return self._line(name, f"sqrt({written or '0'})", sqrt(sum(number.value**2 for number in kept)), decimals)

    def leg(self, name: str, hypotenuse: Stated, others: Sequence[Stated], decimals: int) -> Stated:
        """The remaining component of a vector of known length, taken positive."""
        written = f"{hypotenuse}^2" + "".join(f" - {number}^2" for number in others if number.value != 0)
        value = sqrt(hypotenuse.value**2 - sum(number.value**2 for number in others))
        return self._line(name, f"sqrt({written})", value, decimals)

    def cosine(self, name: str, degrees: Stated, decimals: int) -> Stated:
        value = 0.0 if degrees.value in (90, 270) else cos(radians(degrees.value))
        return self._line(name, f"cos({degrees.text})", value, decimals)

    def sine(self, name: str, degrees: Stated, decimals: int) -> Stated:
        value = 0.0 if degrees.value == 180 else sin(radians(degrees.value))
        return self._line(name, f"sin({degrees.text})", value, decimals)

    def quotient(self, name: str, top: Stated, bottom: Stated, decimals: int) -> Stated:
        return self._line(name, f"{top} / {bottom}", top.value / bottom.value, decimals)

    def sums(self, name: str, rows: Sequence[Sequence[Term]], decimals: int) -> Vector:
        """Three sums on one line, ``name = (…, …, …) = (…, …, …)``."""
        written, values = [], []
        for terms in rows:
            text = ""
            for sign, factors in terms:
                joint = (" + " if sign > 0 else " - ") if text else ("" if sign > 0 else "-")
                text += joint + " * ".join(str(factor) for factor in factors)
            written.append(text)
            values.append(sum(sign * prod(factor.value for factor in factors) for sign, factors in terms))
        result = vector(values, decimals)
        self.say(f"{name} = ({', '.join(written)}) = {shown(result)}")
        return result

    def _line(self, name: str, expression: str, value: float, decimals: int) -> Stated:
        result = Stated.of(value, decimals)
        self.say(f"{name} = {expression} = {result.text}")
        return result
