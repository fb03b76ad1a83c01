"""An edit as text for a terminal: a diff of sites, what the answer did, and the verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atomworld_env.envs.site_diff import ChangeKind, Position, SiteChange, SiteDiff, diff_sites
from atomworld_env.structures.crystal import Crystal
from rewards.strict import DEFAULT_TOLERANCE

MAX_ROWS = 40
"""Rows of all diffs together; what is left out is counted."""

_COLOURS = {"+": "32", "-": "31", "~": "36", "!": "33", "head": "1", "good": "1;32", "bad": "1;31"}

_STAGES = {
    "no_cif": "no CIF",
    "cif_invalid": "invalid CIF",
    "composition_mismatch": "wrong composition",
    "structure_mismatch": "wrong structure",
    "correct": "right",
    "unchanged": "the input again",
    "property_failed": "property without a value",
    "property_mismatch": "property not moved as asked",
    "timeout": "not judged in time",
    "worker_lost": "not judged, the verifier was lost",
}

Row = tuple[str, str]
"""The sign in front of a row, and the row."""


def render_text(
    before: Crystal,
    target: Crystal,
    answer: Crystal | None,
    *,
    instruction: str,
    verdict: Any = None,
    reward: float | None = None,
    colour: bool = True,
) -> str:
    """The edit, what the answer did and what is wrong with it, as lines of text.

    Args:
        before, target: the input structure and the ground truth.
        answer: the structure of the answer; None before the step, or if it could not be read.
        instruction: the task in words.
        verdict: of the answer (:class:`rewards.Verdict`); None before the step.
        reward: of the answer; None to leave it out.
        colour: mark additions, removals and moves with ANSI colours; without it the text has no escape codes.

    Returns:
        At most about 60 lines, without a newline at the end. Equal input gives equal text.
    """
    paint = _paint if colour else _plain
    edit = diff_sites(before, target, by_index=True)
    sections = [("Target edit", _summary(edit, before, target), _edit_rows(edit, before, target))]
    if answer is not None:
        wrong = diff_sites(target, answer)
        if wrong.empty:
            sections.append(("Answer", f"does this, every site within {DEFAULT_TOLERANCE:g} Å", []))
        else:
            done = diff_sites(before, answer, by_index=True)
            sections.append(("Answer", _summary(done, before, answer), _edit_rows(done, before, answer)))
            sections.append(("Against the target", _fault(wrong), _wrong_rows(wrong, target, answer)))
    lines = [paint("head", _one_line(instruction))]
    shown = _shares([len(rows) for _, _, rows in sections], MAX_ROWS)
    for (name, summary, rows), limit in zip(sections, shown, strict=True):
        lines += ["", f"{paint('head', name)}: {summary}"]
        lines += [paint(sign, f"  {sign} {text}") for sign, text in rows[:limit]]
        if len(rows) > limit:
            lines.append(f"    … and {len(rows) - limit} more")
    if answer is None and verdict is None:
        lines += ["", f"{paint('head', 'Answer')}: not given yet"]
    if verdict is not None:
        lines += ["", _verdict_line(verdict, reward, paint)]
    return "\n".join(lines)


def _summary(diff: SiteDiff, first: Crystal, second: Crystal) -> str:
    """One line: how many sites did what."""
    if diff.factors is not None:
        a, b, c = diff.factors
        return f"the cell is repeated {a} × {b} × {c}, {len(first)} → {len(second)} sites"
    if not diff.same_cell:
        return f"the cell differs, {len(first)} → {len(second)} sites; sites are counted, not paired"
    if not diff.paired:
        return f"{len(first)} → {len(second)} sites, too many to pair; they are counted"
    numbers = [
        f"{sum(change.kind is kind for change in diff.changes)} {kind}"
        for kind in ChangeKind
        if any(change.kind is kind for change in diff.changes)
    ]
    if not numbers:
        return f"nothing changes, all {diff.unchanged} sites stay as they are"
    return f"{', '.join(numbers)}; {diff.unchanged} of {len(first)} sites unchanged"


def _fault(wrong: SiteDiff) -> str:
    if not wrong.same_cell:
        return "the cell is not the target's"
    if not wrong.paired:
        return "too many sites to pair; they are counted"
    return f"{len(wrong.changes)} wrong, {wrong.unchanged} sites right"


def _edit_rows(diff: SiteDiff, first: Crystal, second: Crystal) -> list[Row]:
    if not diff.paired:
        return _cell_rows(diff, first, second) + _count_rows(diff)
    return [row for change in diff.changes for row in _edit_row(change, diff)]


def _edit_row(change: SiteChange, diff: SiteDiff) -> list[Row]:
    old = f"{change.first!s:>3} {change.species:<2} {_place(change.position)}"
    new = f"{change.second!s:>3} {change.new_species:<2} {_place(change.new_position)}"
    match change.kind:
        case ChangeKind.REMOVED:
            return [("-", old)]
        case ChangeKind.ADDED:
            return [("+", new)]
        case ChangeKind.CHANGED:
            return [("-", old), ("+", new)]
        case ChangeKind.SWAPPED:
            partner = diff.sites[change.partner if change.partner is not None else 0]
            if partner.first is None or change.first is None or partner.first < change.first:
                return []  # told with the other one
            other = f"{partner.first} {partner.species} {_place(partner.position)}"
            return [("~", f"{old} and {other} swap places")]
        case _:
            return [("~", f"{old} moved {change.distance:.2f} Å to {_place(change.new_position)}")]


def _wrong_rows(wrong: SiteDiff, target: Crystal, answer: Crystal) -> list[Row]:
    """What is wrong with each site of the answer; the first crystal of the diff is the target."""
    if not wrong.paired:
        return _cell_rows(wrong, target, answer) + _count_rows(wrong)
    return [("!", _wrong_row(change)) for change in wrong.changes]


def _wrong_row(change: SiteChange) -> str:
    here = f"{change.second!s:>3} {change.new_species:<2} {_place(change.new_position)}"
    match change.kind:
        case ChangeKind.REMOVED:
            return f"  - {change.species:<2} {_place(change.position)} is missing"
        case ChangeKind.ADDED:
            return f"{here} should not be there"
        case ChangeKind.MOVED:
            return f"{here} is {change.distance:.2f} Å away from {_place(change.position)}"
        case _:
            return f"{here} should be {change.species}"


def _cell_rows(diff: SiteDiff, first: Crystal, second: Crystal) -> list[Row]:
    if diff.same_cell:
        return []
    names = ("a", "b", "c", "alpha", "beta", "gamma")
    units = (" Å", " Å", " Å", "°", "°", "°")
    return [
        ("~", f"{name} {old:.4f} → {new:.4f}{unit}")
        for name, unit, old, new in zip(names, units, first.cell, second.cell, strict=True)
        if abs(old - new) > 5e-5
    ]


def _count_rows(diff: SiteDiff) -> list[Row]:
    elements = dict.fromkeys([*diff.counts, *diff.new_counts])
    return [
        ("~", f"{element:<2} {diff.counts[element]} → {diff.new_counts[element]} sites")
        for element in elements
        if diff.counts[element] != diff.new_counts[element]
    ]


def _verdict_line(verdict: Any, reward: float | None, paint: Any) -> str:
    # Only the paper profile may have been asked; then the verdict's stage is that profile's.
    stage = str(verdict.verdict_strict or getattr(verdict, "stage", ""))
    words = paint("good" if stage == "correct" else "bad", _STAGES.get(stage, stage))
    message = _one_line(verdict.message or "").rstrip(".")
    earned = "" if reward is None else f" Reward {reward:.3f}."
    return f"{paint('head', 'Verdict')}: {words}" + (f", {message}." if message else ".") + earned


def _shares(wanted: Sequence[int], rows: int) -> list[int]:
    """Rows for each section: all it wants if that is little, else an equal share of what is left."""
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for done, index in enumerate(order):
        shares[index] = min(wanted[index], rows // (len(wanted) - done))
        rows -= shares[index]
    return shares


def _place(position: Position | None) -> str:
    return "" if position is None else "({:.4f}, {:.4f}, {:.4f})".format(*position)


def _one_line(text: str) -> str:
    """The text on one line, without characters that would steer a terminal."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def _paint(style: str, text: str) -> str:
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


def _plain(style: str, text: str) -> str:
    return text
