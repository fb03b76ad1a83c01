"""One answer against one target: the whole way from text to verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import cbrt
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from rewards.arrangement import Arrangement
from rewards.cif_reading import ENGINES, CifReading, Unreadable, one_line, read_cif
from rewards.extraction import Extraction, extract_cif
from rewards.paper import PaperComparison, compare_paper
from rewards.plain_cif import PlainReading
from rewards.stages import Stage
from rewards.strict import DEFAULT_TOLERANCE, StrictComparison, compare_strict
from rewards.verdict import Baseline, Verdict

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

Profile = Literal["strict", "paper", "both"]
PROFILES: tuple[str, ...] = get_args(Profile)


class TargetError(ValueError):
    """A ground truth or an input structure that cannot be read: the caller's error, never the answer's."""


@dataclass(frozen=True, eq=False)
class PreparedTarget:
    """A target (or an input structure) read once for many answers; it can be pickled.

    Attributes:
        cif: the text it was read from.
    """

    cif: str
    _reading: CifReading | PlainReading

    @cached_property
    def arrangement(self) -> Arrangement:
        """What the strict profile compares.

        Raises:
            TargetError: if the text breaks a rule of the strict profile.
        """
        return cast(Arrangement, _readable(self._reading.strict))

    @cached_property
    def structure(self) -> Structure:
        """What the paper profile compares: a pymatgen structure.

        Raises:
            TargetError: if pymatgen cannot read the text.
        """
        return cast("Structure", _readable(self._reading.paper))

    @cached_property
    def length_scale(self) -> float:
        """(V/N)^(1/3) in Å, the unit of the paper profile's distances."""
        if isinstance(self._reading.strict, Unreadable):
            return cbrt(self.structure.volume / len(self.structure))
        return cbrt(self.arrangement.volume / len(self.arrangement))


def prepare_target(cif_text: str, *, engine: str = "fast") -> PreparedTarget:
    """Read a ground truth once, to verify many answers against it.

    A text that only the paper profile can take (published data with partial occupancies, say) is accepted
    here and refused when the strict profile asks for it.

    Args:
        cif_text: plain CIF text, without tags.
        engine: as for :func:`verify`.

    Raises:
        TargetError: in one line, if the text cannot be read at all.
        ValueError: if the engine is unknown.
    """
    _check_engine(engine)
    if not isinstance(cif_text, str):
        raise TargetError(f"a target is CIF text, not {type(cif_text).__name__}")
    reading = read_cif(cif_text, engine=engine)
    if isinstance(reading, CifReading):  # what a PlainReading holds is readable, and built when it is needed
        _readable(reading.paper)
    return PreparedTarget(cif_text, reading)


def verify(
    answer: object,
    target: str | PreparedTarget,
    *,
    structure: str | PreparedTarget | None = None,
    profile: str = "strict",
    strict_tags: bool = False,
    tolerance: float = DEFAULT_TOLERANCE,
    engine: str = "fast",
) -> Verdict:
    """Verify an answer; total: whatever the answer is, there is a verdict, no exception and no output.

    Args:
        answer: what the model wrote. Anything but a str is a ``no_cif``.
        target: the ground truth, as CIF text or prepared.
        structure: the input that the answer was to edit; with it the verdict carries the baseline that the
            scheme ``shaped`` needs, unless only the paper profile is asked.
        profile: ``strict``, ``paper`` or ``both``.
        strict_tags: extract by the published rule: nothing but a ``<cif>…</cif>`` pair counts.
        tolerance: of the strict profile, in Å.
        engine: ``fast``, which reads ordinary texts without pymatgen, or ``reference``, which reads all texts
            with it. The verdicts are the same.

    Raises:
        ValueError: if profile or engine is unknown, or the tolerance is not a positive number.
        TargetError: if target or structure cannot be read.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
    _check_engine(engine)
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"the tolerance is a positive number of Å, not {tolerance}")
    started = perf_counter()
    truth = target if isinstance(target, PreparedTarget) else prepare_target(target, engine=engine)
    baseline = None
    if profile != "paper":
        truth.arrangement  # noqa: B018 (raises: a bad target is the caller's error, whatever the answer)
        if structure is not None:
            baseline = baseline_of(structure, truth, tolerance=tolerance, engine=engine)
    found = extract_cif(answer, strict_tags=strict_tags)
    return Verdict(
        **_judge(found, truth, profile, tolerance, engine),
        extraction=found.rule,
        tags_ok=found.tags_ok,
        length_scale=truth.length_scale,
        baseline=baseline,
        seconds=perf_counter() - started,
    )


def baseline_of(
    structure: str | PreparedTarget,
    target: str | PreparedTarget,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    engine: str = "fast",
) -> Baseline:
    """How the unchanged input scores against the target under the strict profile.

    Raises:
        TargetError: if one of the two cannot be read.
    """
    before = structure if isinstance(structure, PreparedTarget) else prepare_target(structure, engine=engine)
    truth = target if isinstance(target, PreparedTarget) else prepare_target(target, engine=engine)
    return Baseline.of(compare_strict(before.arrangement, truth.arrangement, tolerance=tolerance))


def _judge(found: Extraction, truth: PreparedTarget, profile: str, tolerance: float, engine: str) -> dict[str, Any]:
    if found.cif is None:
        return _both(profile, Unreadable(Stage.NO_CIF, found.message))
    reading = read_cif(found.cif, engine=engine, strict_only=profile == "strict")
    if profile == "paper":
        return _both(profile, None, _paper(reading, truth, engine))
    strict = _strict(reading, truth, tolerance)
    if profile == "strict":
        return _both(profile, strict)
    return _both(profile, strict, _paper(reading, truth, engine))


def _strict(
    reading: CifReading | PlainReading, truth: PreparedTarget, tolerance: float
) -> StrictComparison | Unreadable:
    if isinstance(reading.strict, Unreadable):
        return reading.strict
    try:
        return compare_strict(reading.strict, truth.arrangement, tolerance=tolerance)
    except Exception as error:  # not known to happen; a verdict is due even so
        return Unreadable(Stage.CIF_INVALID, f"the answer cannot be compared: {one_line(error)}")


def _paper(reading: CifReading | PlainReading, truth: PreparedTarget, engine: str) -> PaperComparison | Unreadable:
    try:
        structure = reading.paper
    except Exception as error:  # not known to happen; a verdict is due even so
        return Unreadable(Stage.CIF_INVALID, f"the structure cannot be built: {one_line(error)}")
    if isinstance(structure, Unreadable):
        return structure
    return compare_paper(structure, truth.structure, engine=engine)


def _both(
    profile: str,
    strict: StrictComparison | Unreadable | None,
    paper: PaperComparison | Unreadable | None = None,
) -> dict[str, Any]:
    """The fields of a verdict of what each profile found; no CIF is no CIF under every profile asked."""
    if isinstance(strict, Unreadable) and paper is None and profile == "both":
        paper = strict
    if profile == "paper" and strict is not None:
        strict, paper = None, cast(Unreadable, strict)
    leading = strict if strict is not None else paper
    assert leading is not None
    fields: dict[str, Any] = {
        "stage": leading.stage,
        "message": leading.message,
        "parsable": not isinstance(leading, Unreadable),
    }
    if strict is not None:
        fields.update(verdict_strict=strict.stage, success_strict=strict.stage is Stage.CORRECT)
    if isinstance(strict, StrictComparison):
        fields.update(
            max_displacement=strict.max_displacement,
            sum_displacement=strict.sum_displacement,
            composition_difference=strict.composition_difference,
            composition_matches=strict.composition_matches,
            cell_matches=strict.cell_matches,
        )
    if paper is not None:
        fields.update(verdict_paper=paper.stage, success_paper=paper.stage is Stage.CORRECT)
    if isinstance(paper, PaperComparison):
        fields.update(rmsd=paper.rmsd, max_dist=paper.max_dist)
    return fields


def _check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")


def _readable(reading: Arrangement | Structure | Unreadable) -> object:
    if isinstance(reading, Unreadable):
        raise TargetError(f"the target or input structure cannot be used: {reading.message}")
    return reading
