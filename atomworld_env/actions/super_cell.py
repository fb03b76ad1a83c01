"""`super_cell`: repeat the cell along its three vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, RejectedDraw
from atomworld_env.structures.crystal import CELL_DECIMALS, TARGET_DECIMALS, Crystal, wrap


@dataclass(frozen=True)
class SuperCell(Action):
    """The cell is repeated na x nb x nc times along a, b, c.

    Attributes:
        factors: range of each factor, both ends included.
        product: range of na * nb * nc, both ends included.
        max_sites: the most sites a target may have.
    """

    factors: tuple[int, int] = (1, 4)
    product: tuple[int, int] = (2, 8)
    max_sites: int = 400

    name: ClassVar[str] = "super_cell"
    category: ClassVar[Category] = "supercell"
    cartesian: ClassVar[bool] = False

    def unsuitable(self, crystal: Crystal) -> str | None:
        return None if self._triples(crystal) else "every repeat would have too many sites"

    def _triples(self, crystal: Crystal) -> list[tuple[int, int, int]]:
        one_axis = range(self.factors[0], self.factors[1] + 1)
        low, high = self.product
        return [
            (a, b, c)
            for a, b, c in itertools.product(one_axis, repeat=3)
            if low <= a * b * c <= high and a * b * c * len(crystal) <= self.max_sites
        ]

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        triples = self._triples(crystal)
        while True:
            yield {"factors": list(triples[rng.integers(len(triples))])}

    def check(self, crystal: Crystal, params: Params) -> None:
        if int(np.prod(params["factors"])) < 2:
            raise RejectedDraw("one repeat changes nothing")

    def instruction(self, params: Params) -> str:
        a, b, c = params["factors"]
        along = [
            f"{factor} times as long along {axis}" if factor > 1 else f"unchanged along {axis}"
            for factor, axis in zip(params["factors"], "abc", strict=True)
        ]
        return (
            f"Build the {a} x {b} x {c} supercell, filled with the repeated atoms: its cell is {along[0]}, {along[1]} "
            f"and {along[2]}."
        )

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        if len(params["factors"]) != 3 or not all(n >= 1 and n == int(n) for n in params["factors"]):
            raise ValueError(f"a supercell needs three whole factors of at least 1, got {params['factors']}")
        factors = np.array(params["factors"], dtype=float)
        shifts = np.array(list(itertools.product(*(range(n) for n in params["factors"]))), dtype=float)
        frac = ((crystal.frac[:, None, :] + shifts[None, :, :]) / factors).reshape(-1, 3)
        a, b, c = (round(length * n, CELL_DECIMALS) for length, n in zip(crystal.cell, params["factors"], strict=False))
        species = tuple(symbol for symbol in crystal.species for _ in shifts)
        return Crystal((a, b, c, *crystal.cell[3:]), species, wrap(frac, TARGET_DECIMALS))
