"""Colours, symbols and words that every figure, table and page of a report shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunStyle:
    """How one run looks in every figure.

    Attributes:
        colour: of its marks and lines.
        symbol: of its marks, by plotly's names, so that no run is told by colour alone.
        marker: the same symbol by matplotlib's names.
        glyph: the same symbol as a character, for tables.
    """

    colour: str
    symbol: str
    marker: str
    glyph: str


RUN_STYLES = (
    RunStyle("#0072B2", "circle", "o", "●"),
    RunStyle("#D55E00", "square", "s", "■"),
    RunStyle("#009E73", "diamond", "D", "◆"),
    RunStyle("#CC79A7", "triangle-up", "^", "▲"),
    RunStyle("#E69F00", "triangle-down", "v", "▼"),
    RunStyle("#56B4E9", "pentagon", "p", "⬟"),
    RunStyle("#8C6BB1", "star", "*", "★"),
    RunStyle("#7F7F7F", "hexagon", "h", "⬢"),
)
"""Colours after Okabe and Ito (jfly.uni-koeln.de/color), which stay apart for colour-blind readers, and two more."""

FLOOR_COLOUR = "#8A6D00"
"""Of the noop floor: it belongs to no run."""

PUBLISHED_COLOUR = "#8C929B"
"""Of published models: they are the background."""

UNANSWERED = "unanswered"
"""Beside the verdicts: an attempt that has no answer."""

VERDICT_WORDS = {
    "correct": "right",
    "property_mismatch": "property not moved as asked",
    "property_failed": "property without a value",
    "unchanged": "the input again",
    "structure_mismatch": "wrong structure",
    "composition_mismatch": "wrong composition",
    "cif_invalid": "invalid CIF",
    "no_cif": "no CIF",
    "timeout": "not judged in time",
    "worker_lost": "verifier lost",
    UNANSWERED: "unanswered",
}
"""Words for the verdicts, in the order in which they are stacked: how far an answer came, then what was not judged."""

VERDICT_COLOURS = {
    "correct": "#0072B2",
    "property_mismatch": "#009E73",
    "property_failed": "#7CC8A8",
    "unchanged": "#B9DDC9",
    "structure_mismatch": "#56B4E9",
    "composition_mismatch": "#F0C44C",
    "cif_invalid": "#E08214",
    "no_cif": "#B35806",
    "timeout": "#7B6BA8",
    "worker_lost": "#B4A7D6",
    UNANSWERED: "#B8BDC4",
}
"""From blue to brown as an answer falls short earlier; violet and grey for what says nothing about the answer."""


def run_style(number: int) -> RunStyle:
    """The style of the run with this number; they repeat after eight."""
    return RUN_STYLES[number % len(RUN_STYLES)]
