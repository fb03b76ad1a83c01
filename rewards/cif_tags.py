"""The tags that define a structure: the same in any case of letters to the CIF standard, though not to pymatgen."""

from __future__ import annotations

import re

from rewards.cif_symmetry import NAME_TAGS, OPERATOR_TAGS

_TAGS = frozenset(
    (
        *(f"_cell_length_{axis}" for axis in "abc"),
        *(f"_cell_angle_{angle}" for angle in ("alpha", "beta", "gamma")),
        *(f"_atom_site_fract_{axis}" for axis in "xyz"),
        *(f"_atom_site_{name}" for name in ("label", "type_symbol", "occupancy", "attached_hydrogens")),
        *OPERATOR_TAGS,
        *NAME_TAGS,
    )
)
_USUAL = {tag.lower(): tag for tag in sorted(_TAGS, reverse=True)}  # of H-M and h-m the first
_WORD = re.compile(r"(?<!\S)_(?:cell|atom_site|symmetry|space_group)_\S+", re.IGNORECASE | re.ASCII)


def with_usual_tags(text: str) -> str:
    """The text with the tags that define a structure in the letters in which pymatgen looks for them."""
    return _WORD.sub(lambda word: word[0] if word[0] in _TAGS else _USUAL.get(word[0].lower(), word[0]), text)
