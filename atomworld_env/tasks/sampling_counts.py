"""What became of the draws while tasks were made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from atomworld_env.actions import ACTIONS


@dataclass
class SamplingCounts:
    """What became of the draws.

    Attributes:
        accepted: tasks made, by action.
        rejected: draws refused, by (action, reason).
        unsuitable: structures that gave no task, by (action, reason).
    """

    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[tuple[str, str]] = field(default_factory=Counter)
    unsuitable: Counter[tuple[str, str]] = field(default_factory=Counter)

    def to_json(self) -> dict[str, dict[str, object]]:
        """By action: accepted, rejected by reason, unsuitable by reason."""
        return {
            action: {
                "accepted": self.accepted[action],
                "rejected": {reason: n for (of, reason), n in self.rejected.most_common() if of == action},
                "unsuitable": {reason: n for (of, reason), n in self.unsuitable.most_common() if of == action},
            }
            for action in ACTIONS
            if self.accepted[action] or any(of == action for of, _ in (*self.rejected, *self.unsuitable))
        }
