"""How far values of one crystal lie apart when it is written in other ways: what thresholds are made from.

    python -m benchmarks.property_noise --property bulk_modulus --crystals 20
    python -m benchmarks.property_noise --property band_gap --crystals 4

Takes the extra `mlip` (for gaps also `dft`) and minutes. Of the stored crystals of the test split, at most 4 sites for
gaps, each is evaluated as shown, with the origin shifted, atoms in another order, every coordinate off by up to half a
unit of its fourth decimal, with one cell doubled (not for gaps beyond the largest cell), and with cell and atoms
disturbed. Prints a Markdown table of the differences from the value as shown. "Stored value" says something only
where ATOMWORLD_PROPERTY_CACHE names no folder that holds it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from atomworld_env.families.structprop_candidates import arrangement, disturbed
from atomworld_env.families.structprop_records import stored_tasks
from atomworld_env.properties.by_name import NOISE, PACKAGED, UNITS, oracle_of
from atomworld_env.properties.dft_gap import MOST_SITES
from atomworld_env.structures.crystal import Crystal
from rewards import Arrangement

MOST_SITES_FOR_GAPS = 4


def other_descriptions(crystal: Crystal, name: str, rng: np.random.Generator) -> Iterator[tuple[str, Arrangement]]:
    """The crystal again, each with how it is described."""
    count = len(crystal)
    order = rng.permutation(count)
    yield "origin shifted", Arrangement(crystal.cell, crystal.species, crystal.frac + rng.uniform(0, 1, 3))
    yield "other order", Arrangement(crystal.cell, tuple(crystal.species[k] for k in order), crystal.frac[order])
    off = rng.uniform(-5e-5, 5e-5, (count, 3))
    yield "fourth decimal", Arrangement(crystal.cell, crystal.species, crystal.frac + off)
    if name != "band_gap" or 2 * count <= MOST_SITES:
        a, *rest = crystal.cell
        doubled = np.concatenate([crystal.frac, crystal.frac + np.array([1, 0, 0])]) / [2, 1, 1]
        yield "cell doubled along a", Arrangement((2 * a, *rest), crystal.species * 2, doubled)  # type: ignore[arg-type]
    yield "disturbed", arrangement(disturbed(crystal, 0.1, rng))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--property", choices=sorted(UNITS), default="bulk_modulus")
    parser.add_argument("--crystals", type=int, default=20)
    arguments = parser.parse_args()
    name = arguments.property
    missing = PACKAGED[name].missing()
    if missing is not None:
        raise SystemExit(missing)
    tasks = stored_tasks("test")
    shown = {task.structure_id: task for way in ("raise", "lower") for task in tasks[f"{way}_{name}"]}
    chosen = [task for task in shown.values() if name != "band_gap" or task.n_sites <= MOST_SITES_FOR_GAPS]
    oracle = oracle_of(name)
    differences: dict[str, list[float]] = {}
    shares: dict[str, list[float]] = {}
    for number, task in enumerate(chosen[: arguments.crystals]):
        value = oracle.value(arrangement(task.crystal)).value
        if value is None:
            raise SystemExit(f"{task.structure_id} has no value; the stored one is {task.params['value']}")
        differences.setdefault("stored value", []).append(value - task.params["value"])
        shares.setdefault("stored value", []).append(differences["stored value"][-1] / NOISE[name].at(value))
        for how, other in other_descriptions(task.crystal, name, np.random.default_rng(number)):
            found = oracle.value(other).value
            apart = np.nan if found is None else found - value
            differences.setdefault(how, []).append(apart)
            shares.setdefault(how, []).append(apart / NOISE[name].at(value))
    unit = UNITS[name]
    noise = NOISE[name]
    print(f"{oracle.oracle.version}; threshold: {noise.absolute:g} {unit} or {noise.relative:.0%}, the larger\n")
    print(f"| description | crystals | no value | median, {unit} | largest, {unit} | largest, of the threshold |")
    print("|---|---|---|---|---|---|")
    for how, apart_all in differences.items():
        known = np.isfinite(apart_all)
        sizes, parts = np.abs(apart_all)[known], np.abs(shares[how])[known]
        print(
            f"| {how} | {len(known)} | {np.sum(~known)} | {np.median(sizes):.3f} | {sizes.max():.3f} | "
            f"{parts.max():.0%} |"
        )


if __name__ == "__main__":
    main()
