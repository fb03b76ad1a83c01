"""Published models in the form of a report's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomworld_env.evaluation.intervals import Rate
from atomworld_env.evaluation.published_results import published_results


@dataclass(frozen=True)
class PublishedModel:
    """The published success of one model under the paper profile.

    Attributes:
        name: of the model.
        rates: by edit.
    """

    name: str
    rates: dict[str, Rate]

    def mean(self, edits: Sequence[str]) -> Rate | None:
        """The mean of these edits, each with the same weight, without an interval; None if one was not published."""
        rates = [self.rates[name] for name in edits if name in self.rates]
        if not rates or len(rates) < len(edits):
            return None
        attempts = sum(rate.of for rate in rates)
        return Rate(sum(rate.right / rate.of for rate in rates) / len(rates) * attempts, attempts, attempts, None, None)


def published_models() -> list[PublishedModel]:
    """All published models, in the order of the published table."""
    by_model: dict[str, dict[str, Rate]] = {}
    for result in published_results():
        by_model.setdefault(result.model, {})[result.action] = result.rate
    return [PublishedModel(name, rates) for name, rates in by_model.items()]
