"""The two bounds of the audit, and what breaks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomworld_env.audit.answers import Group
from atomworld_env.audit.measure import Audit, Tally
from rewards.schemes import COMPOSITION_CREDIT, PARSE_CREDIT

BOUNDED_SCHEMES = ("shaped", "strict")
IGNORANT_MARGIN = 0.01
SPOILED_MARGIN = 0.05
STANDARD_ERRORS = 2.0
"""A mean is over its bound when it is so by this many standard errors: ten answers of which one is nearly right prove
nothing. Over the 500 tasks per edit of docs/audit.md the plain means are below the bounds too."""


@dataclass(frozen=True)
class Breach:
    """One kind of answer that earns more than its bound on a kind of task.

    Attributes:
        kind, action, scheme: which answers.
        mean, standard_error: of the reward over the tasks of that kind.
        bound: the most the mean may be.
        successes: answers that succeeded; none may.
        answers: how many were verified.
    """

    kind: str
    action: str
    scheme: str
    mean: float
    standard_error: float
    bound: float
    successes: int
    answers: int

    def __str__(self) -> str:
        succeeded = f"; {self.successes} succeeded" if self.successes else ""
        return (
            f"{self.kind} on {self.action} earns {self.mean:.4f} ± {self.standard_error:.4f} "
            f"under {self.scheme}, the bound is {self.bound:.2f} ({self.answers} answers{succeeded})"
        )


def bound(group: Group, tally: Tally) -> float | None:
    """The most that answers of a group may earn in the mean on one edit; None for groups without a bound.

    Ignorant answers: the parse credit. Spoiled truths: the parse credit, and the composition credit where the
    edit changes the composition. Each with a small margin.
    """
    if group is Group.IGNORANT:
        return PARSE_CREDIT + IGNORANT_MARGIN
    if group is Group.SPOILED:
        changing = tally.changing / tally.answers if tally.answers else 0.0
        return PARSE_CREDIT + COMPOSITION_CREDIT * changing + SPOILED_MARGIN
    return None


def breaches(audit: Audit, schemes: Sequence[str] = BOUNDED_SCHEMES) -> list[Breach]:
    """Every kind and edit whose answers earn more than they may, or ever succeed."""
    found = []
    for scheme in schemes:
        for kind in audit.kinds:
            for action in audit.actions:
                tally = audit.tally(kind.name, action, scheme)
                most, mean = bound(kind.group, tally), tally.mean
                if most is None or mean is None:
                    continue
                # The sum of many 0.05 is off by a rounding error.
                if mean - STANDARD_ERRORS * tally.standard_error > most + 1e-9 or tally.successes:
                    found.append(
                        Breach(
                            kind.name,
                            action,
                            scheme,
                            mean,
                            tally.standard_error,
                            most,
                            tally.successes,
                            tally.answers,
                        )
                    )
    return found
