"""A CIF as lines whose parts can be found and changed: what the faults are made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewards.placeholders import PLACEHOLDER, LostValue

SITE_PREFIX = "_atom_site_"


class NoPlaceError(Exception):
    """The text has no place for a fault; the message says what it lacks."""


@dataclass(frozen=True)
class CifText:
    """A CIF as this package writes it, or what earlier faults have left of it.

    Attributes:
        lines: without line ends; the text ends with a line end.
    """

    lines: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> CifText:
        return cls(tuple(text.removesuffix("\n").split("\n")))

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    def line_of(self, tag: str) -> int:
        """Number of the line that begins with a tag.

        Raises:
            NoPlaceError: unless there is exactly one.
        """
        found = [number for number, line in enumerate(self.lines) if line.split()[:1] == [tag]]
        if len(found) != 1:
            raise NoPlaceError(f"{tag} is not there once")
        return found[0]

    def value(self, tag: str) -> str:
        """The word behind a tag that stands outside a loop."""
        return self.lines[self.line_of(tag)].split()[1]

    @property
    def site_tags(self) -> tuple[str, ...]:
        """Tags of the atom-site loop without their prefix, in order."""
        return tuple(
            line.strip().removeprefix(SITE_PREFIX) for line in self.lines if line.strip().startswith(SITE_PREFIX)
        )

    @property
    def rows(self) -> range:
        """Numbers of the lines with the rows of the atom-site loop.

        Raises:
            NoPlaceError: if there is none.
        """
        tags = [number for number, line in enumerate(self.lines) if line.strip().startswith(SITE_PREFIX)]
        first = tags[-1] + 1 if tags else len(self.lines)
        last = first
        while last < len(self.lines) and not self.lines[last].strip().startswith(("loop_", "_")):
            last += 1
        if last == first:
            raise NoPlaceError("there are no rows of atoms")
        return range(first, last)

    def words(self, row: int) -> list[str]:
        """The words of a row of atoms."""
        return self.lines[row].split()

    def label(self, row: int) -> str:
        """The label in a row of atoms."""
        return self.words(row)[self.site_tags.index("label")]

    def with_line(self, number: int, line: str) -> CifText:
        return CifText((*self.lines[:number], line, *self.lines[number + 1 :]))

    def with_words(self, row: int, words: Sequence[str]) -> CifText:
        """A row of atoms with other words, set as the row was."""
        indent = self.lines[row][: len(self.lines[row]) - len(self.lines[row].lstrip())]
        return self.with_line(row, indent + ("  " if indent else " ").join(words))

    def without(self, *numbers: int) -> CifText:
        return CifText(tuple(line for number, line in enumerate(self.lines) if number not in numbers))

    def inserted(self, number: int, *lines: str) -> CifText:
        """The text with lines before the line of that number."""
        return CifText((*self.lines[:number], *lines, *self.lines[number:]))

    def loop_before(self, tag: str) -> int:
        """Number of the ``loop_`` line of the loop that a tag belongs to.

        Raises:
            NoPlaceError: if there is none above it.
        """
        for number in range(self.line_of(tag), -1, -1):
            if self.lines[number].strip() == "loop_":
                return number
        raise NoPlaceError(f"no loop_ above {tag}")

    def with_placeholders(self, lost: Sequence[LostValue]) -> CifText:
        """The text with a placeholder in each of the places.

        Raises:
            NoPlaceError: if a place is not there.
        """
        text = self
        for value in lost:
            if not value.label:
                number = text.line_of(value.tag)
                line = text.lines[number]
                text = text.with_line(number, line[: len(line) - len(line.split()[-1])] + PLACEHOLDER)
                continue
            column = text.site_tags.index(value.tag.removeprefix(SITE_PREFIX))
            for row in text.rows:
                if text.label(row) == value.label:
                    words = text.words(row)
                    words[column] = PLACEHOLDER
                    text = text.with_words(row, words)
                    break
            else:
                raise NoPlaceError(f"no row of {value.label}")
        return text
