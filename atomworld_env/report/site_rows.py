"""What an edit or an answer did to the sites, as rows and marks for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atomworld_env.envs.marks import Mark
from atomworld_env.envs.site_diff import ChangeKind, Position, SiteChange, SiteDiff
from atomworld_env.structures.crystal import Crystal

MOST_ROWS = 60
"""Rows of one table and marks of one picture; what is left out is counted."""

Row = list[str]
"""Kind of change, site, what happened."""


def edit_rows(diff: SiteDiff, first: Crystal, second: Crystal) -> dict[str, Any]:
    """What changed from the first crystal to the second: a summary and its rows."""
    if not diff.paired:
        return {"summary": _counted(diff, first, second), "rows": _counts(diff), "more": 0}
    kinds = [f"{sum(change.kind is kind for change in diff.changes)} {kind}" for kind in ChangeKind]
    happened = [words for words in kinds if not words.startswith("0 ") and not words.endswith("unchanged")]
    summary = ", ".join(happened) if happened else "nothing changed"
    rows = [_edit_row(change) for change in diff.changes]
    return {"summary": f"{summary}; {diff.unchanged} of {len(first)} sites as they were", **_limited(rows)}


def fault_rows(diff: SiteDiff, target: Crystal, answer: Crystal) -> dict[str, Any]:
    """What is wrong with an answer, site by site."""
    if not diff.paired:
        return {"summary": _counted(diff, target, answer), "rows": _counts(diff), "more": 0}
    if not diff.changes:
        return {"summary": "every site is where it belongs", "rows": [], "more": 0}
    rows = [_fault_row(change) for change in diff.changes]
    return {"summary": f"{len(rows)} wrong, {diff.unchanged} of {len(target)} sites right", **_limited(rows)}


def mark_row(mark: Mark) -> list[Any]:
    """A mark in plain values: kind, site, element, place and other end in Å, label."""
    return [
        str(mark.kind),
        mark.site,
        mark.species,
        [round(float(value), 3) for value in mark.point],
        None if mark.other is None else [round(float(value), 3) for value in mark.other],
        mark.label,
    ]


def mark_rows(marks: Sequence[Mark]) -> list[list[Any]]:
    """The first of the marks in plain values."""
    return [mark_row(mark) for mark in marks[:MOST_ROWS]]


def _limited(rows: list[Row]) -> dict[str, Any]:
    return {"rows": rows[:MOST_ROWS], "more": max(0, len(rows) - MOST_ROWS)}


def _edit_row(change: SiteChange) -> Row:
    old, new = f"{change.species}{change.first}", f"{change.new_species}{change.second}"
    match change.kind:
        case ChangeKind.REMOVED:
            return ["removed", old, f"from {_place(change.position)}"]
        case ChangeKind.ADDED:
            return ["added", new, f"at {_place(change.new_position)}"]
        case ChangeKind.CHANGED:
            return ["changed", old, f"is now {change.new_species}"]
        case ChangeKind.SWAPPED:
            return ["swapped", old, f"is now {change.new_species}, as site {change.partner} was"]
        case _:
            return ["moved", old, f"by {change.distance:.2f} Å to {_place(change.new_position)}"]


def _fault_row(change: SiteChange) -> Row:
    here = f"{change.new_species}{change.second}"
    match change.kind:
        case ChangeKind.REMOVED:
            return ["missing", change.species, f"at {_place(change.position)}"]
        case ChangeKind.ADDED:
            return ["wrong", here, "should not be there"]
        case ChangeKind.MOVED:
            return ["wrong", here, f"{change.distance:.2f} Å from where it belongs, {_place(change.position)}"]
        case _:
            return ["wrong", here, f"should be {change.species}"]


def _counted(diff: SiteDiff, first: Crystal, second: Crystal) -> str:
    sites = f"{len(first)} → {len(second)} sites"
    if diff.factors is not None:
        return f"the cell is repeated {' × '.join(map(str, diff.factors))}, {sites}"
    if not diff.same_cell:
        return f"the cell differs, {sites}"
    return f"{sites}, too many to pair"


def _counts(diff: SiteDiff) -> list[Row]:
    return [
        ["counted", element, f"{diff.counts[element]} → {diff.new_counts[element]} sites"]
        for element in dict.fromkeys([*diff.counts, *diff.new_counts])
        if diff.counts[element] != diff.new_counts[element]
    ]


def _place(position: Position | None) -> str:
    return "" if position is None else "({:.4f}, {:.4f}, {:.4f})".format(*position)
