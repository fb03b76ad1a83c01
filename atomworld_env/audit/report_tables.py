"""Tables and paragraphs of the audit's report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap

from atomworld_env.audit.answers import AnswerKind, Group
from atomworld_env.audit.measure import Audit
from atomworld_env.audit.summary import NONE, pay

MOST_COLUMNS = 10

Lines = list[str]
Cell = Callable[[AnswerKind, str], str]


def of_groups(audit: Audit, *groups: Group) -> list[AnswerKind]:
    """The kinds of answers of these groups, in order."""
    return [kind for kind in audit.kinds if kind.group in groups]


def means(audit: Audit, scheme: str, *, bold_above: float = 1.0) -> Cell:
    """Cells with the mean reward, in bold above a number."""

    def cell(kind: AnswerKind, action: str) -> str:
        mean = audit.tally(kind.name, action, scheme).mean
        return f"**{pay(mean)}**" if mean is not None and mean > bold_above else pay(mean)

    return cell


def successes(audit: Audit, scheme: str) -> Cell:
    """Cells with how many answers were right."""

    def cell(kind: AnswerKind, action: str) -> str:
        tally = audit.tally(kind.name, action, scheme)
        return f"{tally.successes} of {tally.answers}" if tally.answers else NONE

    return cell


def by_action(audit: Audit, kinds: Sequence[AnswerKind], cell: Cell) -> Lines:
    """A table of the answers that were asked by the kinds of task; many kinds of task are rows."""
    asked = [kind for kind in kinds if any(cell(kind, action) != NONE for action in audit.actions)]
    if len(audit.actions) <= MOST_COLUMNS:
        rows = [[f"`{kind.name}`", *(cell(kind, action) for action in audit.actions)] for kind in asked]
        return table(["answer", *audit.actions], rows)
    rows = [[f"`{action}`", *(cell(kind, action) for kind in asked)] for action in audit.actions]
    return table(["kind of task", *(kind.name for kind in asked)], rows)


def paragraph(text: str) -> Lines:
    """The text in lines of at most 110 characters."""
    return wrap(text, 110, break_long_words=False, break_on_hyphens=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Lines:
    """A Markdown table and the blank line after it."""
    cells = [headings, ["---"] * len(headings), *rows]
    return [*(f"| {' | '.join(row)} |" for row in cells), ""]
