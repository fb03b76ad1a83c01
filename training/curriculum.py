"""Which tasks are drawn next: levels that open when the ones before are learnt, fewer tasks that teach nothing.

A *cell* is one edit at one level. Of every cell two running means are kept: the share of right answers, p, and the
share of groups whose rewards differ, s. A group without a difference has no advantage and moves no weight, so a cell is
drawn in proportion to

    floor + (1 - floor) * max(4 p (1 - p), s / 2)

4 p (1 - p) is the "learnability" of a question (Foster et al., arXiv:2502.12272): 1 where half the answers are right, 0
where none or all are. Partial credit spreads rewards even where nothing is right yet; that counts half. The floor keeps
every open cell in the draw, so that what is forgotten, or learnt by the way, is noticed. An edit is drawn in proportion
to its best cell: having many levels open shall not make it more frequent.

What is drawn for generation g follows from the results up to generation g - lag and from the seed, whenever it is asked
for. Data loaders fetch ahead; a run that is resumed does so from another place, and must draw the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

PLAN_STREAM = 23
"""Keeps these draws apart from others with the same seed."""


@dataclass(frozen=True, order=True)
class Cell:
    """One edit at one level, counted from 0."""

    action: str
    level: int


@dataclass(frozen=True)
class GroupResult:
    """What one group of answers to one task came to.

    Attributes:
        cell: the task was drawn from.
        success: share of right answers.
        spread: whether the rewards differ.
    """

    cell: Cell
    success: float
    spread: bool


@dataclass
class CellRecord:
    """Running means of a cell; a cell nobody has tried counts as half learnt and full of spread."""

    success: float = 0.5
    spread: float = 1.0
    groups: int = 0


@dataclass(frozen=True)
class CurriculumRule:
    """How measured success moves the draw.

    Attributes:
        opens_at: share of right answers at an edit's highest open level that opens the next one.
        groups_before: groups that the share must rest on.
        floor: weight of a cell that teaches nothing; 1 draws all cells evenly.
        rate: of the running means; the first 1 / rate groups count evenly.
    """

    opens_at: float = 0.6
    groups_before: int = 8
    floor: float = 0.1
    rate: float = 0.1

    def __post_init__(self) -> None:
        if not (0 < self.opens_at <= 1 and 0 < self.floor <= 1 and 0 < self.rate <= 1 and self.groups_before >= 1):
            raise ValueError("opens_at, floor and rate lie between 0 and 1, groups_before is at least 1")

    def weight(self, record: CellRecord) -> float:
        """How often a cell is drawn, relative to one that teaches most (1)."""
        learnability = 4 * record.success * (1 - record.success)
        return self.floor + (1 - self.floor) * max(learnability, record.spread / 2)

    def learnt(self, record: CellRecord) -> bool:
        """Whether the next level opens."""
        return record.groups >= self.groups_before and record.success >= self.opens_at


class Curriculum:
    """Draws cells for each generation batch and learns from its results.

    Every rank holds one and hands it the results of all ranks, in one order: then all hold the same.

    Args:
        levels: of each edit, those that can be drawn, easiest first.
        tasks: drawn for each generation batch.
        lag: generation batches that may be asked for before the first of them has its results.
        adaptive: False opens all levels and draws evenly.
    """

    def __init__(
        self,
        levels: Mapping[str, Sequence[int]],
        *,
        tasks: int,
        lag: int,
        seed: int,
        rule: CurriculumRule | None = None,
        adaptive: bool = True,
    ) -> None:
        if not levels or not all(levels.values()):
            raise ValueError("a curriculum needs edits with at least one level each")
        self.rule = rule or CurriculumRule()
        self.adaptive = adaptive
        self._levels = {action: tuple(levels[action]) for action in sorted(levels)}
        self._tasks, self._lag, self._seed = tasks, lag, seed
        self.records = {Cell(action, level): CellRecord() for action, of in self._levels.items() for level in of}
        self._open = {action: 1 if adaptive else len(of) for action, of in self._levels.items()}
        self._plans: dict[int, tuple[Cell, ...]] = {}
        for generation in range(lag):
            self._plans[generation] = self._drawn(generation)

    @property
    def cells(self) -> list[Cell]:
        """The open cells."""
        return [Cell(action, level) for action, of in self._levels.items() for level in of[: self._open[action]]]

    def highest_level(self, action: str) -> int:
        """The highest open level of an edit."""
        return self._levels[action][self._open[action] - 1]

    def plan(self, generation: int) -> tuple[Cell, ...]:
        """The cells of a generation batch, one for each of its tasks.

        Raises:
            LookupError: if it is asked for too early, or long after.
        """
        try:
            return self._plans[generation]
        except KeyError:
            raise LookupError(
                f"generation {generation} is not planned: only {self._lag} may be fetched before results; "
                "load the data in the training process (dataloader_num_workers=0)"
            ) from None

    def record(self, generation: int, results: Iterable[GroupResult]) -> None:
        """Take in the results of a generation batch; the one `lag` later is drawn."""
        for result in results:
            record = self.records[result.cell]
            record.groups += 1
            rate = max(self.rule.rate, 1 / record.groups)
            record.success += rate * (result.success - record.success)
            record.spread += rate * (float(result.spread) - record.spread)
        if self.adaptive:
            self._open_levels()
        self._plans[generation + self._lag] = self._drawn(generation + self._lag)
        for old in [number for number in self._plans if number < generation]:
            del self._plans[old]

    def _open_levels(self) -> None:
        for action, of in self._levels.items():
            highest = self.records[Cell(action, self.highest_level(action))]
            if self._open[action] < len(of) and self.rule.learnt(highest):
                self._open[action] += 1

    def weights(self) -> dict[Cell, float]:
        """Probability of each open cell."""
        if not self.adaptive:
            shares = {cell: 1 / len(self._levels[cell.action]) for cell in self.cells}
        else:
            own = {cell: self.rule.weight(self.records[cell]) for cell in self.cells}
            best = {action: max(own[c] for c in own if c.action == action) for action in self._levels}
            total = {action: sum(own[c] for c in own if c.action == action) for action in self._levels}
            shares = {cell: best[cell.action] * weight / total[cell.action] for cell, weight in own.items()}
        whole = sum(shares.values())
        return {cell: share / whole for cell, share in shares.items()}

    def _drawn(self, generation: int) -> tuple[Cell, ...]:
        weights = self.weights()
        cells = sorted(weights)
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, PLAN_STREAM, generation]))
        picked = rng.choice(len(cells), size=self._tasks, p=[weights[cell] for cell in cells])
        return tuple(cells[k] for k in picked)

    def state(self) -> dict[str, Any]:
        """All that results have changed, as plain JSON values."""
        return {
            "records": [[*_pair(cell), asdict(record)] for cell, record in self.records.items()],
            "open": dict(self._open),
            "plans": {str(number): [_pair(cell) for cell in cells] for number, cells in self._plans.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a :meth:`state`.

        Raises:
            ValueError: if it belongs to other edits or levels.
        """
        records = {Cell(action, level): CellRecord(**record) for action, level, record in state["records"]}
        if set(records) != set(self.records):
            raise ValueError("the stored curriculum has other edits or levels; resume with the options it began with")
        self.records = records
        self._open = dict(state["open"])
        self._plans = {
            int(number): tuple(Cell(action, level) for action, level in cells)
            for number, cells in state["plans"].items()
        }


def _pair(cell: Cell) -> list[Any]:
    return [cell.action, cell.level]
