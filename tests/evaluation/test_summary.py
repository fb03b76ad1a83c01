from __future__ import annotations

import pytest
from rich.console import Console

from atomworld_env.evaluation.intervals import Rate
from atomworld_env.evaluation.summary import Share, comparison_tables, summarise, summary_table


def record(action: str, success: bool, *, orthogonal: bool = True, paper: bool | None = None, **more: object) -> dict:
    return {
        "action": action,
        "success": success,
        "orthogonal": orthogonal,
        "success_paper": paper,
        "verdict_strict": "correct" if success else "structure_mismatch",
        "verdict_paper": None,
        "reward": 1.0 if success else 0.05,
    } | more


RECORDS = [
    record("move", True, paper=True),
    record("move", False, orthogonal=False, paper=True),
    record("move", False, orthogonal=False),
    record("swap", False, verdict_strict="timeout"),
]


def counts(rate: Rate) -> tuple[float, int]:
    return rate.right, rate.of


def test_shares_are_counted_per_edit_profile_and_cell() -> None:
    move, swap, everything = summarise(RECORDS)
    assert (move.action, counts(move.strict), counts(move.paper)) == ("move", (1, 3), (2, 2))
    assert (counts(move.strict_orthogonal), counts(move.strict_oblique)) == ((1, 1), (0, 2))
    assert (swap.paper.rate, swap.undecided) == (None, 1)
    assert (everything.action, counts(everything.strict), everything.undecided) == ("all", (1, 4), 1)
    assert everything.reward == pytest.approx((1.0 + 3 * 0.05) / 4)


def test_what_was_never_answered_is_in_the_denominator() -> None:
    *_, everything = summarise(RECORDS, {"tasks": 6, "samples": 1})
    assert (counts(everything.strict), everything.unanswered) == ((1, 6), 2)


def test_the_interval_is_wilsons() -> None:
    # Newcombe 1998 (doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E), table I: 81 of 263.
    low, high = Share(81, 263).interval
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert Share(0, 0).interval is None


def test_tables_show_every_edit_at_80_columns() -> None:
    console = Console(width=80, record=True)
    console.print(summary_table("noop", summarise(RECORDS)))
    text = console.export_text()
    assert "move" in text
    assert "33.3 %" in text
    assert "1 answers ended without a verdict" in " ".join(text.split())


def test_runs_with_different_edits_stand_in_one_table() -> None:
    console = Console(width=120, record=True)
    for table in comparison_tables({"one": summarise(RECORDS[:3]), "two": summarise(RECORDS[3:])}):
        console.print(table)
    text = console.export_text()
    assert "one" in text
    assert "–" in text


def test_on_a_narrow_terminal_no_number_is_cut() -> None:
    runs = {f"policy_number_{k}": summarise(RECORDS) for k in range(6)}
    console = Console(width=80, record=True)
    for table in comparison_tables(runs, columns=4):
        console.print(table)
    text = console.export_text()
    assert "…" not in text
    assert text.count("33.3") == 6
