"""What verification says about one answer, and what it says about the unchanged input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rewards.stages import Stage

if TYPE_CHECKING:  # scipy comes with it, and a stored verdict needs none
    from rewards.strict import StrictComparison

__all__ = ["SCORE_FIELDS", "Baseline", "Stage", "Verdict"]

# The score line of `atomworld score`, in order; the caller puts the id in front.
SCORE_FIELDS = (
    "verdict_strict",
    "success_strict",
    "max_displacement",
    "verdict_paper",
    "success_paper",
    "rmsd",
    "max_dist",
    "seconds",
)


@dataclass(frozen=True)
class Baseline:
    """How the unchanged input scores under the strict profile: where `shaped` starts to measure progress.

    Attributes:
        stage: of the unchanged input as an answer.
        max_displacement, sum_displacement: in Å; None where composition or cell differ from the target's.
        composition_difference: sum over elements of the difference in atom count between input and target.
    """

    stage: Stage
    max_displacement: float | None
    sum_displacement: float | None
    composition_difference: int

    @classmethod
    def of(cls, comparison: StrictComparison) -> Baseline:
        """The baseline from the comparison of the input with the target."""
        return cls(
            comparison.stage,
            comparison.max_displacement,
            comparison.sum_displacement,
            comparison.composition_difference,
        )

    def to_json(self) -> dict[str, Any]:
        """A dict of plain values; null where a number does not exist."""
        return {
            "stage": str(self.stage),
            "max_displacement": self.max_displacement,
            "sum_displacement": self.sum_displacement,
            "composition_difference": self.composition_difference,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Baseline:
        """The baseline of a dict made by :meth:`to_json`.

        Raises:
            ValueError: if a field is missing or is no such value; the message names the fields.
        """
        try:
            largest, total = record["max_displacement"], record["sum_displacement"]
            return cls(
                Stage(record["stage"]),
                None if largest is None else float(largest),
                None if total is None else float(total),
                int(record["composition_difference"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "a baseline has stage, max_displacement, sum_displacement and composition_difference; "
                f"this one fails at {error}"
            ) from None


@dataclass(frozen=True)
class Verdict:
    """The outcome of one verification; None where a profile was not asked or a number does not exist.

    Attributes:
        stage: the strict profile's, or the paper profile's when only that was asked.
        message: one sentence saying why.
        extraction: the rule that found the CIF: ``tags``, ``fence``, ``bare`` or ``none``.
        tags_ok: the text has a ``<cif>…</cif>`` pair by the published rule.
        parsable: the answer was read as one ordered crystal (as the paper profile reads, if only that was
            asked).
        verdict_strict, verdict_paper: the stage under each profile.
        success_strict, success_paper: whether that stage is ``correct``.
        max_displacement: largest displacement in Å under the pairing that makes it smallest (strict).
        sum_displacement: smallest possible sum of displacements in Å (strict).
        composition_difference: sum over elements of the difference in atom count (strict).
        composition_matches, cell_matches: under strict, once the answer could be read.
        rmsd, max_dist: of the paper profile, dimensionless, in units of ``length_scale``.
        length_scale: (V/N)^(1/3) of the target in Å.
        baseline: of the unchanged input, if verification was given the input structure.
        seconds: wall time of the verification; not part of equality.
    """

    stage: Stage
    message: str
    extraction: str = "none"
    tags_ok: bool = False
    parsable: bool = False
    verdict_strict: Stage | None = None
    success_strict: bool | None = None
    max_displacement: float | None = None
    sum_displacement: float | None = None
    composition_difference: int | None = None
    composition_matches: bool | None = None
    cell_matches: bool | None = None
    verdict_paper: Stage | None = None
    success_paper: bool | None = None
    rmsd: float | None = None
    max_dist: float | None = None
    length_scale: float | None = None
    baseline: Baseline | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def max_dist_angstrom(self) -> float | None:
        """``max_dist`` in Å, for the target's volume per site."""
        if self.max_dist is None or self.length_scale is None:
            return None
        return self.max_dist * self.length_scale

    def score_line(self, answer_id: Any = None) -> dict[str, Any]:
        """The record that `atomworld score` writes for one answer: null where a profile was not asked."""
        values = (getattr(self, name) for name in SCORE_FIELDS)
        return {
            "id": answer_id,
            **{
                name: str(value) if isinstance(value, Stage) else value
                for name, value in zip(SCORE_FIELDS, values, strict=True)
            },
        }
