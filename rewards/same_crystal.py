"""Is an answer the crystal asked for, whatever cell, origin, setting or orientation it is written in?

Two descriptions are of one crystal if a rotation, a reflection or both, and a shift, take one to the other. For each
the primitive cell is found from its own translations. Every way to see the target's lattice in the answer's is tried:
whole-number combinations of the target's primitive vectors that are as long as the answer's. A way counts if it gives
the lattice constants: the answer's vectors that stand for the cell asked for have its lengths within 1 % and its
angles within 0.5°. Then the sites are laid over one another, in the target's lattice, so that a lattice constant that
is 0.5 % off moves no atom, and the largest displacement is what remains after the best shift.

An answer that names a space group and lists no operators is read in every setting that the name may mean
(:mod:`rewards.space_group_settings`) and is right if it is in one of them; else the nearest is its verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from rewards import limits
from rewards.arrangement import Arrangement
from rewards.cif_reading import Unreadable, one_line, read_cif
from rewards.crystal_alignment import closest, lattice_ways
from rewards.extraction import extract_cif
from rewards.plain_cif import read_plain
from rewards.space_group_settings import NamedSymmetry, named_symmetry, with_operators, without_symmetry
from rewards.stages import Stage
from rewards.translations import PrimitiveCrystal, cell_of, primitive_crystal
from rewards.verdict import Verdict
from rewards.verification import TargetError

SITE_TOLERANCE = 0.03  # Å: thirds of three decimals are good enough, a displacement of 0.1 Å is not

MAX_SITES = 200


@dataclass(frozen=True)
class CrystalComparison:
    """How a crystal differs from the one asked for.

    Attributes:
        stage: ``composition_mismatch``, ``structure_mismatch`` or ``correct``; ``timeout`` above a bound.
        cell_matches: the answer's lattice is the target's, or a sublattice of it, lattice constants included.
        max_displacement: largest displacement in Å after the best shift; None without a common lattice and composition.
        sum_displacement: least sum of the displacements in Å over the sites of the target's primitive cell.
        composition_difference: sum over elements of the difference of their shares, in per cent of all atoms, rounded
            up to 1 at least where there is any; 200 where no element is common.
        message: one sentence saying why.
    """

    stage: Stage
    cell_matches: bool
    max_displacement: float | None
    sum_displacement: float | None
    composition_difference: int
    message: str


@dataclass(frozen=True, eq=False)
class CrystalTarget:
    """The crystal asked for, prepared once for many answers: make it with :func:`prepare_crystal`."""

    given: Arrangement
    primitive: PrimitiveCrystal


def prepare_crystal(cif: str) -> CrystalTarget:
    """The target of a CIF text in the cell whose lattice constants are asked for.

    Raises:
        TargetError: if it cannot be read as one ordered crystal of at most :data:`MAX_SITES` sites.
    """
    crystal = read_cif(cif, strict_only=True).strict
    if isinstance(crystal, Unreadable):
        raise TargetError(f"the target cannot be used: {crystal.message}")
    if len(crystal) > MAX_SITES:
        raise TargetError(f"the target cannot be used: it has {len(crystal)} sites, {MAX_SITES} are the most")
    return CrystalTarget(crystal, primitive_crystal(crystal, SITE_TOLERANCE))


def verify_same_crystal(
    answer: object,
    target: str | CrystalTarget,
    *,
    strict_tags: bool = False,
    tolerance: float = SITE_TOLERANCE,
    engine: str = "fast",
) -> Verdict:
    """Verify an answer; total: whatever it is, there is a verdict, within bounded time and memory.

    Args:
        answer: what the model wrote.
        target: CIF text, or prepared.
        strict_tags, engine: as for :func:`rewards.verify`.
        tolerance: largest displacement in Å that is right.

    Raises:
        TargetError: if the target cannot be read.
        ValueError: if the engine is unknown or the tolerance is not a positive number.
    """
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"the tolerance is a positive number of Å, not {tolerance}")
    started = perf_counter()
    truth = target if isinstance(target, CrystalTarget) else prepare_crystal(target)
    found = extract_cif(answer, strict_tags=strict_tags)
    result: CrystalComparison | Unreadable
    if found.cif is None:
        result = Unreadable(Stage.NO_CIF, found.message)
    else:
        result = _judge_text(found.cif, truth, tolerance, engine)
    readable = isinstance(result, CrystalComparison)
    return Verdict(
        stage=result.stage,
        message=result.message,
        extraction=found.rule,
        tags_ok=found.tags_ok,
        parsable=readable,
        verdict_strict=result.stage,
        success_strict=result.stage is Stage.CORRECT,
        max_displacement=result.max_displacement if isinstance(result, CrystalComparison) else None,
        sum_displacement=result.sum_displacement if isinstance(result, CrystalComparison) else None,
        composition_difference=result.composition_difference if isinstance(result, CrystalComparison) else None,
        composition_matches=result.composition_difference == 0 if isinstance(result, CrystalComparison) else None,
        cell_matches=result.cell_matches if isinstance(result, CrystalComparison) else None,
        seconds=perf_counter() - started,
    )


def _judge_text(text: str, truth: CrystalTarget, tolerance: float, engine: str) -> CrystalComparison | Unreadable:
    """The best of all that the text may mean."""
    plain = engine == "fast" and read_plain(text) is not None  # then it is in P 1 whatever it names
    named = NamedSymmetry() if plain else named_symmetry(text)
    results: list[CrystalComparison | Unreadable] = []
    for setting in named.settings or (None,):
        meant = text if setting is None else with_operators(text, setting)
        results.append(_judge(read_cif(meant, engine=engine, strict_only=True).strict, truth, tolerance))
        if results[-1].stage is Stage.CORRECT:
            return results[-1]
    best = max(range(len(results)), key=lambda k: _nearness(results[k]))
    message = results[best].message
    if named.note:
        message = f"{message} ({named.note})"
    elif _listed_again(text, results[best], engine):
        message = f"{message}: its symmetry operators seem to make atoms again that are listed already"
    elif len(results) > 1 and isinstance(results[best], CrystalComparison):
        message = f"{message} (read as {named.settings[best].name}, the nearest of {len(results)} settings)"
    return replace(results[best], message=message)


def _nearness(result: CrystalComparison | Unreadable) -> tuple[int, bool, float]:
    """Larger for an answer that comes further: stage, lattice, displacement."""
    if isinstance(result, Unreadable):
        return -1 if result.stage is Stage.TIMEOUT else 0, False, 0.0
    order = (Stage.COMPOSITION_MISMATCH, Stage.STRUCTURE_MISMATCH, Stage.CORRECT)
    apart = float("inf") if result.max_displacement is None else result.max_displacement
    return 1 + order.index(result.stage), result.cell_matches, -apart


def _listed_again(text: str, result: CrystalComparison | Unreadable, engine: str) -> bool:
    """Whether a text that makes no crystal does so without its symmetry."""
    if result.stage is not Stage.CIF_INVALID or (plain := without_symmetry(text)) == text:
        return False
    return isinstance(read_cif(plain, engine=engine, strict_only=True).strict, Arrangement)


def _judge(crystal: Arrangement | Unreadable, truth: CrystalTarget, tolerance: float) -> CrystalComparison | Unreadable:
    if isinstance(crystal, Unreadable):
        return crystal
    try:
        limits.check(len(crystal), MAX_SITES, "sites")
        return compare_crystals(crystal, truth, tolerance=tolerance)
    except limits.BoundExceededError as error:
        return Unreadable(Stage.TIMEOUT, str(error))
    except Exception as error:  # not known to happen; a verdict is due even so
        return Unreadable(Stage.CIF_INVALID, f"the answer cannot be compared: {one_line(error)}")


def compare_crystals(
    crystal: Arrangement, truth: CrystalTarget, *, tolerance: float = SITE_TOLERANCE
) -> CrystalComparison:
    """Compare a crystal with the one asked for; the module docstring says how."""
    difference = share_difference(crystal, truth.given)
    answer = _unrepeated(crystal, len(truth.primitive.elements), tolerance)
    ways = list(lattice_ways(answer, truth.primitive, truth.given.cell))
    if difference:
        return CrystalComparison(
            Stage.COMPOSITION_MISMATCH, bool(ways), None, None, difference, _composition_message(crystal, truth.given)
        )
    if not ways:
        return CrystalComparison(Stage.STRUCTURE_MISMATCH, False, None, None, 0, _lattice_message(answer, truth))
    largest, total = closest(answer, truth.primitive, ways, tolerance)
    if largest is None:
        message = "the lattice is right, but the cell holds another number of atoms"
        return CrystalComparison(Stage.STRUCTURE_MISMATCH, True, None, None, 0, message)
    right = largest <= tolerance
    relation = "within" if right else "beyond"
    return CrystalComparison(
        Stage.CORRECT if right else Stage.STRUCTURE_MISMATCH,
        True,
        largest,
        total,
        0,
        f"the largest displacement is {largest:.4g} Å, {relation} the tolerance of {tolerance:g} Å",
    )


def _unrepeated(crystal: Arrangement, sites: int, tolerance: float) -> PrimitiveCrystal:
    """The primitive cell of an answer whose atoms may each be off by the tolerance.

    A translation is read off two atoms and tried on two others, so that it may seem off by four times the tolerance.
    Where that makes the cell smaller than the target's, it was too generous.
    """
    found = primitive_crystal(crystal, 4 * tolerance)
    return found if len(found.elements) >= sites else primitive_crystal(crystal, tolerance)


def share_difference(crystal: Arrangement, target: Arrangement) -> int:
    """Sum over elements of the difference of their shares, in per cent; 0 only for equal reduced formulas."""
    mine, theirs = crystal.element_counts, target.element_counts
    n_mine, n_theirs = len(crystal), len(target)
    # In whole numbers, so that equal formulas give exactly 0.
    apart = sum(abs(mine[element] * n_theirs - theirs[element] * n_mine) for element in mine.keys() | theirs.keys())
    return 0 if apart == 0 else max(1, round(100 * apart / (n_mine * n_theirs)))


def _composition_message(crystal: Arrangement, target: Arrangement) -> str:
    mine, theirs = (
        " ".join(f"{symbol}{count}" for symbol, count in sorted(each.element_counts.items()))
        for each in (crystal, target)
    )
    return f"the composition differs: the cell holds {mine[:80]}, and {theirs} or a multiple was asked for"


def _lattice_message(answer: PrimitiveCrystal, truth: CrystalTarget) -> str:
    a, b, c, alpha, beta, gamma = cell_of(answer.matrix)
    u, v, w, *_ = cell_of(truth.primitive.matrix)
    return (
        f"the lattice is not the one asked for (constants within 1 %): its shortest vectors are {a:.3f}, {b:.3f} and "
        f"{c:.3f} Å long, instead of {u:.3f}, {v:.3f} and {w:.3f} Å, or at other angles ({alpha:.1f}°, {beta:.1f}°, "
        f"{gamma:.1f}°)"
    )
