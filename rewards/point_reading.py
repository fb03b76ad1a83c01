"""The list of points in what a language model wrote: found, and read within bounds.

Every rule works by plain searches from one end to the other, so that the time stays linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from rewards import limits
from rewards.extraction import Extraction, after_thinking, fenced_block, plain_spaces, published_rule, tagged

FloatArray = NDArray[np.float64]

MAX_CHARACTERS = 100_000
"""Of a list that is read; 17 points with all digits of their floating-point numbers take 1,300."""

MAX_DIGITS = 64
"""Characters of one number."""

FARTHEST = 1e6
"""No coordinate may be as large, whichever its sign."""

# A list whose items are lists without further lists. Possessive, so that nothing is tried twice; what one start has
# consumed holds no other start.
_LIST = re.compile(r"\[\s*+\[[^\[\]]*+\](?:\s*+,\s*+\[[^\[\]]*+\])*+\s*+\]")

_NESTED = re.compile(r"\s*+\[\s*+\[\s*+\[")

_NO_LIST = "the text holds no <answer>…</answer> pair and no list of points [[x, y, z], …]"


class UnreadablePoints(ValueError):
    """The text is no list of points; the message says why in one line."""


def extract_points(text: object, *, strict_tags: bool = False) -> Extraction:
    """The text of the list in an answer (as ``cif`` of the extraction); never raises, linear in the length.

    The rules, the first that applies wins:

    1. *tags*: the last ``<answer>…</answer>`` pair with a digit in it after the last ``</think>``, in any case of
       letters; if something else stands in it besides a list of lists, the last such list in it;
    2. *fence*: the last list of lists in the last fenced block that holds one;
    3. *bare*: the last list of lists in the text.

    What is thought is not answer, and fence lines inside the tags are dropped, as in
    :func:`rewards.extraction.extract_cif`.

    Args:
        strict_tags: take the last ``<answer>…</answer>`` pair in the whole text, in lower case, and nothing else.
    """
    if not issubclass(type(text), str):
        return Extraction(None, "none", False, f"the answer is no text but {type(text).__name__}")
    text = str.__str__(text)  # a subclass may have any methods
    published = published_rule(text, "answer")
    tags_ok = published is not None
    if strict_tags:
        if published is None:
            return Extraction(None, "none", False, "the text holds no <answer>…</answer> pair")
        return Extraction(published, "tags", True, "found between <answer> and </answer>")
    visible, hidden = after_thinking(plain_spaces(text))
    inside = tagged(visible, "answer")
    if inside is not None:
        if not inside:
            return Extraction(None, "none", tags_ok, "there is nothing between <answer> and </answer>")
        return Extraction(_list_alone(inside), "tags", tags_ok, "found between <answer> and </answer>")
    block = fenced_block(visible, _LIST)
    if block is not None:
        return Extraction(_last_list(block), "fence", tags_ok, "found in a fenced block")
    bare = _last_list(visible)
    if bare is not None:
        return Extraction(bare, "bare", tags_ok, "found as a bare list")
    return Extraction(None, "none", tags_ok, hidden or _NO_LIST)


def _list_alone(text: str) -> str:
    """The last list of lists without the words and markup around it; all of the text if it has none or is nested."""
    if _LIST.fullmatch(text.strip()) or _NESTED.match(text):
        return text
    return _last_list(text) or text


def _last_list(text: str) -> str | None:
    found = None
    for each in _LIST.finditer(text):
        found = each[0]
    return found


def read_points(text: str) -> FloatArray:
    """The points of a JSON list of [x, y, z].

    Returns:
        Shape (n, 3), n at least 1.

    Raises:
        UnreadablePoints: if it is anything else; NaN, infinities, booleans and texts are no coordinates.
        rewards.limits.BoundExceededError: if the text is longer than :data:`MAX_CHARACTERS`.
    """
    limits.check(len(text), MAX_CHARACTERS, "characters of a list")
    # Before the reader, which goes down by recursion; without texts, brackets are nested as they are counted.
    if '"' in text or "{" in text:
        raise UnreadablePoints("the answer holds a text or an object, which no list of points has")
    if _depth(text) > 2:
        raise UnreadablePoints("the list is nested deeper than [[x, y, z], …]")
    try:
        listed = json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_number)
    except UnreadablePoints:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadablePoints(f"no JSON: {getattr(error, 'msg', error)}") from None
    if not isinstance(listed, list) or not listed:
        raise UnreadablePoints("the answer is no list of points" if listed != [] else "the list holds no point")
    for number, point in enumerate(listed):
        if not isinstance(point, list) or len(point) != 3 or not all(type(value) is float for value in point):
            raise UnreadablePoints(f"point {number} of the list is not [x, y, z] with three numbers")
    return np.array(listed, dtype=np.float64)


def _number(written: str) -> float:
    if len(written) > MAX_DIGITS:
        raise UnreadablePoints(f"a number has more than {MAX_DIGITS} characters")
    value = float(written)
    if not isfinite(value) or abs(value) >= FARTHEST:
        raise UnreadablePoints(f"{written} is no coordinate: numbers are finite and smaller than {FARTHEST:,.0f}")
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[][]", text):
        depth += 1 if bracket == "[" else -1
        deepest = max(deepest, depth)
    return deepest
