"""The texts of the suites: one description of each crystal, and the sentences in it that can be changed."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from atomworld_env.errors import UsageError

TEXTS_FILE = Path(__file__).parent / "data" / "texts.jsonl.gz"
TEXTS = 600
"""Crystals in the suite."""
MOST_CHARACTERS = 1800
"""Of a text: with one token for each character, as in the smallest models, it fits into 2,048 positions."""
FEWEST_SENTENCES = 4

_SITE = r"[A-Z][a-z]?\(\d+(?:,\d+)*\)"
_SITE_ELEMENT = re.compile(r"\b([A-Z][a-z]?)\(\d")
_END = re.compile(r"(?<=[.])\s+(?=[A-Z])")

OPENINGS: Mapping[str, Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "bonding": MappingProxyType(
            {
                "only site": re.compile(rf"{_SITE} is bonded "),
                "first site": re.compile(rf"In the first \w+ site, {_SITE} is bonded "),
                "second site": re.compile(rf"In the second \w+ site, {_SITE} is bonded "),
            }
        ),
        "lengths": MappingProxyType(
            {
                "one": re.compile(rf"The {_SITE}-{_SITE} bond length is "),
                "both": re.compile(rf"Both {_SITE}-{_SITE} bond lengths are "),
                "all": re.compile(rf"All {_SITE}-{_SITE} bond lengths are "),
                "shorter and longer": re.compile(r"There (?:is|are) \w+ shorter .* bond lengths?\.$"),
            }
        ),
    }
)
"""How a sentence that can be changed begins, by kind. Only sentences that begin alike stand in for one another."""


@dataclass(frozen=True)
class Description:
    """One crystal in words.

    Attributes:
        structure_id, family, split: of the pool.
        text: by Robocrystallographer, on one line.
    """

    structure_id: str
    family: str
    split: str
    text: str


@dataclass(frozen=True)
class Sentence:
    """A sentence inside a text.

    Attributes:
        start, end: places of its characters in the text.
        text: the sentence with its full stop.
        kind: key of :data:`OPENINGS`, or None where it is of no kind that is changed.
        opening: how it begins, a key in that kind.
    """

    start: int
    end: int
    text: str
    kind: str | None
    opening: str | None


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text; a full stop ends one where a capital letter follows after white space."""
    starts = [0, *(match.end() for match in _END.finditer(text))]
    ends = [*(match.start() for match in _END.finditer(text)), len(text)]
    return [
        Sentence(start, end, text[start:end], *_opening(text[start:end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def _opening(sentence: str) -> tuple[str | None, str | None]:
    for kind, openings in OPENINGS.items():
        for opening, pattern in openings.items():
            if pattern.match(sentence):
                return kind, opening
    return None, None


def elements_of_sites(text: str) -> frozenset[str]:
    """The elements whose sites a text names, as in ``Na(1)``."""
    return frozenset(_SITE_ELEMENT.findall(text))


def fault_of(text: str) -> str | None:
    """Why a text cannot be in a suite, or None."""
    if len(text) > MOST_CHARACTERS:
        return f"longer than {MOST_CHARACTERS} characters"
    found = sentences(text)
    if len(found) < FEWEST_SENTENCES:
        return f"fewer than {FEWEST_SENTENCES} sentences"
    if "  " in text or not text.isprintable():
        return "a slip of the describer"
    if not set(OPENINGS) <= {sentence.kind for sentence in found[1:]}:
        return "no sentence on bonding, or none on lengths"
    return None


@cache
def stored_descriptions() -> tuple[Description, ...]:
    """The shipped texts, in the order in which they were chosen.

    Raises:
        UsageError: if the file is not there or broken.
    """
    try:
        header, *rows = [json.loads(line) for line in gzip.decompress(TEXTS_FILE.read_bytes()).decode().splitlines()]
        if len(rows) != header["texts"]:
            raise ValueError(f"{len(rows)} of {header['texts']} texts")
        return tuple(Description(row["id"], row["family"], row["split"], row["text"]) for row in rows)
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise UsageError(
            f"{TEXTS_FILE} cannot be read ({error}); install the package anew, or make the file with "
            "`python -m atomworld_env.competence.build_texts`"
        ) from None
