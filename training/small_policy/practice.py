"""Question and answer number i of pretraining, the same in every run and process.

Unlike tasks of the sampler, these are not held to be discriminating or physical: nothing is verified here, and a pair
of texts costs a millisecond, not the sampler's ten to fifty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw
from atomworld_env.prompts.prompt import load_template
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.contacts import HEAVIEST_WITH_RADIUS
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import load_pool
from training.oracle_answers import compact_answer, kept_sites
from training.small_policy.varied_crystals import VariedCrystals

PRACTICE_STREAM = 17
"""Keeps these draws apart from those of a data set with the same seed."""

DRAWS_PER_CRYSTAL = 4

PAIRS_PER_WINDOW = 512
"""Pairs that are sorted by length together."""

DEFAULT_SHARES = {"change": 0.18, "remove": 0.12, "swap": 0.18, "add": 0.22, "move": 0.15, "move_towards": 0.15}
"""How often each edit is practised: oftener where numbers must be worked out."""


@dataclass(frozen=True)
class Curriculum:
    """Which sizes are practised when.

    Attributes:
        sites: fewest and most sites, in the end.
        easy_pairs: pairs after which all sizes are drawn; before, the most sites grow by steps of one.
        shares: of the edits; need not add up to 1.
    """

    sites: tuple[int, int] = (2, 6)
    easy_pairs: int = 10_000
    shares: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_SHARES))

    def most_sites(self, number: int) -> int:
        """Most sites of pair `number`."""
        low, high = self.sites
        return min(high, low + int((high - low + 1) * number / max(1, self.easy_pairs)))


@dataclass(frozen=True)
class Pair:
    """A prompt's text and the right answer's."""

    action: str
    prompt: str
    answer: str


class Practice:
    """Draws pairs by number."""

    def __init__(self, curriculum: Curriculum, *, seed: int, pool: str = "aflow") -> None:
        from ase.data import atomic_numbers

        structures = load_pool(pool)
        self.curriculum = curriculum
        self.seed = seed
        self._crystals = VariedCrystals(structures, curriculum.sites)
        self._elements = [e for e in structures.elements if atomic_numbers[e] <= HEAVIEST_WITH_RADIUS]
        self._template = load_template("short")
        self._actions = sorted(curriculum.shares)
        shares = np.array([curriculum.shares[action] for action in self._actions])
        self._shares = shares / shares.sum()

    def most_sites(self, window: int) -> int:
        """Most sites of the first pair of a window of batches."""
        return self.curriculum.most_sites(window * PAIRS_PER_WINDOW)

    def pair(self, number: int) -> Pair:
        """Pair `number` of this seed."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, PRACTICE_STREAM, number]))
        action = self._actions[int(rng.choice(len(self._actions), p=self._shares))]
        while True:
            low, high = self.curriculum.sites[0], self.curriculum.most_sites(number)
            crystal = self._crystals.draw(int(rng.integers(low, high + 1)), rng)
            for instruction, target in self._edits(action, crystal, rng):
                prompt = self._template.render(write_cif(crystal, style="compact"), instruction)
                return Pair(action, prompt, compact_answer(target, kept_sites(crystal, target)))

    def _edits(self, action: str, crystal: Crystal, rng: np.random.Generator) -> Iterator[tuple[str, Crystal]]:
        """Edits of the crystal that have one reading; none, if a few draws find none."""
        edit = ACTIONS[action]
        if edit.unsuitable(crystal) is not None:
            return
        proposals = edit.proposals(crystal, rng, self._elements)
        for _ in range(DRAWS_PER_CRYSTAL):
            params = next(proposals)
            try:
                edit.check(crystal, params)
            except RejectedDraw:
                continue
            yield edit.instruction(params), edit.apply(crystal, params)
