"""Success per edit, profile and kind of cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from scipy.stats import binomtest

from atomworld_env.evaluation.run import Record

UNDECIDED = ("timeout", "worker_lost")


@dataclass(frozen=True)
class Share:
    """A success rate: how many of how many, with the 95 % Wilson interval."""

    right: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the rate (Wilson 1927)."""
        if not self.of:
            return None
        low, high = binomtest(self.right, self.of).proportion_ci(0.95, method="wilson")
        return float(low), float(high)

    def __str__(self) -> str:
        return "–" if self.rate is None else f"{100 * self.rate:.1f} %"

    def to_json(self) -> dict[str, Any]:
        return {"right": self.right, "of": self.of, "rate": self.rate, "interval": self.interval}


@dataclass(frozen=True)
class SummaryRow:
    """One edit (or all) of one run.

    Attributes:
        action: name of the edit, or "all".
        strict: success under the strict profile; `strict_orthogonal` and `strict_oblique` split it by cell.
        paper: success under the paper profile, over the answers it was computed for.
        reward: mean reward.
        undecided: answers whose verification ended without a verdict; they count as not right.
    """

    action: str
    strict: Share
    strict_orthogonal: Share
    strict_oblique: Share
    paper: Share
    reward: float
    undecided: int

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        for key in ("strict", "strict_orthogonal", "strict_oblique", "paper"):
            values[key] = getattr(self, key).to_json()
        return values


def summarise(records: Sequence[Record]) -> list[SummaryRow]:
    """A row for each edit in order of appearance, and one for all."""
    actions = list(dict.fromkeys(record["action"] for record in records))
    rows = [_row(action, [record for record in records if record["action"] == action]) for action in actions]
    return [*rows, _row("all", records)]


def _row(action: str, records: Sequence[Record]) -> SummaryRow:
    with_paper = [record for record in records if record["success_paper"] is not None]
    return SummaryRow(
        action=action,
        strict=_share(record["success"] for record in records),
        strict_orthogonal=_share(record["success"] for record in records if record["orthogonal"]),
        strict_oblique=_share(record["success"] for record in records if not record["orthogonal"]),
        paper=_share(record["success_paper"] for record in with_paper),
        reward=sum(record["reward"] for record in records) / len(records) if records else 0.0,
        undecided=sum(
            record["verdict_strict"] in UNDECIDED or record["verdict_paper"] in UNDECIDED for record in records
        ),
    )


def _share(successes: Iterable[bool]) -> Share:
    outcomes = list(successes)
    return Share(sum(outcomes), len(outcomes))


def summary_table(title: str, rows: Sequence[SummaryRow]) -> Table:
    """The rows as a table for the terminal."""
    table = Table(title=title, title_justify="left", caption=CAPTION, caption_justify="left")
    table.add_column("edit")
    for heading in ("strict", "orthogonal", "oblique", "paper", "mean reward", "undecided"):
        table.add_column(heading, justify="right")
    for row in rows:
        if row.action == "all":
            table.add_section()
        table.add_row(
            row.action,
            _counted(row.strict),
            str(row.strict_orthogonal),
            str(row.strict_oblique),
            _counted(row.paper),
            f"{row.reward:.3f}",
            str(row.undecided) if row.undecided else "–",
        )
    return table


CAPTION = (
    "Right answers under the strict profile (all, orthogonal cells, oblique cells) and under the paper profile; "
    "in brackets the number of answers judged."
)


def _counted(share: Share) -> str:
    return f"{share} ({share.of})"
