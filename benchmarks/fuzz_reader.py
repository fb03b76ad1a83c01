"""Hold the fast reader against pymatgen on mutated CIF texts: whatever it takes, pymatgen must read the same.

    python benchmarks/fuzz_reader.py --texts 300000 --seed 0

Texts are crystals of the embedded pool in the two styles of the prompts, as pymatgen writes them with and without
symmetry, and in a loose style that draws from everything CIF allows and models get wrong; then up to four edits
of bytes, tokens, lines and splices. Where the fast reader takes a text, the reference must give the same sites to
the last bit under the strict profile, and under the paper profile the same lattice, species, labels and order,
with coordinates equal within 1e-12. Exit status: 0 no text is read differently, 1 otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from odd_cifs import mutate, sources, symmetric_texts, text_of

from rewards import Arrangement
from rewards.cif_reading import Unreadable, read_cif
from rewards.plain_cif import PlainReading, read_plain


def difference(text: str, plain: PlainReading) -> str | None:
    """How the reference reads a text otherwise than the fast reader did; None if it reads the same."""
    reference = read_cif(text, engine="reference")
    strict, paper = reference.strict, reference.paper
    if not isinstance(strict, Arrangement):
        return f"strict: {strict.stage}: {strict.message}"
    if isinstance(paper, Unreadable):
        return f"paper: {paper.stage}: {paper.message}"
    if strict.cell != plain.strict.cell:
        return f"the cell is {strict.cell}, not {plain.strict.cell}"
    if _sites(strict) != _sites(plain.strict):
        return "strict: other sites"
    mine = plain.paper
    if not np.array_equal(mine.lattice.matrix, paper.lattice.matrix):
        return "paper: another lattice"
    if [site.species for site in mine] != [site.species for site in paper]:
        return "paper: other species, or another order"
    if [site.label for site in mine] != [site.label for site in paper]:
        return "paper: other labels"
    if not np.allclose(mine.frac_coords, paper.frac_coords, rtol=0, atol=1e-12):
        return "paper: other coordinates"
    if mine != paper or mine.site_properties != paper.site_properties or mine.charge != paper.charge:
        return "paper: not equal"
    return None


def _sites(arrangement: Arrangement) -> list[tuple[object, ...]]:
    return sorted(
        (symbol, *place) for symbol, place in zip(arrangement.species, arrangement.frac.tolist(), strict=True)
    )


def fuzz(texts: int, seed: int, report: Callable[[str, str], None]) -> Counter[str]:
    """Try this many mutated texts; every one that is read differently is reported with the difference.

    Returns:
        Counts: ``taken``, of which ``taken though mutated``, ``handed over`` and ``different``.
    """
    rng = Random(seed)
    crystals = sources()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = symmetric_texts(crystals[::3])
    counts: Counter[str] = Counter()
    for _ in range(texts):
        original = text_of(rng, crystals, written)
        text = mutate(rng, original, text_of(rng, crystals, written))
        plain = read_plain(text)
        if plain is None:
            counts["handed over"] += 1
            continue
        counts["taken"] += 1
        counts["taken though mutated"] += text != original
        problem = difference(text, plain)
        if problem is not None:
            counts["different"] += 1
            report(problem, text)
    return counts


def main(
    texts: Annotated[int, typer.Option(min=1, help="How many mutated texts.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the random texts.")] = 0,
    keep: Annotated[Path | None, typer.Option(help="Folder for the texts that are read differently.")] = None,
) -> None:
    """Hold the fast reader against pymatgen."""
    started = perf_counter()
    found = 0

    def report(problem: str, text: str) -> None:
        nonlocal found
        found += 1
        typer.echo(f"different: {problem}", err=True)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{seed}-{found}.cif").write_bytes(text.encode("utf-8", "surrogatepass"))

    counts = fuzz(texts, seed, report)
    typer.echo(
        f"{texts:,} texts: {counts['taken']:,} taken ({counts['taken though mutated']:,} of them mutated), "
        f"{counts['handed over']:,} handed over, {counts['different']:,} read differently "
        f"({perf_counter() - started:.0f} s)"
    )
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    typer.run(main)
