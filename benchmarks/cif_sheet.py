"""A CIF as this project writes it, taken apart so that single values, rows and columns can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

CELL_TAGS = tuple(
    f"_cell_{n}" for n in ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
)
FRACT = tuple(f"_atom_site_fract_{axis}" for axis in "xyz")
SYMBOL, LABEL, OCCUPANCY = "_atom_site_type_symbol", "_atom_site_label", "_atom_site_occupancy"


@dataclass(frozen=True)
class Sheet:
    """A CIF as this project writes it, taken apart.

    Attributes:
        head: lines before the loop of sites.
        columns: tags of that loop.
        rows: its values, one tuple a site.
    """

    head: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, text: str) -> Sheet:
        """The sheet of a text by ``write_cif``."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        first = next(k for k, line in enumerate(lines) if line.startswith("_atom_site_"))
        last = max(k for k, line in enumerate(lines) if line.startswith("_atom_site_"))
        return cls(
            tuple(lines[: first - 1]),
            tuple(lines[first : last + 1]),
            tuple(tuple(r.split()) for r in lines[last + 1 :]),
        )

    def text(self) -> str:
        """The CIF, as written but for the spaces."""
        return "\n".join([*self.head, "loop_", *self.columns, *(" ".join(row) for row in self.rows), ""])

    def mapped(self, tags: tuple[str, ...], change: Callable[[str], str], row: int | None = None) -> Sheet:
        """The values under these tags changed, in one row or in all."""
        places = {k for k, tag in enumerate(self.columns) if tag in tags}
        rows = tuple(
            tuple(change(word) if k in places and row in (None, n) else word for k, word in enumerate(words))
            for n, words in enumerate(self.rows)
        )
        return replace(self, rows=rows)

    def one(self, rng: Random, tags: tuple[str, ...], word: str) -> Sheet:
        """One value under one of these tags replaced."""
        return self.mapped((rng.choice(tags),), lambda _: word, rng.randrange(len(self.rows)))

    def with_occupancy(self) -> Sheet:
        """The sheet with a column of occupancies."""
        if OCCUPANCY in self.columns:
            return self
        return replace(self, columns=(*self.columns, OCCUPANCY), rows=tuple((*row, "1") for row in self.rows))

    def cell(self, change: Callable[[str, float], str], tags: tuple[str, ...] = CELL_TAGS) -> Sheet:
        """The cell parameters changed: tag and value to the new word."""
        lines = []
        for line in self.head:
            tag, _, value = line.partition(" ")
            lines.append(f"{tag} {change(tag, float(value))}" if tag in tags else line)
        return replace(self, head=tuple(lines))
