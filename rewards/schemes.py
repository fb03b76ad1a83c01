"""Rewards: named pure functions of a verdict and the task's baseline, each in [0, 1].

What earns what:

| answer                                         | shaped               | strict | paper | distance        |
|------------------------------------------------|----------------------|--------|-------|-----------------|
| no CIF, unreadable, timeout, worker lost       | 0                    | 0      | 0     | 0               |
| readable, cell not the target's                | 0.05                 | 0      | †     | 0               |
| cell right, composition wrong, edit changes it | 0.05 + 0.20·c        | 0      | 0     | 0               |
| cell right, composition wrong, edit keeps it   | 0.05                 | 0      | 0     | 0               |
| cell, composition right, edit changes it       | 0.05 + 0.20 + 0.25·g | 0      | †     | 1/(1 + d/0.5 Å) |
| cell, composition right, edit keeps it         | 0.05 + 0.45·g        | 0      | †     | 1/(1 + d/0.5 Å) |
| right under strict                             | 1                    | 1      | †     | 1/(1 + d/0.5 Å) |
| copy of the input                              | 0.05                 | 0      | †     | see below       |
| property not moved as asked, or not known      | 0.05                 | 0      | –     | 0               |
| property moved as asked                        | 1                    | 1      | –     | 1               |

- c = max(0, 1 − Δ(answer, target)/Δ(input, target)), Δ the sum over elements of the difference in atom count.
- g = max(0, 1 − R(answer)/R₀), R the least sum of displacements over the sites, R₀ = R(input), or 2 Å where
  the edit changes the composition or R(input) does not exist.
- d = the largest displacement in Å (bottleneck pairing).
- † 1 if the paper profile says ``correct``, else 0. A copy of the input passes that test on a large share of
  moves and rotations; ``distance`` pays a copy for being near. Both are for comparison, not for training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rewards.stages import Stage
from rewards.verdict import Baseline, Verdict

Scheme = Callable[[Verdict, Baseline | None], dict[str, float]]

PARSE_CREDIT = 0.05
COMPOSITION_CREDIT = 0.20  # where the edit changes the composition
GEOMETRY_CREDIT = 0.25  # where the edit changes the composition
GEOMETRY_CREDIT_SAME_COMPOSITION = 0.45
REFERENCE_SUM = 2.0  # Å, stands for R(input) where the input has another composition
DISTANCE_SCALE = 0.5  # Å, the displacement that halves `distance`

_WITHOUT_PROGRESS = (Stage.UNCHANGED, Stage.PROPERTY_FAILED, Stage.PROPERTY_MISMATCH)


def reward(verdict: Verdict, scheme: str = "shaped", *, baseline: Baseline | None = None) -> float:
    """The reward of a verdict, in [0, 1]; the module docstring holds the table of what earns what.

    Args:
        scheme: a key of :data:`SCHEMES`.
        baseline: of the task; by default the one that verification derived when it was given ``structure``.

    Raises:
        ValueError: if the scheme is unknown, needs a baseline that is neither given nor in the verdict, or
            needs a profile that the verification was not asked for.
    """
    return min(1.0, sum(components(verdict, scheme, baseline).values()))


def components(verdict: Verdict, scheme: str = "shaped", baseline: Baseline | None = None) -> dict[str, float]:
    """The credits that add up to the reward, always under the keys parse, composition, geometry, success.

    ``success`` is what a right answer earns beyond the other three, so the four always sum to the reward.

    Raises:
        ValueError: as :func:`reward`.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"unknown reward scheme {scheme!r}; choose one of {', '.join(SCHEMES)}")
    return SCHEMES[scheme](verdict, baseline if baseline is not None else verdict.baseline)


def _credits(
    parse: float = 0.0, composition: float = 0.0, geometry: float = 0.0, success: float = 0.0
) -> dict[str, float]:
    return {"parse": parse, "composition": composition, "geometry": geometry, "success": success}


def _shaped(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    stage = _strict_stage(verdict, "shaped")
    if stage in (Stage.TIMEOUT, Stage.WORKER_LOST):  # a verdict of the pool, which may not know the baseline
        return _credits()
    if baseline is None:
        raise ValueError(
            "the scheme 'shaped' measures progress from the unchanged input: pass baseline=, "
            "or give verify(…, structure=input) the input structure"
        )
    if stage in _WITHOUT_PROGRESS:
        return _credits(PARSE_CREDIT)
    if stage not in (Stage.COMPOSITION_MISMATCH, Stage.STRUCTURE_MISMATCH, Stage.CORRECT):
        return _credits()
    changes_composition = baseline.composition_difference > 0
    most_composition = COMPOSITION_CREDIT if changes_composition else 0.0
    most_geometry = GEOMETRY_CREDIT if changes_composition else GEOMETRY_CREDIT_SAME_COMPOSITION
    if stage is Stage.CORRECT:
        rest = 1.0 - PARSE_CREDIT - most_composition - most_geometry
        return _credits(PARSE_CREDIT, most_composition, most_geometry, rest)
    if not verdict.cell_matches:  # also where there is no target to come near, as for a property
        return _credits(PARSE_CREDIT)
    return _credits(
        PARSE_CREDIT,
        most_composition * _composition_progress(verdict, baseline),
        most_geometry * _geometry_progress(verdict, baseline),
    )


def _composition_progress(verdict: Verdict, baseline: Baseline) -> float:
    """c of the module docstring; 0 where the edit keeps the composition."""
    if verdict.composition_difference is None or baseline.composition_difference <= 0:
        return 0.0
    return max(0.0, 1.0 - verdict.composition_difference / baseline.composition_difference)


def _geometry_progress(verdict: Verdict, baseline: Baseline) -> float:
    """g of the module docstring; 0 unless the composition is right."""
    if verdict.sum_displacement is None:
        return 0.0
    reference = baseline.sum_displacement
    if baseline.composition_difference > 0 or reference is None:
        reference = REFERENCE_SUM
    if reference <= 0.0:  # the input is already at the target: there is no way to go
        return 0.0
    return max(0.0, 1.0 - verdict.sum_displacement / reference)


def _strict(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    return _credits(success=float(_strict_stage(verdict, "strict") is Stage.CORRECT))


def _paper(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    if verdict.verdict_paper is None:
        raise ValueError("the scheme 'paper' needs the paper profile's verdict: verify(…, profile='both')")
    return _credits(success=float(verdict.verdict_paper is Stage.CORRECT))


def _distance(verdict: Verdict, baseline: Baseline | None) -> dict[str, float]:
    stage = _strict_stage(verdict, "distance")
    if verdict.max_displacement is None:  # a right answer has none where the task knows no distance
        return _credits(success=float(stage is Stage.CORRECT))
    return _credits(geometry=1.0 / (1.0 + verdict.max_displacement / DISTANCE_SCALE))


def _strict_stage(verdict: Verdict, scheme: str) -> Stage:
    if verdict.verdict_strict is None:
        raise ValueError(f"the scheme {scheme!r} needs the strict profile's verdict: verify(…, profile='strict')")
    return verdict.verdict_strict


SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {"shaped": _shaped, "strict": _strict, "paper": _paper, "distance": _distance}
)
