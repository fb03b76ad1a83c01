"""Rules of an edit, the input in other words, and the verdict on a value."""

from __future__ import annotations

import numpy as np
import pytest
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure
from pymatgen.io.cif import CifWriter

from rewards import SCHEMES, Arrangement, Baseline, Stage, Verdict, reward
from rewards.property_change import Question, Reading, broken_rule, verify_property_change
from rewards.same_crystal import prepare_crystal

SALT = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
ALLOWED = ("H", "Li", "C", "Na", "Cl", "K")
BASELINE = Baseline(Stage.UNCHANGED, None, None, 0)


def cif(structure: Structure) -> str:
    return str(CifWriter(structure, significant_figures=6))


def by_volume(crystal: Arrangement) -> Reading:
    """A property that an honest oracle never has: it depends on the volume of the text."""
    return Reading(1000.0 * len(crystal) / crystal.volume, -3.0)


def verify(answer: object, *, direction: str = "raise", evaluate=by_volume, threshold: float = 2.0) -> Verdict:  # type: ignore[no-untyped-def]
    target = prepare_crystal(cif(SALT))
    asked = Question(direction, "stiffness", "GPa", by_volume(target.given), threshold)  # type: ignore[arg-type]
    if isinstance(answer, Structure):
        answer = f"<cif>\n{cif(answer)}\n</cif>"
    return verify_property_change(answer, target, lambda: asked, evaluate, elements=ALLOWED)


def forbidden(crystal: Arrangement) -> Reading:
    raise AssertionError("an answer that breaks a rule must not be evaluated")


def exchanged(element: str, sites: int = 4, start: int = 0) -> Structure:
    changed = SALT.copy()
    for site in range(start, start + sites):
        changed.replace(site, element)
    return changed


def moved_over(first: str, second: str, new: str) -> Structure:
    """The first element on the second's sites, a new one on its own."""
    renamed = {first: new, second: first}
    return Structure(SALT.lattice, [renamed[site.specie.symbol] for site in SALT], SALT.frac_coords)


def test_a_change_beyond_the_threshold_is_right_in_its_direction_only() -> None:
    smaller = exchanged("Li")
    smaller.scale_lattice(SALT.volume * 0.8)
    assert verify(smaller).stage is Stage.CORRECT
    assert verify(smaller, direction="lower").stage is Stage.PROPERTY_MISMATCH
    within = verify(smaller, threshold=100.0)
    assert within.stage is Stage.PROPERTY_MISMATCH
    assert "higher by more than 100 GPa" in within.message


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(SALT, id="same text"),
        pytest.param(Structure.from_sites(SALT.sites[::-1]), id="other order"),
        pytest.param(Structure(SALT.lattice, SALT.species, SALT.frac_coords + 0.02), id="shifted"),
        pytest.param(Structure(Lattice.cubic(5.64 * 0.96), SALT.species, SALT.frac_coords), id="compressed"),
        pytest.param(Structure(Lattice.cubic(5.64 * 1.1), SALT.species, SALT.frac_coords), id="expanded"),
        pytest.param(Structure(SALT.lattice, SALT.species, -SALT.frac_coords), id="inverted"),
        pytest.param(
            Structure(SALT.lattice, [{"Na": "Cl", "Cl": "Na"}[site.specie.symbol] for site in SALT], SALT.frac_coords),
            id="relabelled: the same crystal about another origin",
        ),
    ],
)
def test_the_input_in_other_words_is_unchanged(other: Structure) -> None:
    verdict = verify(other, evaluate=forbidden)
    assert verdict.stage is Stage.UNCHANGED
    assert verdict.parsable


@pytest.mark.parametrize(
    ("other", "stage", "words"),
    [
        (SALT * (2, 1, 1), Stage.COMPOSITION_MISMATCH, "the answer has 16 sites"),
        (SALT.get_primitive_structure(), Stage.COMPOSITION_MISMATCH, "the answer has 2 sites"),
        (exchanged("C", 8), Stage.COMPOSITION_MISMATCH, "0 of 8 atoms keep"),
        (exchanged("H", 5), Stage.COMPOSITION_MISMATCH, "3 of 8 atoms keep"),
        # As many sodium atoms as before, none where one was.
        (moved_over("Na", "Cl", "K"), Stage.COMPOSITION_MISMATCH, "0 of 8 atoms keep"),
        (exchanged("Cs", 1), Stage.COMPOSITION_MISMATCH, "Cs may not occur"),
        (
            Structure(Lattice.orthorhombic(5.64, 5.64, 5.64 * 1.2), SALT.species, SALT.frac_coords),
            Stage.STRUCTURE_MISMATCH,
            "a cell length is 6.768",
        ),
        (
            Structure(Lattice.from_parameters(5.64, 5.64, 5.64, 90, 90, 75), SALT.species, SALT.frac_coords),
            Stage.STRUCTURE_MISMATCH,
            "a cell angle is 75",
        ),
    ],
)
def test_what_is_no_edit_of_the_input_is_not_evaluated(other: Structure, stage: Stage, words: str) -> None:
    verdict = verify(other, evaluate=forbidden)
    assert verdict.stage is stage
    assert words in verdict.message
    assert reward(verdict, baseline=BASELINE) == 0.05


def test_atoms_too_close_and_atoms_too_far_from_their_sites() -> None:
    given = Arrangement((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), ("Na", "Cl"), np.array([[0, 0, 0], [0.2, 0, 0]]))
    near = Arrangement(given.cell, ("Na", "Cl"), np.array([[0, 0, 0], [0.12, 0, 0]]))
    assert broken_rule(near, given, ALLOWED) == (
        Stage.STRUCTURE_MISMATCH,
        "two atoms are 0.48 Å apart, 0.5 Å is the least",
    )
    far = Arrangement(given.cell, ("Na", "Cl"), np.array([[0, 0, 0], [0.5, 0, 0]]))
    broken = broken_rule(far, given, ALLOWED)
    assert broken is not None
    assert "an atom is 1.20 Å from its site" in broken[1]
    # Through the face of the cell, not across it, and whatever the order.
    through = Arrangement(given.cell, ("Cl", "Na"), np.array([[0.2, 0, 0], [0.99, 0, 0.99]]))
    assert broken_rule(through, given, ALLOWED) is None


def test_partial_occupancy_and_nonsense_are_no_crystals() -> None:
    halves = cif(SALT).replace("  1\n", "  0.5\n")
    assert verify(f"<cif>{halves}</cif>", evaluate=forbidden).stage is Stage.CIF_INVALID
    for text in ("", "no crystal", None, b"bytes", "<cif>\x00</cif>", "<cif>" * 1000, "data_\n" * 100_000):
        verdict = verify(text, evaluate=forbidden)
        assert verdict.stage in (Stage.NO_CIF, Stage.CIF_INVALID, Stage.TIMEOUT)
        assert reward(verdict, baseline=BASELINE) == 0.0


@pytest.mark.parametrize("stage", [Stage.PROPERTY_FAILED, Stage.TIMEOUT, Stage.WORKER_LOST])
def test_a_crystal_without_a_value_has_a_verdict(stage: Stage) -> None:
    verdict = verify(exchanged("K"), evaluate=lambda crystal: Reading(None, stage=stage, message="it melts"))
    assert verdict.stage is stage
    assert "it melts" in verdict.message
    assert reward(verdict, baseline=BASELINE) == (0.05 if stage is Stage.PROPERTY_FAILED else 0.0)


def test_the_same_atoms_in_a_place_of_high_energy_are_no_answer() -> None:
    pushed = SALT.copy()
    pushed.translate_sites([0], [0.1, 0, 0])
    high = verify(pushed, evaluate=lambda crystal: Reading(500.0, -2.85))
    assert high.stage is Stage.PROPERTY_MISMATCH
    assert "0.15 eV per atom above" in high.message
    assert verify(pushed, evaluate=lambda crystal: Reading(500.0, -2.95)).stage is Stage.CORRECT


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "paper"])
def test_schemes_pay_one_for_a_right_answer_and_at_most_the_parse_credit_for_any_other(scheme: str) -> None:
    smaller = exchanged("Li")
    smaller.scale_lattice(SALT.volume * 0.8)
    assert reward(verify(smaller), scheme, baseline=BASELINE) == 1.0
    for wrong in (SALT, exchanged("C", 8), verify(smaller, direction="lower"), "nothing"):
        verdict = wrong if isinstance(wrong, Verdict) else verify(wrong)
        assert reward(verdict, scheme, baseline=BASELINE) <= 0.05
