"""Makes the embedded pool's data file from the AFLOW prototypes inside pymatgen.

    python -m atomworld_env.structures.build_pool            # rewrite data/aflow.jsonl.gz and data/README.md
    python -m atomworld_env.structures.build_pool --check    # rebuild and compare with the shipped file

Needed only when the recipe changes. The file is shipped because its numbers must not depend on the installed
versions of pymatgen and spglib.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from pymatgen.core.periodic_table import Element
from pymatgen.core.structure import Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
from rich.progress import track

from atomworld_env.structures import substitution
from atomworld_env.structures.admission import impossible_contact
from atomworld_env.structures.contacts import CONTACT_FACTOR, HEAVIEST_WITH_RADIUS
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.lineage import MOST_SITES_COMPARED, lineages
from atomworld_env.structures.pool import (
    EMBEDDED_FILE,
    EMBEDDED_POOL,
    FORMAT_VERSION,
    Row,
    read_pool_file,
    row_of,
)
from atomworld_env.structures.pool_card import card

MAX_SITES = 100
TARGET_SITES = (4, 8, 16, 32, 64)
"""A supercell near each of these sizes is kept: a few per prototype, spread over the range."""
FACTORS = (1, 2, 3)
MAX_SUBSTITUTIONS = 16


@dataclass(frozen=True)
class Variant:
    """One cell of a prototype: as given, conventional, or repeated."""

    suffix: str
    note: str
    crystal: Crystal


@dataclass
class Build:
    """What the pool is made of, and what was left out and why."""

    rows: list[Row] = field(default_factory=list)
    excluded: list[tuple[str, str]] = field(default_factory=list)
    prototypes: int = 0
    substituted_parents: int = 0
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def add(self, structure_id: str, family: str, provenance: str, crystal: Crystal) -> None:
        """Add a structure unless one with its family and composition is there or it is faulty."""
        composition = " ".join(f"{symbol}{count}" for symbol, count in sorted(crystal.composition.items()))
        if (family, composition) in self._seen:
            return
        problem = fault(crystal)
        if problem:
            self.excluded.append((structure_id, problem))
            return
        self._seen.add((family, composition))
        self.rows.append(row_of(structure_id, family, provenance, crystal))


def as_printed(structure: Structure) -> Crystal:
    """The structure in the frame of the prompts: only cell parameters and fractional coordinates are kept.

    A left-handed basis has the same parameters as its mirror image; negating all three vectors makes it
    right-handed and describes the same crystal with negated coordinates.
    """
    frac = structure.frac_coords if np.linalg.det(structure.lattice.matrix) > 0 else -structure.frac_coords
    species = tuple(site.specie.symbol for site in structure)
    return Crystal.printed(structure.lattice.parameters, species, frac)


def variants(structure: Structure) -> list[Variant]:
    """The cell as given, the conventional standard cell, a supercell near each target size; one per size."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conventional = SpacegroupAnalyzer(structure).get_conventional_standard_structure()
    bases = [("", "", structure)]
    if len(conventional) != len(structure):
        bases.append(("-conventional", "; conventional standard cell", conventional))
    kept = {len(base): Variant(suffix, note, as_printed(base)) for suffix, note, base in bases}
    for target in TARGET_SITES:
        best = min(_supercells(bases, target), default=None)
        if best is None or best[2] in kept:
            continue
        _, _, n_sites, index, factors = best
        suffix, note, base = bases[index]
        label = "x".join(map(str, factors))
        repeated = base.copy()
        repeated.make_supercell(factors)
        kept[n_sites] = Variant(f"{suffix}-{label}", f"{note}; supercell {label}", as_printed(repeated))
    return [kept[n_sites] for n_sites in sorted(kept) if n_sites <= MAX_SITES]


def _supercells(
    bases: list[tuple[str, str, Structure]], target: int
) -> Iterator[tuple[float, float, int, int, tuple[int, int, int]]]:
    """Supercells within a third of the target size, sortable: nearest in size, then least elongated."""
    for index, (_, _, base) in enumerate(bases):
        for factors in product(FACTORS, FACTORS, FACTORS):
            n_sites = len(base) * prod(factors)
            if prod(factors) > 1 and n_sites <= MAX_SITES and 0.75 <= n_sites / target <= 4 / 3:
                lengths = [factor * length for factor, length in zip(factors, base.lattice.abc, strict=True)]
                elongation = round(max(lengths) / min(lengths), 3)
                yield round(abs(np.log(n_sites / target)), 6), elongation, n_sites, index, factors


def substituted(crystal: Crystal, replacements: dict[str, str], length_scale: float) -> Crystal:
    """The same arrangement with other elements in an evenly scaled cell."""
    a, b, c, *angles = crystal.cell
    species = tuple(replacements.get(symbol, symbol) for symbol in crystal.species)
    lengths = (a * length_scale, b * length_scale, c * length_scale)
    return Crystal.printed((*lengths, *angles), species, crystal.frac)


def fault(crystal: Crystal) -> str | None:
    """Why a crystal may not enter the pool, or None."""
    heavy = sorted({symbol for symbol in crystal.species if Element(symbol).Z > HEAVIEST_WITH_RADIUS})
    if heavy:
        return f"no covalent radius is tabulated for {heavy[0]}"
    if len(crystal) > MAX_SITES:
        return f"{len(crystal)} sites"
    contact = impossible_contact(crystal)
    if contact:
        ratio, first, second = contact
        radii_sum = f"{ratio:.3f} of the sum of covalent radii"
        return f"contact {crystal.species[first]}{first}–{crystal.species[second]}{second} at {radii_sum}"
    return None


def add_prototype(build: Build, structure: Structure, label: str, mineral: str) -> None:
    """Add a prototype's cells and its substitutions, each in a cell of 2–9 sites and one of 10–100."""
    formula = structure.composition.reduced_formula
    base_id = f"aflow-{label}-{formula}"
    problem = fault(as_printed(structure))
    if problem:
        build.excluded.append((base_id, problem))
        return
    build.prototypes += 1
    source = f"AFLOW {label}" + (f" ({mineral})" if mineral not in ("", "None") else "")
    cells = variants(structure)
    for cell in cells:
        build.add(f"{base_id}{cell.suffix}", label, f"{source}; {formula}{cell.note}", cell.crystal)
    small = [cell for cell in cells if 2 <= len(cell.crystal) < 10]
    large = [cell for cell in cells if len(cell.crystal) >= 10]
    choices = substitution.substitutions(structure, MAX_SUBSTITUTIONS)
    build.substituted_parents += bool(choices)
    for number, choice in enumerate(choices):
        # One small and one large cell each, taken in turn so that the sizes vary over a family.
        for cell in [group[number % len(group)] for group in (small, large) if group]:
            crystal = substituted(cell.crystal, dict(choice.replacements), choice.length_scale)
            scale = f"lengths × {choice.length_scale:.4f}"
            note = f"{formula}{cell.note}; {choice.label} by {choice.rule}, {scale}"
            build.add(f"{base_id}{cell.suffix}-{choice.label}", label, f"{source}; {note}", crystal)


def build_rows() -> Build:
    """The whole pool, prototypes grouped by family in the order of first appearance in pymatgen's library."""
    from pymatgen.analysis.prototypes import AFLOW_PROTOTYPE_LIBRARY  # type: ignore[attr-defined]

    by_family: dict[str, list[tuple[Structure, str]]] = {}
    for prototype in AFLOW_PROTOTYPE_LIBRARY:
        tags = prototype["tags"]
        by_family.setdefault(tags["aflow"], []).append((prototype["snl"].structure, str(tags["mineral"])))
    build = Build()
    for label, members in track(by_family.items(), description="AFLOW families"):
        for structure, mineral in members:
            add_prototype(build, structure, label, mineral)
    present = {row["family"] for row in build.rows}
    lineage = lineages(
        {label: [structure for structure, _ in members] for label, members in by_family.items() if label in present}
    )
    for row in build.rows:
        row["lineage"] = lineage[row["family"]]
    return build


def encode(rows: list[Row]) -> bytes:
    """Header line and one line per structure, in the bytes that the pool's version is a hash of."""
    made_by = "python -m atomworld_env.structures.build_pool"
    header = {"name": EMBEDDED_POOL, "format": FORMAT_VERSION, "made_by": made_by}
    lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in (header, *rows)]
    return ("\n".join(lines) + "\n").encode()


def _recipe(build: Build) -> dict[str, object]:
    return {
        "max_factor": max(FACTORS),
        "targets": ", ".join(map(str, TARGET_SITES)),
        "max_sites": MAX_SITES,
        "max_substitutions": MAX_SUBSTITUTIONS,
        "min_probability": substitution.MIN_PROBABILITY,
        "min_joint": substitution.MIN_JOINT_PROBABILITY,
        "spread": substitution.MIN_ELECTRONEGATIVITY_SPREAD,
        "tolerance": substitution.VOLUME_TOLERANCE,
        "contact": CONTACT_FACTOR,
        "heaviest": HEAVIEST_WITH_RADIUS,
        "compared": MOST_SITES_COMPARED,
        "substituted": build.substituted_parents,
        "prototypes": build.prototypes,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m atomworld_env.structures.build_pool",
        description="Make the embedded structure pool from the AFLOW prototypes inside pymatgen.",
    )
    parser.add_argument("--out", type=Path, default=EMBEDDED_FILE, help="data file; its card goes beside it")
    parser.add_argument("--check", action="store_true", help="rebuild, compare, write nothing")
    arguments = parser.parse_args(argv)
    build = build_rows()
    data = encode(build.rows)
    if arguments.check:
        # Compared unpacked: the compressed bytes depend on the zlib that Python was built with.
        same = arguments.out.is_file() and gzip.decompress(arguments.out.read_bytes()) == data
        print(f"{arguments.out}: {'as rebuilt' if same else 'differs from what this installation builds'}")
        return 0 if same else 1
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(gzip.compress(data, 9, mtime=0))
    pool = read_pool_file(arguments.out)
    text = card(pool, _recipe(build), build.excluded)
    arguments.out.with_name("README.md").write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {len(pool)} structures, {arguments.out.stat().st_size} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
