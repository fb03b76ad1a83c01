"""Makes the stored records of StructProp: crystals with their value and one known solution for each direction.

    python -m atomworld_env.families.build_structprop --property bulk_modulus --split test --each 52 --out FILE
    python -m atomworld_env.families.build_structprop --merge FILE FILE ...
    python -m atomworld_env.families.build_structprop --merge FILE FILE ... --suite runs/more-moduli

The last writes a suite of your own, for `atomworld evaluate` or `training.grpo`: as many tasks as you have time for,
with another --seed on other crystals.

Takes the extra `mlip` (for gaps also `dft`) and tens of minutes on one core. With ATOMWORLD_PROPERTY_CACHE set to a
folder, a second run goes on where the first was stopped.

A crystal is taken if it comes to rest, and comes to rest in the same place each time that its atoms are first displaced
at random and its cell is strained: then neither helps anyone to another value. Solutions are sought among substitutions
by similar elements, in random order, and must move the property by twice the threshold.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from atomworld_env.families.structprop_candidates import (
    arrangement,
    compounds,
    disturbed,
    small_crystals,
    substituted,
)
from atomworld_env.families.structprop_records import STORED_FILE, tasks_of_records
from atomworld_env.properties.by_name import NOISE, PACKAGED, UNITS, oracle_of
from atomworld_env.properties.cache import CachedOracle
from atomworld_env.properties.oracle import Noise, PropertyValue
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.splits import SPLITS
from atomworld_env.tasks.suite import Suite
from atomworld_env.tasks.task import usable

DISPLACEMENTS = {"bulk_modulus": (0.1, 0.15, 0.15, 0.2), "band_gap": (0.1, 0.15)}
"""Å, standard deviations of each coordinate, one trial after the other."""
SAME_ENERGY = 0.005  # eV per atom
LEAST = {"bulk_modulus": 15.0, "band_gap": 0.4}
"""Smallest value of an input: below, there is no room to go down."""


def records(name: str, split: str, each: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Records with a solution in at least one direction.

    Args:
        name: of the property.
        each: solutions of either direction, after which no more records are made; fewer where crystals run out.
    """
    oracle = oracle_of(name)
    made: Counter[str] = Counter()
    for structure_id, crystal in compounds(split) if name == "band_gap" else small_crystals(split, seed):
        if min(made["raise"], made["lower"]) >= each:
            return
        rng = np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(structure_id.encode()[-12:], "big")]))
        found = _record(crystal, name, oracle, rng)
        if found is not None:
            made.update(list(found["solutions"]))
            yield {"property": name, "structure_id": structure_id, "split": split} | found


def _record(crystal: Crystal, name: str, oracle: CachedOracle, rng: np.random.Generator) -> dict[str, Any] | None:
    noise = NOISE[name]
    shown = oracle.value(arrangement(crystal))
    if shown.value is None or shown.value < LEAST[name] or shown.energy is None:
        return None
    first, *others = DISPLACEMENTS[name]
    if not _comes_back(shown, oracle, disturbed(crystal, first, rng), noise):
        return None
    solutions: dict[str, dict[str, Any]] = {}
    ways: Counter[str] = Counter()
    tried = 0
    for candidate in substituted(crystal, name, rng):
        found = oracle.value(arrangement(candidate))
        if found.value is None:
            continue
        tried += 1
        change = found.value - shown.value
        if abs(change) <= noise.at(shown.value):
            continue
        direction = "raise" if change > 0 else "lower"
        ways[direction] += 1
        if abs(change) > 2 * noise.at(shown.value):
            solutions.setdefault(direction, {"target": write_cif(candidate), "value": found.value})
        if len(solutions) == 2:
            break
    if not solutions:
        return None
    for size in others:
        if not _comes_back(shown, oracle, disturbed(crystal, size, rng), noise):
            return None
    return {
        "n_sites": len(crystal),
        "structure": write_cif(crystal),
        "value": shown.value,
        "energy": shown.energy,
        "unit": UNITS[name],
        "oracle": oracle.oracle.version,
        "tried": tried,
        "solutions": {way: solution | {"ways": ways[way]} for way, solution in sorted(solutions.items())},
    }


def _comes_back(shown: PropertyValue, oracle: CachedOracle, moved: Crystal, noise: Noise) -> bool:
    """Whether a disturbed crystal has the value of the crystal shown again, once it has come to rest."""
    found = oracle.value(arrangement(moved))
    if found.value is None or found.energy is None or shown.value is None or shown.energy is None:
        return False
    return abs(found.value - shown.value) <= noise.at(shown.value) / 2 and shown.energy - found.energy <= SAME_ENERGY


def merge(paths: Sequence[Path], out: Path) -> int:
    """Write the file that ships from files of records; equal records give equal bytes. Returns how many there are."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    text = "\n".join(json.dumps(json.loads(line), sort_keys=True) for line in lines) + "\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return len(lines)


def write_suite(paths: Sequence[Path], folder: Path) -> int:
    """Write files of records as a suite into a folder; returns the number of tasks.

    Raises:
        ValueError: if a task cannot be used; KeyError or TypeError if a record is not complete.
    """
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    tasks = [replace(task, suite=folder.name) for task in tasks_of_records([json.loads(line) for line in lines])]
    distinct = tuple({task.task_id: usable(task) for task in tasks}.values())
    Suite(folder.name, distinct).write(folder)
    return len(distinct)


def main() -> None:
    """Write the records of one property and split as JSON Lines, or merge such files into the one that ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--property", choices=sorted(UNITS))
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--each", type=int, default=52, help="solutions of either direction")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--merge", type=Path, nargs="+", help="files of records, merged instead of making any")
    parser.add_argument("--suite", type=Path, help="folder: with --merge, a suite is written there, and nothing else")
    parser.add_argument("--out", type=Path, default=STORED_FILE)
    arguments = parser.parse_args()
    if arguments.merge and arguments.suite:
        print(f"{write_suite(arguments.merge, arguments.suite)} tasks in {arguments.suite}")
        return
    if arguments.merge:
        print(f"{merge(arguments.merge, arguments.out)} records in {arguments.out}")
        return
    if arguments.property is None or arguments.out == STORED_FILE:
        parser.error("say --property and --out, or --merge the files made so")
    missing = PACKAGED[arguments.property].missing()
    if missing:
        parser.error(missing)
    with arguments.out.open("w", encoding="utf-8") as file:
        for record in records(arguments.property, arguments.split, arguments.each, arguments.seed):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(record["structure_id"], record["value"], sorted(record["solutions"]), flush=True)


if __name__ == "__main__":
    main()
