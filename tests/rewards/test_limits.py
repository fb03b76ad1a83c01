"""The bounds that can be told from the text alone."""

from __future__ import annotations

import pytest

from rewards import limits


@pytest.mark.parametrize("before", [0, 1, 7, 399, 400, 401, 402, 1000, 1203])
@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u00a0", " \n"])
def test_a_run_of_blank_space_anywhere(before: int, blank: str) -> None:
    longest = (blank * limits.MAX_BLANK_RUN)[: limits.MAX_BLANK_RUN]
    for after in ("", "x", "x" * 500):
        limits.check_text("x" * before + longest + after)
        limits.check_text("x" * before + longest + "x" + longest + after)
        with pytest.raises(limits.BoundExceededError, match="blank space"):
            limits.check_text("x" * before + longest + blank[0] + after)


def test_quotes_count_by_the_line() -> None:
    limits.check_text(("'a'" * 20 + "\n") * 8_000)
    with pytest.raises(limits.BoundExceededError, match="quote"):
        limits.check_text("'a'" * 8_000)


def test_length() -> None:
    limits.check_text("x" * limits.MAX_CHARACTERS)
    with pytest.raises(limits.BoundExceededError, match="characters"):
        limits.check_text("x" * (limits.MAX_CHARACTERS + 1))
