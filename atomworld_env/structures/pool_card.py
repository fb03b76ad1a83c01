"""The card of the embedded pool: where its structures come from, how many there are, what was left out."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

from atomworld_env.structures.pool import PoolEntry, StructurePool
from atomworld_env.structures.splits import SPLITS

KINDS = ("prototype", "conventional cell", "supercell", "substitution")
SITE_RANGES = ((1, 1), (2, 9), (10, 100))
PACKAGES = ("pymatgen", "pymatgen-core", "spglib", "numpy", "scipy", "ase")

_HEAD = """\
# Embedded structure pool

`aflow.jsonl.gz`: a header line, then one JSON object per structure with its id, family (the AFLOW label),
provenance, cell (a, b, c in Å; alpha, beta, gamma in degrees), species in site order as runs, and wrapped
fractional coordinates with 4 decimals, as text. This card and the file are written by

    python -m atomworld_env.structures.build_pool

and `--check` rebuilds the file and compares. Sampling reads only the file, so that tasks do not depend on the
installed versions of pymatgen and spglib.

## Source

The 288 AFLOW prototype crystals inside pymatgen (`pymatgen.analysis.prototypes`; pymatgen is under the MIT
licence, S. P. Ong et al., Comput. Mater. Sci. 68, 314, 2013), from the AFLOW Library of Crystallographic
Prototypes: M. J. Mehl et al., Comput. Mater. Sci. 136, S1 (2017); D. Hicks et al., Comput. Mater. Sci. 161,
S1 (2019); D. Hicks et al., Comput. Mater. Sci. 199, 110450 (2021). Cite these when you publish results on the
pool.

The prototypes are crystals with their real species. The substituted structures are hypothetical: plausible by
statistics, computed by nobody.

## Recipe

- **Cells**: the prototype's cell as pymatgen gives it; the conventional standard cell where its number of
  sites differs; the least elongated supercell (factors 1–{max_factor}) near each of {targets} sites. At most
  {max_sites} sites.
- **Substitution**: at most {max_substitutions} per prototype, the most probable ones, each in one cell of 2–9
  sites and one of 10–{max_sites}. An ion is replaced by one of equal charge where the conditional probability
  (G. Hautier et al., Inorg. Chem. 50, 656, 2011; `SubstitutionProbability`) is at least {min_probability},
  several at once where the product is at least {min_joint}. Oxidation states come from bond valences, else
  from charge balance. Where there are none (elements, compounds whose electronegativities differ by less than
  {spread}), elements of the same group, or other lanthanides, take the place, nearest first. No hydrogen,
  noble gas or short-lived element is brought in.
- **Lattice** of a substituted crystal: scaled evenly by the ratio of the volumes that `DLSVolumePredictor`
  (I.-H. Chu et al., Comput. Mater. Sci. 146, 184, 2018) gives for the substituted and for the parent crystal,
  only where it meets the parent's own volume within {tolerance:.0%}; other parents stay unsubstituted
  ({substituted} of {prototypes} prototypes have substitutions).
- **Contacts**: no two atoms are closer than {contact} × the sum of their covalent radii
  (`ase.data.covalent_radii`, Cordero et al. 2008), unless all elements are actinides. No element above Z =
  {heaviest}.
- **Distinct**: no two structures share family, composition and number of sites.
- **Splits** go by lineage: 50 % train, 10 % validation, 40 % test, in the order of the SHA-256 of the lineage's
  name. A lineage is a family together with those that are distorted variants of it, as far as
  `StructureMatcher.fit_anonymous` finds on primitive cells of up to {compared} sites.
"""


def kind(entry: PoolEntry) -> str:
    """What was done to a prototype to give this structure."""
    if ">" in entry.structure_id:
        return "substitution"
    if "; supercell" in entry.provenance:
        return "supercell"
    return "conventional cell" if "; conventional" in entry.provenance else "prototype"


def card(pool: StructurePool, recipe: dict[str, object], excluded: Sequence[tuple[str, str]]) -> str:
    """Markdown text of the card.

    Args:
        recipe: the constants of the build, by the names that the text uses.
        excluded: id and reason of each prototype or derived structure that was left out.
    """
    everything = pool.entries(min_sites=1)
    by_kind = Counter((kind(entry), _site_range(entry)) for entry in everything)
    ranges = [_range_name(low, high) for low, high in SITE_RANGES]
    lines = [
        _HEAD.format(**recipe),
        "## Counts",
        "",
        f"{len(pool)} structures of {len(_families(everything))} families, {len(pool.elements)} elements, "
        f"data version `{pool.version}`. "
        f"{_orthogonal_share(everything):.0%} have an orthogonal cell "
        f"({_orthogonal_share(pool.entries(min_sites=10)):.0%} of those with 10–100 sites).",
        "",
        _table_row("", *(f"{name} sites" for name in ranges), "all"),
        _table_row(*["---"] * (len(ranges) + 2)),
    ]
    for name in KINDS:
        counts = [by_kind[name, site_range] for site_range in ranges]
        lines.append(_table_row(name, *counts, sum(counts)))
    columns = [f"{name} sites" for name in ranges]
    lines += ["", _table_row("split", "families", *columns, "10–100, two elements or more")]
    lines.append(_table_row(*["---"] * (len(ranges) + 3)))
    for split in SPLITS:
        sizes = [len(pool.entries(split, low, high)) for low, high in SITE_RANGES]
        several = sum(len(entry.elements) > 1 for entry in pool.entries(split, 10, 100))
        lines.append(_table_row(split, len(_families(pool.entries(split, 1))), *sizes, several))
    lines += ["", "## Left out", "", *(f"- `{structure_id}`: {reason}" for structure_id, reason in excluded)]
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines += ["", "## Made with", "", f"Python {platform.python_version()}, {versions}.", ""]
    return "\n".join(lines)


def _range_name(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


def _site_range(entry: PoolEntry) -> str:
    return next(_range_name(low, high) for low, high in SITE_RANGES if low <= entry.n_sites <= high)


def _families(entries: Sequence[PoolEntry]) -> set[str]:
    return {entry.family for entry in entries}


def _orthogonal_share(entries: Sequence[PoolEntry]) -> float:
    return sum(entry.cell[3:] == (90.0, 90.0, 90.0) for entry in entries) / len(entries)


def _table_row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
