"""Placeholders: filled in at their place and nowhere else, whatever the text is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewards import Stage, verify
from rewards.placeholders import LostValue, fill_placeholders, verify_with_placeholders

CIF = """data_NaCl
_cell_length_a   4.0000
_cell_length_b   5.0000
_cell_length_c   6.0000
_cell_angle_alpha   90.0000
_cell_angle_beta   90.0000
_cell_angle_gamma   90.0000
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na0 Na 0.0000 0.1000 0.2000
Cl1 Cl 0.5000 0.6000 0.7000
"""
LENGTH = LostValue("_cell_length_b", "", "5.0000")
PLACE = LostValue("_atom_site_fract_y", "Cl1", "0.6000")


def verdict(cif: str, *lost: LostValue) -> Stage:
    return verify_with_placeholders(f"<cif>\n{cif}</cif>", CIF, lost).stage


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        pytest.param("5.0000\n_cell_length_c", "?\n_cell_length_c", LENGTH, id="cell"),
        pytest.param("0.5000 0.6000 0.7000", "0.5000 ? 0.7000", PLACE, id="row"),
    ],
)
def test_a_placeholder_at_its_place_is_right(old: str, new: str, lost: LostValue, engine: str) -> None:
    answer = f"I cannot know it.\n<cif>\n{CIF.replace(old, new)}</cif>"
    found = verify_with_placeholders(answer, CIF, [lost], engine=engine)
    assert found.stage is Stage.CORRECT
    assert (found.extraction, found.tags_ok) == ("tags", True)
    assert verify(answer, CIF, engine=engine).stage is Stage.CIF_INVALID


def test_rows_may_come_in_any_order_and_columns_too() -> None:
    rows = "Cl1 Cl 0.5000 ? 0.7000\nNa0 Na 0.0000 0.1000 0.2000\n"
    assert verdict(CIF[: CIF.index("Na0")] + rows, PLACE) is Stage.CORRECT
    swapped = CIF[: CIF.index("Na0")] + rows.replace("0.5000 ?", "? 0.5000").replace("0.0000 0.1000", "0.1000 0.0000")
    swapped = swapped.replace("fract_x", "fract_w").replace("fract_y", "fract_x").replace("fract_w", "fract_y")
    assert verdict(swapped, PLACE) is Stage.CORRECT


@pytest.mark.parametrize(
    "cif",
    [
        pytest.param(CIF.replace("4.0000", "?"), id="another length"),
        pytest.param(CIF.replace("0.1000", "?"), id="another site"),
        pytest.param(CIF.replace("0.7000", "?"), id="another coordinate"),
        pytest.param(CIF.replace("0.6000", "'?'"), id="a text of a question mark"),
        pytest.param(CIF.replace("0.6000", "."), id="not applicable"),
        pytest.param(CIF.replace("0.6000", "unknown"), id="a word"),
        pytest.param(CIF.replace("0.6000", "?").replace("Na0", "Cl1"), id="a label given twice"),
        pytest.param(CIF.replace("5.0000", "?").replace("0.0000", "?"), id="one too many"),
    ],
)
def test_a_placeholder_elsewhere_is_no_number(cif: str) -> None:
    assert verdict(cif, LENGTH, PLACE) is Stage.CIF_INVALID


@pytest.mark.parametrize(("value", "stage"), [("5.01", Stage.CORRECT), ("5.20", Stage.STRUCTURE_MISMATCH)])
def test_a_value_instead_is_compared_like_any_other(value: str, stage: Stage) -> None:
    assert verdict(CIF.replace("5.0000", value), LENGTH) is stage


def test_a_text_without_the_place_comes_back_as_it_was() -> None:
    for text in (CIF, CIF.replace("Cl1", "Cl7").replace("0.6000", "?"), "?", "", "data_ \ud800 ?", "?\x00" * 1000):
        assert fill_placeholders(text, [LENGTH, PLACE]) == text


@pytest.mark.parametrize(
    "answer", [None, 3, b"?", "", "?", "<cif>?</cif>", "data_a _cell_length_b ?", "data_a ?" * 99999]
)
def test_any_answer_gets_a_verdict(answer: object) -> None:
    assert verify_with_placeholders(answer, CIF, [LENGTH, PLACE]).stage is not Stage.CORRECT


@pytest.mark.parametrize(
    "not_by_the_standard",
    [
        pytest.param(lambda cif: f"Here is the file:\n{cif}", id="prose-before"),
        pytest.param(lambda cif: cif.replace("loop_", "_chemical_formula_sum Na1 Cl1\nloop_"), id="value-of-two-words"),
        pytest.param(lambda cif: cif.replace("loop_", "_cell_volume 120\n_cell_volume 120\nloop_"), id="tag-twice"),
    ],
)
@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        pytest.param("5.0000\n_cell_length_c", "?\n_cell_length_c", LENGTH, id="cell"),
        pytest.param("0.5000 0.6000 0.7000", "0.5000 ? 0.7000", PLACE, id="row"),
    ],
)
def test_placeholders_are_filled_in_texts_that_only_the_tolerant_reader_takes(
    old: str, new: str, lost: LostValue, not_by_the_standard: Callable[[str], str]
) -> None:
    answer = not_by_the_standard(CIF.replace(old, new))
    filled = fill_placeholders(answer, [lost])
    assert filled == not_by_the_standard(CIF)
    assert verdict(answer, lost) is Stage.CORRECT
    # Nowhere else, and not twice.
    others = [LostValue("_cell_length_a", "", "9.0"), LostValue(PLACE.tag, "Na0", "0.9")]
    assert fill_placeholders(answer, others) == answer
    assert fill_placeholders(f"{answer}{answer}", [lost]) == f"{answer}{answer}"
