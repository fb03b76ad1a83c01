"""How much work one answer may cause: counted before it is done, so that no clock and no signal is needed.

The figures are generous for an honest answer (800 sites in the longest style are 50,000 characters and 800
rows) and keep the reading of any text below a second on the core where it was measured, and so below two or
three on a slow or shared one. Above a bound the verdict is ``timeout``, whose message names the bound.
"""

from __future__ import annotations

MAX_CHARACTERS = 500_000
MAX_BLANK_RUN = 400  # the reader looks for data_ behind blank space from every line start: n lines cost n²
MAX_QUOTE_WORK = 20_000_000  # quotes × length of the line, summed: an open quote is searched to the end
MAX_BLOCKS = 16
MAX_ROWS = 1_500  # 0.5 s in the reader, which compares every row with all before
MAX_OPERATORS = 192  # the most that a space group has in its conventional cell
MAX_LISTED = 1_000  # operators in the whole text, 0.1 ms each
MAX_OPERATOR_LENGTH = 64  # the operator pattern of the reader costs the third power of the length
MAX_NAMES = 40  # of space groups, each looked for in a file, 0.01 s
MAX_LOOKED_UP = 96  # operators looked up by name before another name: a group of 192 takes 0.4 s, of 96 0.1 s
MAX_IMAGE_WORK = 5_000_000  # steps of about 0.1 µs: 12 rows under 192 operators in general positions, 0.5 s
STEPS_PER_IMAGE = 310  # apart from those that its comparison with each row and each site takes
STEPS_PER_MAGNETIC_IMAGE = 3_000  # its moment is turned too; 1,000 rows take 0.6 s


class BoundExceededError(Exception):
    """The work that a text asks for is above a bound; the message names the bound."""


def check(count: int, bound: int, what: str) -> None:
    """Compare a count of things or of work with its bound.

    Raises:
        BoundExceededError: if the count is above it.
    """
    if count > bound:
        raise BoundExceededError(f"{count:,} {what} are more than the {bound:,} that are verified")


def check_text(text: str) -> None:
    """The bounds that can be told from the text alone; linear in its length.

    Raises:
        BoundExceededError: naming the bound.
    """
    check(len(text), MAX_CHARACTERS, "characters of CIF")
    if _has_long_blank_run(text):
        raise BoundExceededError(f"a run of blank space is longer than the {MAX_BLANK_RUN} characters verified")
    # The whole text as one line is a bound on the work, and for any honest answer far below the limit.
    if (text.count("'") + text.count('"')) * len(text) > MAX_QUOTE_WORK:
        work = sum((line.count("'") + line.count('"')) * len(line) for line in text.split("\n"))
        check(work, MAX_QUOTE_WORK, "steps of quote matching")


def _has_long_blank_run(text: str) -> bool:
    # A run above the bound covers one of these places, so that nearly all of the text need not be looked at.
    for place in range(MAX_BLANK_RUN, len(text), MAX_BLANK_RUN + 1):
        if text[place].isspace():
            before, after = text[place - MAX_BLANK_RUN : place], text[place : place + MAX_BLANK_RUN + 1]
            run = len(before) - len(before.rstrip()) + len(after) - len(after.lstrip())
            if run > MAX_BLANK_RUN:
                return True
    return False
