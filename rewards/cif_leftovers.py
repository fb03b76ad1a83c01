"""What pymatgen passes over in silence although it may be a row of atoms: words out of place, an open text field."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:\(\d+\))?", re.ASCII)


def left_out(text: str) -> str | None:
    """What the reader leaves out of a CIF that could be atoms; None if nothing.

    The words are told apart as ``CifBlock.from_str`` does it: a word that is neither tag nor value nor part of a
    loop is dropped there with a warning, as are all lines after a ``;`` that is never closed.
    """
    from pymatgen.io.cif import CifBlock

    fields = [line for line in text.splitlines() if line.startswith(";")]
    if len(fields) % 2 or any(line.startswith(";;") for line in fields):
        return "a text field is never closed"
    numbers = 0
    place = "outside"
    for word, *quoted in CifBlock._process_string(text):
        if word.startswith("data_") or place == "value":
            place = "outside"
        elif word.startswith("loop_"):
            place = "columns"
        elif word.startswith("_"):
            place = "columns" if place == "columns" else "value"
        elif place in ("columns", "rows"):
            place = "rows"
        else:
            numbers += _NUMBER.fullmatch(word or "".join(quoted)) is not None
            if numbers > 1:
                return "numbers stand outside of any loop, as those of an atom would"
    return None
