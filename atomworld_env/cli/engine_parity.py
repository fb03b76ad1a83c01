"""Where the two engines of verification differ on stored answers: what `atomworld score --check-parity` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rewards import Verdict

_FIGURES = {"strict": ("max_displacement",), "paper": ("rmsd", "max_dist")}


@dataclass(frozen=True)
class ComparedAnswer:
    """One answer under both engines.

    Attributes:
        answer_id: as in the answers file.
    """

    answer_id: Any
    reference: Verdict
    fast: Verdict

    def stages(self, profile: str) -> tuple[str, str]:
        """Of the two engines, the reference first."""
        name = f"verdict_{profile}"
        return str(getattr(self.reference, name)), str(getattr(self.fast, name))

    def is_undecided(self, profile: str) -> bool:
        """Whether an engine ended before its verdict, so that there is nothing to compare."""
        from rewards import Stage

        return bool({Stage.TIMEOUT, Stage.WORKER_LOST} & set(self.stages(profile)))

    def differs(self, profile: str) -> bool:
        """Whether the verdicts differ, or one engine has a figure that the other lacks."""
        if self.is_undecided(profile):
            return False
        first, second = self.stages(profile)
        figures = _FIGURES[profile]
        return first != second or any(
            (getattr(self.reference, name) is None) != (getattr(self.fast, name) is None) for name in figures
        )

    def difference(self, name: str) -> float | None:
        """|Δ| of a figure that both engines have."""
        first, second = getattr(self.reference, name), getattr(self.fast, name)
        return None if first is None or second is None else abs(first - second)


@dataclass(frozen=True)
class Parity:
    """All answers under both engines.

    Attributes:
        profiles: ``strict``, ``paper`` or both.
    """

    answers: Sequence[ComparedAnswer]
    profiles: Sequence[str]

    @property
    def differing(self) -> list[ComparedAnswer]:
        """The answers that differ under any of the profiles, in the order of the file."""
        return [answer for answer in self.answers if any(answer.differs(profile) for profile in self.profiles)]

    def largest(self, name: str) -> float | None:
        """The largest |Δ| of a figure; None if no answer has it under both engines."""
        return max((d for answer in self.answers if (d := answer.difference(name)) is not None), default=None)

    def seconds(self, engine: str) -> float:
        """Time that the verifications took in the worker processes, reading included."""
        return float(sum(getattr(answer, engine).seconds for answer in self.answers))

    def table(self) -> Table:
        """A row for each profile; 80 columns wide."""
        table = Table("profile", "answers", "differ", "undecided", "Δdisplacement", "Δrmsd", "Δmax_dist")
        for column in table.columns[1:]:
            column.justify = "right"
        for profile in self.profiles:
            largest = [
                _figure(self.largest(name)) if name in _FIGURES[profile] else ""
                for name in ("max_displacement", "rmsd", "max_dist")
            ]
            table.add_row(
                profile,
                f"{len(self.answers):,}",
                f"{sum(answer.differs(profile) for answer in self.answers):,}",
                f"{sum(answer.is_undecided(profile) for answer in self.answers):,}",
                *largest,
            )
        return table

    def lines(self) -> list[str]:
        """The times, and one line for each answer that differs."""
        reference, fast = self.seconds("reference"), self.seconds("fast")
        ratio = f", {reference / fast:.1f} times less" if fast > 0 else ""
        lines = [
            "Δ: the largest; of the largest displacement in Å, of rmsd and max_dist in units of (V/N)^(1/3)",
            f"verification took {reference:.2f} s with the engine reference, {fast:.2f} s with fast{ratio}",
        ]
        for answer in self.differing:
            for profile in self.profiles:
                if answer.differs(profile):
                    first, second = answer.stages(profile)
                    figures = ", ".join(
                        f"{name} {getattr(answer.reference, name)} / {getattr(answer.fast, name)}"
                        for name in _FIGURES[profile]
                    )
                    lines.append(f"{answer.answer_id}: {profile} {first} (reference) / {second} (fast); {figures}")
        return lines


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"
