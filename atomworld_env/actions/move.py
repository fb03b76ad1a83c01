"""`move`: displace one site by a Cartesian vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from atomworld_env.actions.action import Action, Category, Params, printed_vector, site_index, vector_text
from atomworld_env.structures.crystal import Crystal


@dataclass(frozen=True)
class Move(Action):
    """Site i is displaced by a Cartesian vector.

    Attributes:
        sigma: standard deviation of each component in Å.
    """

    sigma: float = 2.0

    name: ClassVar[str] = "move"
    category: ClassVar[Category] = "perturbation"
    cartesian: ClassVar[bool] = True

    def proposals(self, crystal: Crystal, rng: np.random.Generator, elements: Sequence[str]) -> Iterator[Params]:
        while True:
            index = int(rng.integers(len(crystal)))
            yield {"index": index, "displacement": printed_vector(rng.normal(0.0, self.sigma, 3))}

    def check(self, crystal: Crystal, params: Params) -> None:
        site_index(crystal, params)

    def instruction(self, params: Params) -> str:
        return (
            f"Move the atom at site {params['index']} by the Cartesian vector {vector_text(params['displacement'])} Å."
        )

    def apply(self, crystal: Crystal, params: Params) -> Crystal:
        frac = crystal.frac.copy()
        frac[site_index(crystal, params)] += np.array(params["displacement"]) @ crystal.inverse
        return crystal.replaced(frac=frac)

    def touched(self, crystal: Crystal, params: Params) -> list[int]:
        return [params["index"]]

    def lever(self, crystal: Crystal, params: Params) -> float:
        return float(np.linalg.norm(params["displacement"]))
