"""What a run took: tokens, seconds, dollars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from atomworld_env.evaluation.records import Record


@dataclass(frozen=True)
class Usage:
    """Tokens, latency and cost over the answers that state them; None where no answer does.

    Attributes:
        prompt_tokens, completion_tokens: sums.
        mean_prompt_tokens, mean_completion_tokens: of one answer.
        counted: answers that state both numbers of tokens.
        mean_latency, median_latency: s, of one answer.
        cost: USD of the counted answers, at the prices in the manifest (USD per million tokens); what failed
            attempts cost is not in it.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    mean_prompt_tokens: float | None
    mean_completion_tokens: float | None
    counted: int
    mean_latency: float | None
    median_latency: float | None
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def usage(records: Sequence[Record], settings: Mapping[str, Any]) -> Usage:
    """Sums and means over the answers.

    Args:
        settings: of the policy, from the manifest; `price_in` and `price_out` in USD per million tokens, if known.
    """
    counted = [
        record
        for record in records
        if record.get("prompt_tokens") is not None and record.get("completion_tokens") is not None
    ]
    shown = [record["prompt_tokens"] for record in records if record.get("prompt_tokens") is not None]
    written = [record["completion_tokens"] for record in records if record.get("completion_tokens") is not None]
    waited = [record["latency"] for record in records if record.get("latency") is not None]
    price_in, price_out = settings.get("price_in"), settings.get("price_out")
    cost = None
    if counted and price_in is not None and price_out is not None:
        paid = sum(record["prompt_tokens"] * price_in + record["completion_tokens"] * price_out for record in counted)
        cost = paid / 1e6
    return Usage(
        sum(shown) if shown else None,
        sum(written) if written else None,
        fmean(shown) if shown else None,
        fmean(written) if written else None,
        len(counted),
        fmean(waited) if waited else None,
        median(waited) if waited else None,
        cost,
    )
