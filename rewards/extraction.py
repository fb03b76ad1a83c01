"""Finding the CIF in what a language model wrote.

Every rule works by plain searches from one end to the other, so that the time stays linear in the length of
the text, whatever it holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Rule = Literal["tags", "fence", "bare", "none"]

# ASCII keeps "ı" or the Kelvin sign from counting as a letter of a tag.
_TAG = re.compile(r"<(/?)(cif|answer|think)>", re.IGNORECASE | re.ASCII)
_FENCE_LINE = re.compile(r"^[ \t]*```([^\n]*)$", re.MULTILINE)
_DIGIT = re.compile("[0-9]")
_DATA_LINE = re.compile(r"^[ \t]*data_", re.MULTILINE)

_SPACES = "\u00a0\u2007\u2009\u202f"  # no-break and thin ones
_NO_WIDTH = "\ufeff\u200b\u2060"

_NO_CIF = "the text holds no <cif>…</cif> pair, no fenced block with a CIF and no line that starts with data_"


@dataclass(frozen=True)
class Extraction:
    """The CIF found in a text.

    Attributes:
        cif: the CIF text, or None if there is none.
        rule: which rule found it: ``tags``, ``fence``, ``bare``, or ``none``.
        tags_ok: the published rule (a ``<cif>…</cif>`` pair in lower case anywhere in the text) finds
            something.
        message: one sentence saying what was found, or why nothing was.
    """

    cif: str | None
    rule: Rule
    tags_ok: bool
    message: str


def extract_cif(text: object, *, strict_tags: bool = False) -> Extraction:
    """The CIF of an answer; never raises, linear in the length of the text.

    The rules, the first that applies wins:

    1. *tags*: the last complete ``<cif>…</cif>`` after the last ``</think>``, in any case of letters, with a
       digit in it, else with anything in it ("I used the <cif>…</cif> tags" after an answer does not hide it);
    2. *fence*: the last fenced block with a line that starts with ``data_``; a last fence that is never
       closed reaches to the end of the text;
    3. *bare*: from the first line that starts with ``data_`` on. After a ``<cif>`` that is never closed only
       what follows it counts. A fence, a line that starts with ``<`` (a cut-off closing tag, a token of the
       chat template) and prose after the atom sites end it.

    What stands before the last ``</think>``, opened or not, is thought and not answer; a ``<think>`` that is
    never closed hides everything after it. Fence lines inside the tags are dropped. Spaces that do not break are
    read as spaces, and byte order marks and characters of no width are left out, as copied text has them.

    Args:
        text: the answer; anything but a str holds no CIF.
        strict_tags: the published rule instead: the last ``<cif>…</cif>`` pair in the whole text, in lower
            case, with nothing stripped and nothing else accepted.
    """
    if not issubclass(type(text), str):
        return Extraction(None, "none", False, f"the answer is no text but {type(text).__name__}")
    text = str.__str__(text)  # a subclass may have any methods
    published = published_rule(text)
    tags_ok = published is not None
    if strict_tags:
        if published is None:
            return Extraction(None, "none", False, "the text holds no <cif>…</cif> pair")
        return Extraction(published, "tags", True, "found between <cif> and </cif>")
    visible, hidden = after_thinking(plain_spaces(text))
    inside = tagged(visible)
    if inside is not None:
        if not inside:
            return Extraction(None, "none", tags_ok, "there is nothing between <cif> and </cif>")
        return Extraction(inside, "tags", tags_ok, "found between <cif> and </cif>")
    fenced = _fenced(visible)
    if fenced is not None:
        return Extraction(fenced, "fence", tags_ok, "found in a fenced block")
    bare = _bare(visible)
    if bare is not None:
        return Extraction(bare, "bare", tags_ok, "found as bare text from data_ on")
    return Extraction(None, "none", tags_ok, hidden or _NO_CIF)


def published_rule(text: str, tag: str = "cif") -> str | None:
    """The last match of ``<tag>(.*?)</tag>``, found without a regular expression's retries."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    found, position = None, 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        found, position = (start + len(opening), end), end + len(closing)
    return None if found is None else text[found[0] : found[1]]


def after_thinking(text: str) -> tuple[str, str]:
    """The text after the last </think> and before a <think> that stays open, and why the rest is hidden."""
    start, end = 0, len(text)
    for tag in _TAG.finditer(text):
        if tag[2].lower() != "think":
            continue
        if tag[1]:
            start, end = tag.end(), len(text)
        elif end == len(text):
            end = tag.start()
    hidden = "a <think> that is never closed hides the rest of the text" if end < len(text) else ""
    return text[start:end], hidden


def plain_spaces(text: str) -> str:
    """The text with spaces that do not break as spaces, and without characters of no width."""
    if not text.isascii():
        for space in _SPACES:
            text = text.replace(space, " ")
        for nothing in _NO_WIDTH:
            text = text.replace(nothing, "")
    return text


def tagged(text: str, name: str = "cif") -> str | None:
    """What stands in the last complete pair of tags that holds a digit, as every answer does, without fences.

    Where none holds a digit, the last that is not blank. Of nested openings the innermost counts. Empty if all pairs
    are blank, None if there is none.
    """
    found: str | None = None
    with_digit, opened = False, -1
    for tag in _TAG.finditer(text):
        if tag[2].lower() != name:
            continue
        if not tag[1]:
            opened = tag.end()
        elif opened >= 0:
            inside = without_fences(text[opened : tag.start()])
            opened = -1
            if not with_digit or _DIGIT.search(inside):
                found = inside if inside.strip() else found or ""
                with_digit = with_digit or _DIGIT.search(inside) is not None
    return found


def without_fences(text: str) -> str:
    """The text without its fence lines."""
    return _FENCE_LINE.sub("", text) if "```" in text else text


def _fenced(text: str) -> str | None:
    """The last fenced block that holds a line starting with data_."""
    found = fenced_block(text, _DATA_LINE)
    return None if found is None else _trimmed(found)


def fenced_block(text: str, holds: re.Pattern[str]) -> str | None:
    """The last fenced block in which the pattern is found; a last fence never closed reaches to the end of the text."""
    found: str | None = None
    opened = -1
    for fence in _FENCE_LINE.finditer(text):
        if opened >= 0:
            block = text[opened : fence.start()]
            if holds.search(block):
                found = block
        # Only an opening fence names a language; then a closing one before it has been forgotten.
        opened = fence.end() if opened < 0 or fence[1].strip() else -1
    if opened >= 0 and holds.search(text, opened):
        found = text[opened:]
    return found


def _bare(text: str) -> str | None:
    opened = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() == "cif" and not tag[1]:
            opened = tag.end()
    return _trimmed(text[opened:])


def _trimmed(text: str) -> str | None:
    """From the first line that starts with data_ to where the CIF ends."""
    start = _DATA_LINE.search(text)
    if start is None:
        return None
    kept: list[str] = []
    in_sites, after_blank = False, False
    for line in text[start.start() :].split("\n"):
        word = line.strip()
        if word.startswith(("<", "```")):
            break
        if in_sites and after_blank and word and _is_prose(word):
            break
        in_sites = in_sites or word.startswith("_atom_site_")
        after_blank = not word
        kept.append(line)
    cif = "\n".join(kept).rstrip()
    # A closing tag on the last row itself, whole or cut off after any letter.
    cut = cif.rfind("<", max(0, len(cif) - 6))
    return cif[:cut] if cut >= 0 and "</cif>".startswith(cif[cut:].lower()) else cif


def _is_prose(line: str) -> bool:
    """Whether a line after the atom sites is neither CIF syntax nor a row with three coordinates."""
    if line.startswith(("_", "loop_", "data_", "#", ";", "'", '"')):
        return False
    return sum(_is_number(token) for token in line.split()) < 3


def _is_number(token: str) -> bool:
    try:
        float(token.split("(", 1)[0])
    except ValueError:
        return False
    return True
