"""The fixed mix of answers that verification is timed on; stated here before anything is measured.

| share | sites of the target |     | share | answer                                                     |
|-------|---------------------|-----|-------|------------------------------------------------------------|
| 70 %  | 2 to 100            |     | 1/2   | right: as printed, four decimals, other order, 0.02 Å off  |
| 25 %  | 101 to 400          |     | 1/6   | malformed                                                  |
| 5 %   | 401 to 800          |     | 1/6   | wrong composition                                          |
|       |                     |     | 1/6   | right composition, wrong structure                         |

Tasks are well-posed ones of all ten edits in turn (above 400 sites of nine: super_cell ends there), of all splits;
above 100 sites on supercells of the pool's crystals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from atomworld_env.actions import ACTIONS
from atomworld_env.policies.near_misses import wrong_site
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import INPUT_DECIMALS, TARGET_DECIMALS, Crystal, wrap
from atomworld_env.structures.pool import StructurePool, load_pool, row_of
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.task import Task

SIZES = ((2, 40, 0.35), (41, 100, 0.35), (101, 400, 0.25), (401, 800, 0.05))
"""Fewest and most sites of a target, and the share of the answers."""

KINDS = ("right", "malformed", "composition", "structure")
PATTERN = ("right", "malformed", "right", "composition", "right", "structure") * 2


@dataclass(frozen=True)
class TimedAnswer:
    """One answer of the mix, with what it was made from."""

    task: Task
    sites: int
    size: str
    kind: str
    detail: str
    text: str


def timed_answers(count: int, seed: int) -> Iterator[TimedAnswer]:
    """About `count` answers, whole twelves of every size; the same ones for the same seed."""
    for which, (fewest, most, share) in enumerate(SIZES):
        sampler = TaskSampler(SamplerConfig(split=None, min_sites=1, max_sites=most), pool=_pool(fewest, most))
        rng = np.random.default_rng(np.random.SeedSequence([seed, which]))
        edits = [name for name in ACTIONS if fewest <= 400 or name != "super_cell"]
        for number in range(12 * max(1, round(count * share / 12))):
            task = _task(sampler, edits[number % len(edits)], fewest, most, rng)
            truth = task.target_crystal
            kind = PATTERN[number % len(PATTERN)]
            options = _MAKERS[kind]
            detail = list(options)[int(rng.integers(len(options)))]
            text = options[detail](task, truth, rng)
            yield TimedAnswer(task, len(truth), f"{fewest}-{most}", kind, detail, f"<cif>\n{text}</cif>")


def _task(sampler: TaskSampler, action: str, fewest: int, most: int, rng: np.random.Generator) -> Task:
    while True:
        task = sampler.sample(int(rng.integers(2**40)), action)
        if fewest <= len(task.target_crystal) <= most:
            return task


def _pool(fewest: int, most: int) -> StructurePool:
    """Up to 100 sites the embedded pool; above, supercells of its crystals that are this large, or halves of them so
    that the edit super_cell ends there too."""
    embedded = load_pool("aflow")
    if most <= 100:
        return embedded
    rows = []
    entries = embedded.entries(None, 10, 100)
    for number, entry in enumerate(entries[:: max(1, len(entries) // 400)]):
        crystal = entry.crystal
        for factors in ([2, 2, 1], [1, 3, 2], [2, 2, 2], [3, 2, 2], [4, 2, 2], [4, 4, 2]):
            if fewest / 2 <= len(crystal) * np.prod(factors) <= most:
                larger = ACTIONS["super_cell"].apply(crystal, {"factors": factors})
                printed = Crystal.printed(larger.cell, larger.species, larger.frac, INPUT_DECIMALS)
                rows.append(row_of(f"{number}-{'x'.join(map(str, factors))}", entry.family, entry.provenance, printed))
    return StructurePool("aflow supercells", "timed", rows)


def _cif(crystal: Crystal, decimals: int = TARGET_DECIMALS) -> str:
    return write_cif(crystal.replaced(frac=wrap(crystal.frac, decimals)), decimals=decimals)


def _reordered(truth: Crystal, rng: np.random.Generator) -> Crystal:
    order = rng.permutation(len(truth))
    return Crystal(truth.cell, tuple(truth.species[site] for site in order), truth.frac[order])


def _displaced(truth: Crystal, distance: float, rng: np.random.Generator) -> Crystal:
    """Every site by exactly this distance in Å, in a random direction."""
    steps = rng.normal(size=(len(truth), 3))
    steps *= distance / np.linalg.norm(steps, axis=1, keepdims=True)
    return truth.replaced(frac=truth.frac + steps @ truth.inverse)


def _one_moved(truth: Crystal, rng: np.random.Generator) -> Crystal:
    """A site 2 to 4 Å away."""
    step = rng.normal(size=3)
    frac = truth.frac.copy()
    frac[rng.integers(len(truth))] += step * rng.uniform(2, 4) / np.linalg.norm(step) @ truth.inverse
    return truth.replaced(frac=frac)


def _exchanged(truth: Crystal, rng: np.random.Generator) -> Crystal:
    """Two sites of different elements exchanged; in a crystal of one element a site is moved."""
    first = int(rng.integers(len(truth)))
    others = [site for site, symbol in enumerate(truth.species) if symbol != truth.species[first]]
    if not others:
        return _one_moved(truth, rng)
    frac = truth.frac.copy()
    pair = [first, int(rng.choice(others))]
    frac[pair] = frac[pair[::-1]]
    return truth.replaced(frac=frac)


def _same_atoms(crystal: Crystal, truth: Crystal, rng: np.random.Generator) -> Crystal:
    """The crystal if it has the composition of the truth, else the truth with a site moved."""
    return crystal if crystal.composition == truth.composition else _one_moved(truth, rng)


def _another_element(truth: Crystal, rng: np.random.Generator) -> Crystal:
    species = list(truth.species)
    species[int(rng.integers(len(truth)))] = "Xe"
    return Crystal(truth.cell, tuple(species), truth.frac)


def _fewer(crystal: Crystal) -> Crystal:
    return Crystal(crystal.cell, crystal.species[1:], crystal.frac[1:])


def _more(truth: Crystal) -> Crystal:
    extra = truth.frac[:1] + np.array([1.1, 0.4, 0.2]) @ truth.inverse
    return Crystal(truth.cell, (*truth.species, truth.species[0]), np.vstack([truth.frac, extra]))


def _lines(truth: Crystal, change: Callable[[list[str]], list[str]]) -> str:
    return "\n".join(change(_cif(truth).splitlines())) + "\n"


def _last_row_of(lines: list[str]) -> list[str]:
    """The last site once more: two atoms on one place."""
    return [*lines, lines[-1]]


_Maker = Callable[[Task, Crystal, np.random.Generator], str]

_MAKERS: dict[str, dict[str, _Maker]] = {
    "right": {
        "as printed": lambda task, truth, rng: task.target,
        "four decimals": lambda task, truth, rng: _cif(truth, 4),
        "other order": lambda task, truth, rng: _cif(_reordered(truth, rng)),
        "0.02 Å off": lambda task, truth, rng: _cif(_displaced(truth, 0.02, rng)),
    },
    "malformed": {
        "cut within a row": lambda task, truth, rng: _cif(truth)[:-20],
        "prose after the loop": lambda task, truth, rng: _cif(truth) + "This is the edited structure.\n",
        "no cell length": lambda task, truth, rng: _lines(
            truth, lambda lines: [line for line in lines if "length_b" not in line]
        ),
        "a word for a number": lambda task, truth, rng: _lines(
            truth, lambda lines: [*lines[:-1], "  H  H0  1  x  0.5  0.5  1.0"]
        ),
        "a site twice": lambda task, truth, rng: _lines(truth, _last_row_of),
        "no site": lambda task, truth, rng: _lines(truth, lambda lines: lines[: -len(truth)]),
    },
    "composition": {
        "a site missing": lambda task, truth, rng: _cif(_fewer(truth) if len(truth) > 1 else _more(truth)),
        "a site too many": lambda task, truth, rng: _cif(_more(truth)),
        "another element": lambda task, truth, rng: _cif(_another_element(truth, rng)),
        "the input": lambda task, truth, rng: (
            task.structure if task.crystal.composition != truth.composition else _cif(_more(truth))
        ),
    },
    "structure": {
        "the input": lambda task, truth, rng: _cif(_same_atoms(task.crystal, truth, rng)),
        "the wrong site": lambda task, truth, rng: _cif(_same_atoms(wrong_site(task, rng), truth, rng)),
        "one site 2-4 Å away": lambda task, truth, rng: _cif(_one_moved(truth, rng)),
        "two sites exchanged": lambda task, truth, rng: _cif(_exchanged(truth, rng)),
        "all sites 0.5 Å away": lambda task, truth, rng: _cif(_displaced(truth, 0.5, rng)),
        "random sites": lambda task, truth, rng: _cif(truth.replaced(frac=rng.random((len(truth), 3)))),
    },
}
