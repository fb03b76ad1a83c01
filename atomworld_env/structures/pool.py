"""Pools of crystals that tasks are drawn from: the embedded AFLOW prototypes, or the user's own CIF files."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.structures.crystal import INPUT_DECIMALS, Crystal
from atomworld_env.structures.splits import SPLITS, assign_splits

EMBEDDED_POOL = "aflow"
EMBEDDED_FILE = Path(__file__).parent / "data" / "aflow.jsonl.gz"
FORMAT_VERSION = 2

_RUN = re.compile(r"([A-Z][a-z]?)(\d+)")


@dataclass(frozen=True)
class PoolEntry:
    """One structure of a pool. Coordinates stay text until :attr:`crystal` is asked for.

    Attributes:
        structure_id: unique in the pool, the same in every run.
        family: structures of one family have the same atomic arrangement and share a split. So do families that are
            distorted variants of one another (:mod:`atomworld_env.structures.lineage`).
        split: one of :data:`~atomworld_env.structures.splits.SPLITS`.
        n_sites: sites in the cell.
        provenance: where the structure comes from and what was done to it.
        cell: a, b, c in Å and alpha, beta, gamma in degrees, as printed.
        species: runs of equal elements in site order, ``In16 S24``.
        coordinates: 3 × n_sites fractional coordinates with 4 decimals, blank-separated.
    """

    structure_id: str
    family: str
    split: str
    n_sites: int
    provenance: str
    cell: tuple[float, float, float, float, float, float]
    species: str
    coordinates: str

    @cached_property
    def crystal(self) -> Crystal:
        symbols = tuple(symbol for symbol, count in _RUN.findall(self.species) for _ in range(int(count)))
        return Crystal(self.cell, symbols, np.array(self.coordinates.split(), dtype=float))

    @property
    def elements(self) -> tuple[str, ...]:
        """Sorted element symbols, read without parsing the coordinates."""
        return tuple(sorted({symbol for symbol, _ in _RUN.findall(self.species)}))


Row = dict[str, Any]
"""One line of a pool file: id, family, provenance, n_sites, cell, species, coordinates, and perhaps lineage."""


def row_of(structure_id: str, family: str, provenance: str, crystal: Crystal) -> Row:
    """The line of a pool file for a crystal with printed (4-decimal) numbers."""
    runs = [(symbol, len(list(group))) for symbol, group in groupby(crystal.species)]
    return {
        "id": structure_id,
        "family": family,
        "provenance": provenance,
        "n_sites": len(crystal),
        "cell": list(crystal.cell),
        "species": " ".join(f"{symbol}{count}" for symbol, count in runs),
        "coordinates": " ".join(f"{value:.{INPUT_DECIMALS}f}" for value in crystal.frac.ravel().tolist()),
    }


class StructurePool:
    """An ordered, immutable collection of structures with a train/validation/test split by family.

    Attributes:
        name: `aflow`, or the path of the user's files.
        version: a short hash of the data; it is part of every task's version.
        skipped_files: for the user's files, the name of each skipped one and the reason.
        skipped: how many were skipped for each reason.
    """

    def __init__(
        self, name: str, version: str, rows: Iterable[Row], *, skipped_files: Mapping[str, str] | None = None
    ) -> None:
        rows = list(rows)
        lineage = {str(row["family"]): str(row.get("lineage", row["family"])) for row in rows}
        splits = assign_splits(lineage, lineage)
        self.name = name
        self.version = version
        self.skipped_files = dict(skipped_files or {})
        self.skipped: Counter[str] = Counter(self.skipped_files.values())
        self._by_id = {
            row["id"]: PoolEntry(
                row["id"],
                row["family"],
                splits[row["family"]],
                row["n_sites"],
                row["provenance"],
                tuple(row["cell"]),
                row["species"],
                row["coordinates"],
            )
            for row in rows
        }
        if len(self._by_id) != len(rows):
            raise ValueError(f"the pool {name} has structures that share an id")
        self._selections: dict[tuple[str | None, int, int | None], tuple[PoolEntry, ...]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __repr__(self) -> str:
        return f"StructurePool({self.name!r}, {len(self)} structures, version {self.version})"

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """Sorted symbols of all elements that occur in the pool."""
        return tuple(sorted({symbol for entry in self._by_id.values() for symbol in entry.elements}))

    def entries(
        self, split: str | None = None, min_sites: int = 2, max_sites: int | None = None
    ) -> Sequence[PoolEntry]:
        """Structures of a split (None: of all) with a number of sites in the range, both ends included.

        The order is that of the pool and never varies. May be empty.
        """
        if split is not None and split not in SPLITS:
            raise UsageError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
        key = (split, min_sites, max_sites)
        if key not in self._selections:
            self._selections[key] = tuple(
                entry
                for entry in self._by_id.values()
                if (split is None or entry.split == split)
                and entry.n_sites >= min_sites
                and (max_sites is None or entry.n_sites <= max_sites)
            )
        return self._selections[key]

    def entry(self, structure_id: str) -> PoolEntry:
        """The structure with this id.

        Raises:
            UsageError: if there is none, with the ids that look most alike.
        """
        try:
            return self._by_id[structure_id]
        except KeyError:
            close = get_close_matches(structure_id, self._by_id, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise UsageError(f"the pool {self.name} has no structure {structure_id!r}{hint}") from None


def version_of(lines: Iterable[bytes]) -> str:
    """The short hash by which a pool's data is known: the first 12 hexadecimal digits of a SHA-256."""
    digest = sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()[:12]


def read_pool_file(path: Path) -> StructurePool:
    """The pool in a file written by `python -m atomworld_env.structures.build_pool`."""
    try:
        data = gzip.decompress(path.read_bytes())
        header_line, _, body = data.partition(b"\n")
        header = json.loads(header_line)
        if header["format"] != FORMAT_VERSION:
            raise ValueError(f"format {header['format']}, this version reads {FORMAT_VERSION}")
        rows = json.loads(b"[" + b",".join(body.splitlines()) + b"]")
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        mend = "rebuild it with `python -m atomworld_env.structures.build_pool`"
        raise UsageError(f"{path} is no pool file ({error}); {mend}") from None
    return StructurePool(header["name"], version_of([data]), rows)


@cache
def default_pool() -> StructurePool:
    """The embedded pool: AFLOW prototypes with real species, their cells, supercells and substitutions."""
    return read_pool_file(EMBEDDED_FILE)


def load_pool(name_or_path: str | Path) -> StructurePool:
    """The pool of that name (`aflow`), or the pool of a folder, archive or single file of the user's CIFs.

    Raises:
        UsageError: if there is neither, or if no file in it is usable.
    """
    if str(name_or_path) == EMBEDDED_POOL:
        return default_pool()
    path = Path(name_or_path).expanduser()
    if not path.exists():
        raise UsageError(
            f"no structure pool or path {str(name_or_path)!r}; "
            f"use {EMBEDDED_POOL!r}, or a folder, .zip or .tar.gz of CIF files"
        )
    # Imported late: pymatgen's reader takes a second and the embedded pool does without it.
    from atomworld_env.structures.cif_folder import read_cif_folder

    return read_cif_folder(path)
