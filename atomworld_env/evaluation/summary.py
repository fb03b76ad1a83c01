"""Success per edit, profile and kind of cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from scipy.stats import binomtest

from atomworld_env.evaluation.asked import AskedTask, asked_tasks
from atomworld_env.evaluation.intervals import Rate
from atomworld_env.evaluation.records import Record
from atomworld_env.evaluation.statistics import success
from atomworld_env.families.registry import EDITS

if TYPE_CHECKING:
    from atomworld_env.tasks.task import Task

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
        paper: success under the paper profile, over the tasks it was computed for.
        reward: mean reward of the answers.
        undecided: answers whose verification ended without a verdict; they count as not right.
        unanswered: attempts without an answer; they count as not right.
    """

    action: str
    strict: Rate
    strict_orthogonal: Rate
    strict_oblique: Rate
    paper: Rate
    reward: float
    undecided: int
    unanswered: int

    def to_json(self) -> dict[str, Any]:
        values = dict(vars(self))
        for key in ("strict", "strict_orthogonal", "strict_oblique", "paper"):
            values[key] = getattr(self, key).to_json()
        return values


def summarise(
    records: Sequence[Record], config: Mapping[str, Any] | None = None, tasks: Sequence[Task] | None = None
) -> list[SummaryRow]:
    """A row for each edit in order of appearance, and one for all.

    Args:
        config, tasks: as for :func:`~atomworld_env.evaluation.asked.asked_tasks`; without them nothing is known of
            attempts that were never answered.
    """
    asked = asked_tasks(records, config or {}, tasks)
    actions = [action for action in dict.fromkeys(task.action for task in asked) if action is not None]
    rows = [_row(action, [task for task in asked if task.action == action]) for action in actions]
    return [*rows, _row("all", asked)]


def _row(action: str, tasks: Sequence[AskedTask]) -> SummaryRow:
    records = [record for task in tasks for record in task.records]
    return SummaryRow(
        action=action,
        strict=success(tasks, "strict"),
        strict_orthogonal=success([task for task in tasks if task.orthogonal], "strict"),
        strict_oblique=success([task for task in tasks if task.orthogonal is False], "strict"),
        paper=success([task for task in tasks if task.with_paper], "paper"),
        reward=sum(record["reward"] for record in records) / len(records) if records else 0.0,
        undecided=sum(
            record["verdict_strict"] in UNDECIDED or record["verdict_paper"] in UNDECIDED for record in records
        ),
        unanswered=sum(task.unanswered for task in tasks),
    )


def summary_table(title: str, rows: Sequence[SummaryRow]) -> Table:
    """One run as a table for the terminal; cells and the paper profile only where there are any."""
    with_cells = any(row.strict_orthogonal.of or row.strict_oblique.of for row in rows)
    with_paper = any(row.paper.of for row in rows)
    headings = [
        "n",
        "strict",
        *(["orth.", "oblique"] if with_cells else []),
        *(["paper"] if with_paper else []),
        "reward",
    ]
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column(_kind([row.action for row in rows]), no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row.action == "all":
            table.add_section()
        cells = [str(row.strict_orthogonal), str(row.strict_oblique)] if with_cells else []
        if with_paper:
            cells.append(str(row.paper) if row.paper.of in (0, row.strict.of) else f"{row.paper} of {row.paper.of}")
        table.add_row(row.action, str(row.strict.of), str(row.strict), *cells, f"{row.reward:.3f}")
    undecided, unanswered = rows[-1].undecided, rows[-1].unanswered
    table.caption = "n attempts. Right under the strict profile" + (
        ": all, on orthogonal cells (orth.), on oblique cells" if with_cells else ""
    )
    table.caption += f"{'; right under the paper profile' if with_paper else ''}; mean reward."
    if undecided:
        table.caption += f" {undecided} answers ended without a verdict (timeout or lost worker)."
    if unanswered:
        table.caption += f" {unanswered} attempts have no answer; they count as not right."
    return table


def _kind(actions: Sequence[str]) -> str:
    """What the rows are: edits, or kinds of task of another family."""
    return "edit" if set(actions) <= {*EDITS, "all"} else "kind of task"


MOST_COLUMNS = 12
"""Kinds of task next to each other; with more, each has a row."""


def comparison_tables(runs: Mapping[str, Sequence[SummaryRow]], *, columns: int | None = None) -> list[Table]:
    """Several runs side by side: strict, strict on oblique cells, and paper.

    Args:
        columns: None for a row per run and a column per edit (110 characters); otherwise a row per edit and at most so
            many runs next to each other, for a narrow terminal.
    """
    shares: dict[str, Callable[[SummaryRow], Rate]] = {
        "Right under the strict profile, %": lambda row: row.strict,
        "Right under the strict profile on oblique cells, %": lambda row: row.strict_oblique,
        "Right under the paper profile, % (of the answers it was computed for)": lambda row: row.paper,
    }
    actions = list(dict.fromkeys(row.action for rows in runs.values() for row in rows))
    # "all" stands last, also where the runs have different edits.
    actions = [action for action in actions if action != "all"] + ["all"]
    if columns is None and len(actions) > MOST_COLUMNS:
        columns = MOST_COLUMNS // 2
    tables = []
    for title, share in shares.items():
        if not any(share(row).of for rows in runs.values() for row in rows):
            continue
        cells = {name: {row.action: _percent(share(row)) for row in rows} for name, rows in runs.items()}
        if columns is None:
            lines = [[name, *(of_action.get(action, "–") for action in actions)] for name, of_action in cells.items()]
            tables.append(_table(title, "policy", [action.replace("_", "\n") for action in actions], lines))
            continue
        names = list(cells)
        for chunk in (names[k : k + columns] for k in range(0, len(names), columns)):
            lines = [[action, *(cells[name].get(action, "–") for name in chunk)] for action in actions]
            tables.append(_table(title, _kind(actions), [name.replace("_", "\n") for name in chunk], lines))
    return tables


def _table(title: str, first: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(*line)
    return table


def _percent(share: Rate) -> str:
    return "–" if share.rate is None else f"{100 * share.rate:.1f}"
