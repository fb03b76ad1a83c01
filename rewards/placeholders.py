"""Answers in which an agreed placeholder stands for a number that cannot be known.

A file may have lost a number for good. A right answer then writes ``?``, the CIF word for a value that is not known,
where the number stood; before the comparison the truth is put in at that very place and nowhere else. Anything but
the placeholder stays as it is, and is compared like any other number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gemmi

from rewards import limits
from rewards.extraction import extract_cif
from rewards.strict import DEFAULT_TOLERANCE
from rewards.verdict import Verdict
from rewards.verification import PreparedTarget, verify

PLACEHOLDER = "?"


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

    A place that is not there, or is there twice, is left alone, and so is a text that is no CIF by the standard.
    The text comes back unchanged, to the character, where nothing was filled in.
    """
    try:
        limits.check_text(cif)
        document = gemmi.cif.read_string(cif)
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
        row
        for block in document
        for row in block.find(["_atom_site_label", lost.tag])
        if gemmi.cif.as_string(row[0]) == lost.label
    ]
    if len(places) != 1 or places[0][1] != PLACEHOLDER:
        return False
    places[0][1] = lost.value
    return True
