"""Answers in which an agreed placeholder stands for a number that cannot be known.

A file may have lost a number for good. A right answer then writes ``?``, the CIF word for a value that is not known,
where the number stood; before the comparison the truth is put in at that very place and nowhere else. Anything but
the placeholder stays as it is, and is compared like any other number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gemmi

from rewards import limits
from rewards.extraction import extract_cif
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict
from rewards.verification import PreparedTarget, verify

PLACEHOLDER = "?"

_LABEL = "_atom_site_label"
_WORD = re.compile(r"'[^']*+'(?=\s|$)|\"[^\"]*+\"(?=\s|$)|\S+")


@dataclass(frozen=True)
class LostValue:
    """A number that an answer may leave open.

    Attributes:
        tag: of the CIF item.
        label: of the site in whose row the number stands; empty for an item outside a loop.
        value: the number, as the original prints it.
    """

    tag: str
    label: str
    value: str


def fill_placeholders(cif: str, lost: Sequence[LostValue]) -> str:
    """The CIF with each lost value put in where a placeholder stands for it; never raises.

    A place that is not there, or is there twice, is left alone. A text that is no CIF by the standard, though the
    reader that judges it may take it, is filled line by line. The text comes back unchanged, to the character, where
    nothing was filled in.
    """
    try:
        limits.check_text(cif)
        try:
            document = gemmi.cif.read_string(cif)
        except (ValueError, RuntimeError):
            lines = cif.split("\n")
            filled = sum(_fill_line(lines, value) for value in lost)
            return "\n".join(lines) if filled else cif
        filled = sum(_fill(document, value) for value in lost)
        return document.as_string() if filled else cif
    except Exception:  # whatever is wrong with the text, verification of the unchanged one says it
        return cif


def verify_with_placeholders(
    answer: object,
    target: str | PreparedTarget,
    lost: Sequence[LostValue],
    *,
    strict_tags: bool = False,
    tolerance: float = DEFAULT_TOLERANCE,
    engine: str = "fast",
) -> Verdict:
    """Verify an answer under the strict profile, its placeholders filled in first; total, as :func:`rewards.verify`.

    Raises:
        ValueError, TargetError: as :func:`rewards.verify`, for the caller's own mistakes.
    """
    found = extract_cif(answer, strict_tags=strict_tags)
    if found.cif is not None and lost and PLACEHOLDER in found.cif:
        filled = fill_placeholders(found.cif, lost)
        if filled != found.cif:
            verdict = verify(f"<cif>\n{filled}\n</cif>", target, tolerance=tolerance, engine=engine)
            return replace(verdict, extraction=found.rule, tags_ok=found.tags_ok)
    return verify(answer, target, strict_tags=strict_tags, tolerance=tolerance, engine=engine)


def _fill(document: gemmi.cif.Document, lost: LostValue) -> bool:
    """Put one value in; whether its place held a placeholder."""
    return (_fill_row if lost.label else _fill_item)(document, lost)


def _fill_item(document: gemmi.cif.Document, lost: LostValue) -> bool:
    found = [block for block in document if block.find_pair(lost.tag) is not None]
    if len(found) != 1 or found[0].find_value(lost.tag) != PLACEHOLDER:
        return False
    found[0].set_pair(lost.tag, lost.value)
    return True


def _fill_row(document: gemmi.cif.Document, lost: LostValue) -> bool:
    places: list[Any] = [  # rows, of which gemmi does not say that they can be indexed
        row for block in document for row in block.find([_LABEL, lost.tag]) if gemmi.cif.as_string(row[0]) == lost.label
    ]
    if len(places) != 1 or places[0][1] != PLACEHOLDER:
        return False
    places[0][1] = lost.value
    return True


def _fill_line(lines: list[str], lost: LostValue) -> bool:
    """The same in a text of one row or item a line; whether exactly one place was there and held a placeholder."""
    places = list(_rows(lines, lost) if lost.label else _items(lines, lost.tag))
    if len(places) != 1 or places[0][1][0] != PLACEHOLDER:
        return False
    number, (_, start, end) = places[0]
    lines[number] = lines[number][:start] + lost.value + lines[number][end:]
    return True


_Word = tuple[str, int, int]
"""A word with its ends in the line."""


def _words(line: str) -> list[_Word]:
    return [(found[0], *found.span()) for found in _WORD.finditer(line)]


def _items(lines: Sequence[str], tag: str) -> Iterator[tuple[int, _Word]]:
    for number, line in enumerate(lines):
        words = _words(line)
        if len(words) == 2 and words[0][0].lower() == tag.lower():
            yield number, words[1]


def _rows(lines: Sequence[str], lost: LostValue) -> Iterator[tuple[int, _Word]]:
    """The word under the tag in each row of atoms with the label."""
    tags: list[str] = []
    in_rows = True
    for number, line in enumerate(lines):
        words = _words(line)
        first = words[0][0].lower() if words else ""
        if first.startswith("_"):
            tags = [first] if in_rows else [*tags, first]
            in_rows = False
        elif first == "loop_":
            tags, in_rows = [], False
        elif words:
            in_rows = True
            known = len(words) == len(tags) and {lost.tag.lower(), _LABEL} <= set(tags)
            if known and words[tags.index(_LABEL)][0].strip("'\"") == lost.label:
                yield number, words[tags.index(lost.tag.lower())]
