"""Tables and plot of `benchmarks/verify_speed.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from published_protocol import Published
from rich.console import Console
from rich.table import Table
from timed_answers import KINDS, SIZES, TimedAnswer

from rewards import Verdict

MODES = ("strict_anew", "strict_prepared", "both_anew", "both_prepared")


@dataclass(frozen=True)
class Times:
    """Seconds of one verification, by profile, with the target's text and with a prepared target."""

    strict_anew: float
    strict_prepared: float
    both_anew: float
    both_prepared: float


@dataclass(frozen=True)
class Row:
    """One answer, what the protocol says of it (None: beyond the limit), our times and our verdict."""

    answer: TimedAnswer
    plain: Published | None
    times: Times
    verdict: Verdict

    @property
    def plain_seconds(self) -> float:
        return float("inf") if self.plain is None else self.plain.seconds

    @property
    def differs(self) -> bool:
        return self.plain is not None and self.plain.stage != str(self.verdict.verdict_paper)

    @property
    def figure_error(self) -> float:
        """|Δmax_dist| of an answer that both accept."""
        if self.plain is None or self.plain.max_dist is None or self.verdict.max_dist is None:
            return 0.0
        return abs(self.plain.max_dist - self.verdict.max_dist)


def print_report(rows: Sequence[Row], where: str, *, markdown: bool) -> bool:
    """Print the tables; whether all verdicts agree."""
    timed = [row for row in rows if row.plain is not None]
    groups: list[tuple[str, str, list[Row]]] = [("all", "all", timed)]
    sizes = [f"{fewest}-{most}" for fewest, most, _ in SIZES]
    groups += [(size, "all", [row for row in timed if row.answer.size == size]) for size in sizes]
    groups += [("all", kind, [row for row in timed if row.answer.kind == kind]) for kind in KINDS]
    groups += [
        (size, kind, [row for row in timed if (row.answer.size, row.answer.kind) == (size, kind)])
        for size in sizes
        for kind in KINDS
    ]
    head: Sequence[str] = ("sites", "answers", "number", "plain s", "strict anew", "prepared", "both anew", "prepared")
    _table(f"Times faster than the published protocol. {where}", head, map(_ratios, filter(_third, groups)), markdown)
    head = ("sites", "answers", "plain p50 / p99 / worst", "strict", "both")
    title = "Milliseconds per answer, target prepared: p50 / p99 / worst"
    _table(title, head, map(_quantiles, filter(_third, groups)), markdown)
    differing = [row for row in rows if row.differs]
    accepted = [row for row in timed if row.verdict.success_paper]
    worst = max((row.figure_error for row in accepted), default=0.0)
    print(
        f"\nPaper profile: {len(timed) - len(differing)} of {len(timed)} verdicts equal; {len(accepted)} accepted, "
        f"largest |Δmax_dist| {worst:.1e}; {len(rows) - len(timed)} not compared (the protocol took too long)."
    )
    for row in differing:
        print(f"  differs: {row.answer.task.task_id}, {row.answer.kind}, {row.answer.detail}")
    return not differing and worst <= 1e-3


def _third(group: tuple[str, str, list[Row]]) -> bool:
    return bool(group[2])


def _ratios(group: tuple[str, str, list[Row]]) -> tuple[str, ...]:
    size, kind, rows = group
    plain = sum(row.plain_seconds for row in rows)
    ours = (sum(getattr(row.times, mode) for row in rows) for mode in MODES)
    return size, kind, str(len(rows)), f"{plain:.2f}", *(f"{plain / seconds:.1f}" for seconds in ours)


def _quantiles(group: tuple[str, str, list[Row]]) -> tuple[str, ...]:
    size, kind, rows = group

    def three(seconds: Callable[[Row], float]) -> str:
        values = 1000 * np.array([seconds(row) for row in rows])
        return " / ".join(f"{value:.3g}" for value in (np.median(values), np.quantile(values, 0.99), values.max()))

    return (
        size,
        kind,
        three(lambda row: row.plain_seconds),
        three(lambda row: row.times.strict_prepared),
        three(lambda row: row.times.both_prepared),
    )


def _table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]], markdown: bool) -> None:
    if markdown:
        print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for line in lines:
            print(f"| {' | '.join(line)} |")
        return
    table = Table(*head, title=title, title_justify="left")
    for line in lines:
        table.add_row(*line)
    Console().print(table)


def write_json(rows: Sequence[Row], where: str, path: Path) -> None:
    """Every answer with its times and verdicts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "task_id": row.answer.task.task_id,
            "sites": row.answer.sites,
            "kind": row.answer.kind,
            "detail": row.answer.detail,
            "plain": None if row.plain is None else asdict(row.plain),
            "verdict_paper": str(row.verdict.verdict_paper),
            "max_dist": row.verdict.max_dist,
            **asdict(row.times),
        }
        for row in rows
    ]
    path.write_text(json.dumps({"where": where, "answers": records}, indent=1) + "\n", encoding="utf-8")


def plot(rows: Sequence[Row], where: str, path: Path) -> None:
    """Seconds of the protocol and of this verifier against the number of sites, by kind of answer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True, constrained_layout=True)
    timed = [row for row in rows if row.plain is not None]
    for axis, profile, title in ((axes[0], "both_prepared", "both profiles"), (axes[1], "strict_prepared", "strict")):
        for kind, colour in zip(KINDS, ("tab:blue", "tab:orange", "tab:green", "tab:red"), strict=True):
            mine = [row for row in timed if row.answer.kind == kind]
            sites = [row.answer.sites for row in mine]
            axis.plot(sites, [row.plain_seconds for row in mine], "o", mfc="none", mec=colour, ms=4, alpha=0.7)
            axis.plot(sites, [getattr(row.times, profile) for row in mine], ".", color=colour, ms=5, label=kind)
        axis.set(xscale="log", yscale="log", xlabel="sites of the target", title=f"{title} (dots), protocol (circles)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds per answer")
    axes[1].legend(title="answer")
    figure.suptitle(where, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
