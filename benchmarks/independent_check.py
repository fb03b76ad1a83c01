"""A second opinion on whether an answer is right, by pymatgen and a matching, without a line of `rewards`.

A CIF is right if pymatgen reads it and it has the target's elements, one whole atom a site, cell lengths within 0.5 %
and angles within 0.5°, and if the sites of each element can be paired within 0.1 Å. Slow and plain, for benchmarks.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache

import numpy as np
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifParser
from pymatgen.util.coord import pbc_shortest_vectors
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

TOLERANCE = 0.1  # Å
LENGTH_TOLERANCE, ANGLE_TOLERANCE = 0.005, 0.5  # relative, degrees
ROUNDING = 1e-6  # what is that close to a limit may be judged either way

_HYDROGEN = {"D": "H", "T": "H"}


_TAG = re.compile(r"(?<!\S)_(?:cell|atom_site)_[A-Za-z_]+", re.IGNORECASE)


def parsed(text: str) -> Structure | None:
    """The structure that pymatgen reads, None where it reads none; tags in any case of letters, as CIF has them."""
    text = _TAG.sub(lambda tag: tag[0].lower(), text)
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            structures = CifParser.from_str(text).parse_structures(primitive=False, check_occu=False)
        except Exception:  # it raises nearly everything
            return None
    return structures[0]


@lru_cache(maxsize=256)
def _target(text: str) -> Structure:
    structure = parsed(text)
    assert structure is not None
    return structure


def is_right(text: str, target: str) -> bool | None:
    """Whether a CIF is right; None where it is so close to a limit that rounding decides."""
    answer, truth = parsed(text), _target(target)
    if answer is None:
        return False
    symbols = _symbols(answer)
    if symbols is None or Counter(symbols) != Counter(_symbols(truth)):
        return False
    strictest, widest = (_agrees(answer, symbols, truth, sign * ROUNDING) for sign in (-1, 1))
    return strictest if strictest == widest else None


def _symbols(structure: Structure) -> list[str] | None:
    """The element of every site; None where one has not exactly one whole atom of a real element."""
    symbols = []
    for site in structure:
        if len(site.species) != 1:
            return None
        (species, amount), *_ = site.species.items()
        symbol = getattr(species, "element", species).symbol
        if abs(amount - 1) > 1e-5 or type(species).__name__ == "DummySpecies":
            return None
        symbols.append(_HYDROGEN.get(symbol, symbol))
    return symbols


def _agrees(answer: Structure, symbols: list[str], truth: Structure, slack: float) -> bool:
    lengths = np.abs(np.array(answer.lattice.abc) / np.array(truth.lattice.abc) - 1)
    angles = np.abs(np.array(answer.lattice.angles) - np.array(truth.lattice.angles))
    if lengths.max() > LENGTH_TOLERANCE + slack or angles.max() > ANGLE_TOLERANCE + slack:
        return False
    theirs = _symbols(truth)
    assert theirs is not None
    for symbol in set(theirs):
        mine = answer.frac_coords[[k for k, other in enumerate(symbols) if other == symbol]]
        here = truth.frac_coords[[k for k, other in enumerate(theirs) if other == symbol]]
        _, squared = pbc_shortest_vectors(truth.lattice, mine, here, return_d2=True)
        near = csr_matrix(squared <= (TOLERANCE + slack) ** 2)
        if (maximum_bipartite_matching(near, perm_type="column") < 0).any():
            return False
    return True


def rows_of_sites(text: str) -> int | None:
    """Rows of a plain loop of sites, counted word by word; None where the text is not that plain."""
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    tags = [k for k, word in enumerate(words) if word.lower().startswith("_atom_site_")]
    if not tags or any(mark in text for mark in "';\"") or tags != list(range(tags[0], tags[-1] + 1)):
        return None
    values = 0
    for word in words[tags[-1] + 1 :]:
        if word.lower().startswith(("_", "loop_", "data_")):
            break
        values += 1
    rows, rest = divmod(values, len(tags))
    return None if rest else rows
