"""The sums of an audit in short: where each kind of answer earns most; for the terminal and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from atomworld_env.audit.answers import AnswerKind
from atomworld_env.audit.bounds import BOUNDED_SCHEMES, Breach, bound
from atomworld_env.audit.measure import Audit, Tally
from atomworld_env.families.registry import FAMILIES

NONE = "–"
HEADINGS = ("answer", "worst kind", "mean", "bound", "top", "answers", "right", "left out")


@dataclass(frozen=True)
class Setting:
    """How an audit was asked for."""

    per_action: int
    actions: tuple[str, ...]
    seed: int
    schemes: tuple[str, ...]
    paper_per_action: int
    workers: int
    family: str = "edits"

    @property
    def command(self) -> str:
        """The command line that makes the same tasks and answers."""
        parts = ["atomworld audit"]
        if self.family != "edits":
            parts.append(f"--family {self.family}")
        parts += [f"--per-action {self.per_action}", f"--seed {self.seed}"]
        if self.actions != FAMILIES[self.family].actions:
            parts.append(f"--actions {','.join(self.actions)}")
        parts.append(f"--schemes {','.join(self.schemes)}")
        if FAMILIES[self.family].has_paper:
            parts.append(f"--paper-per-action {self.paper_per_action}")
        return " ".join([*parts, f"--workers {self.workers}"])


@dataclass(frozen=True)
class Worst:
    """The edit on which a kind of answer comes nearest to its bound, or earns most if it has none.

    Attributes:
        action: the edit.
        mean: reward there.
        most: its bound there, or None.
    """

    action: str
    mean: float
    most: float | None


def worst(audit: Audit, kind: AnswerKind, scheme: str) -> Worst | None:
    """The worst edit of a kind; None if nothing was verified."""
    found = []
    for action in audit.actions:
        tally = audit.tally(kind.name, action, scheme)
        if tally.mean is not None:
            most = bound(kind.group, tally) if scheme in BOUNDED_SCHEMES else None
            found.append(Worst(action, tally.mean, most))
    return max(found, key=lambda each: each.mean - (each.most or 0.0), default=None)


def worst_rows(audit: Audit, kinds: Iterable[AnswerKind], scheme: str) -> list[list[str]]:
    """A row under :data:`HEADINGS` for each kind that was asked."""
    rows = []
    for kind in kinds:
        extreme = worst(audit, kind, scheme)
        of_kind = [audit.tally(kind.name, action, scheme) for action in audit.actions]
        answers, left_out = sum(tally.answers for tally in of_kind), sum(tally.left_out for tally in of_kind)
        if answers + left_out == 0:
            continue
        place = (NONE, NONE, NONE)
        if extreme is not None:
            most = NONE if extreme.most is None else f"{extreme.most:.2f}"
            place = (extreme.action, pay(extreme.mean), most)
        highest, right = max(tally.highest for tally in of_kind), sum(tally.successes for tally in of_kind)
        rows.append([kind.name, *place, pay(highest), f"{answers:,}", f"{right:,}", f"{left_out:,}"])
    return rows


def summary_tables(audit: Audit) -> list[Table]:
    """For each scheme, where each kind of answer comes nearest to its bound."""
    tables = []
    for scheme in audit.schemes:
        table = Table(title=f"Scheme {scheme}", title_justify="left", box=None, padding=(0, 1, 0, 0))
        for place, heading in enumerate(HEADINGS):
            table.add_column(heading, justify="left" if place < 2 else "right", no_wrap=True)
        for row in worst_rows(audit, audit.kinds, scheme):
            table.add_row(*row)
        tables.append(table)
    return tables


def as_json(audit: Audit, broken: Iterable[Breach], setting: Setting) -> dict[str, Any]:
    """All sums, for machines; a mean or a bound that does not exist is null."""
    return {
        "command": setting.command,
        "suite": audit.suite.fingerprint,
        "tasks": len(audit.suite.tasks),
        "pays": [
            _record(kind, action, scheme, audit.tally(kind.name, action, scheme))
            for scheme in audit.schemes
            for kind in audit.kinds
            for action in audit.actions
            if (kind.name, action, scheme) in audit.tallies
        ],
        "breaches": [asdict(breach) for breach in broken],
        "strict": {"answers": audit.strict_answers, "seconds": round(audit.strict_seconds, 1)},
        "paper": {"answers": audit.paper_answers, "seconds": round(audit.paper_seconds, 1)},
    }


def _record(kind: AnswerKind, action: str, scheme: str, tally: Tally) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "group": str(kind.group),
        "action": action,
        "scheme": scheme,
        "mean": tally.mean,
        "standard_error": tally.standard_error,
        "bound": bound(kind.group, tally) if scheme in BOUNDED_SCHEMES else None,
        "highest": tally.highest,
        "answers": tally.answers,
        "succeeded": tally.successes,
        "left_out": tally.left_out,
        "undecided": tally.undecided,
    }


def pay(mean: float | None) -> str:
    """A mean reward for a table."""
    return NONE if mean is None else f"{mean:.3f}"
