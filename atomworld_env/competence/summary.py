"""The figures of runs of chemical competence as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from atomworld_env.competence.effect import Effect
from atomworld_env.competence.published import CAVEAT, PUBLISHED_D
from atomworld_env.competence.stored import CompetenceResult

if TYPE_CHECKING:
    from rich.table import Table

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "rank": "rank, all tokens",
        "log_likelihood": "log-prob., all tokens",
        "changed_rank": "rank, changed",
        "changed_log_likelihood": "log-prob., changed",
    }
)
"""Each measure in words."""


def competence_table(results: Sequence[CompetenceResult], *, published: bool = False) -> Table:
    """A row for each run and measure; with `published` also the published models."""
    from rich.table import Table

    table = Table(
        "model", "suite (pairs)", "mean over", "d [95 %]", "true preferred", "shuffled",
        title="Chemical competence: Cohen's d between true texts and twins", title_justify="left",
        caption=caption(results, published=published), caption_justify="left",
    )  # fmt: skip
    for result in results:
        for name, effect in result.effects.items():
            first = name == "rank"
            labels = (result.policy, f"{result.suite} ({result.pairs})") if first else ("", "")
            table.add_row(*labels, WORDS[name], interval_text(effect), _share(effect), _chance(effect))
        table.add_section()
    if published:
        for model, d in PUBLISHED_D.items():
            table.add_row(model, "published (600)", WORDS["rank"], f"{d:.3f}", "–", "–")
    return table


def caption(results: Sequence[CompetenceResult], *, published: bool = False) -> str:
    """What must be known to read the table."""
    lines = ["d > 0: true texts are preferred. Shuffled: 95 % of the d that chance gives."]
    for result in results:
        if result.too_long:
            lines.append(f"{result.policy}: {result.too_long} pairs left out, longer than the model's context.")
        if not result.finished:
            lines.append(
                f"{result.policy}: only {result.pairs} of {result.wanted} pairs are scored; go on with --resume."
            )
    if published:
        lines.append(f"{CAVEAT}.")
    return "\n".join(lines)


def interval_text(effect: Effect) -> str:
    """d and its interval, ``0.771 [0.65, 0.89]``."""
    if effect.d is None:
        return "–"
    return f"{effect.d:.3f}" + ("" if effect.interval is None else " [{:.2f}, {:.2f}]".format(*effect.interval))


def _share(effect: Effect) -> str:
    if effect.preferred.interval is None:
        return "–"
    low, high = effect.preferred.interval
    return f"{effect.preferred} [{100 * low:.0f}, {100 * high:.0f}]"


def _chance(effect: Effect) -> str:
    return "–" if effect.shuffled_interval is None else "[{:.2f}, {:.2f}]".format(*effect.shuffled_interval)
