"""Values are kept by crystal, on disk too, and what ended before it knew is asked again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atomworld_env.properties.cache import FOLDER_VARIABLE, CachedOracle, crystal_key
from atomworld_env.properties.oracle import Failure, Noise, PropertyValue
from rewards import Arrangement

CELL = (4.0, 4.0, 5.0, 90.0, 90.0, 120.0)
CRYSTAL = Arrangement(CELL, ("Na", "Cl"), np.array([[0, 0, 0], [1 / 3, 2 / 3, 0.5]]))


class Counting:
    """An oracle that counts how often it is asked."""

    property, unit, version, cost, deterministic, noise = "bulk_modulus", "GPa", "v/1", "seconds", True, Noise(1.0)

    def __init__(self, failure: Failure | None = None) -> None:
        self.asked = 0
        self.failure = failure

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        self.asked += 1
        return PropertyValue(None if self.failure else 7.5, "GPa", -1.0, self.failure, "why" if self.failure else "")


def test_the_key_knows_neither_order_nor_image_nor_digits_beyond_the_fourth() -> None:
    others = [
        Arrangement(CELL, ("Cl", "Na"), np.array([[0.33333, 0.66667, 0.5], [0.0, 1.0, -1e-7]])),
        Arrangement(CELL, ("Na", "Cl"), np.array([[1.0, -1.0, 0.99999], [4 / 3, -1 / 3, 0.5]])),
    ]
    assert {crystal_key(other) for other in others} == {crystal_key(CRYSTAL)}


@pytest.mark.parametrize(
    "other",
    [
        Arrangement(CELL, ("Na", "Br"), CRYSTAL.frac),
        Arrangement(CELL, ("Cl", "Na"), CRYSTAL.frac),
        Arrangement((4.0, 4.0, 5.001, 90.0, 90.0, 120.0), ("Na", "Cl"), CRYSTAL.frac),
        Arrangement(CELL, ("Na", "Cl"), CRYSTAL.frac + np.array([[0, 0, 0.001], [0, 0, 0]])),
        Arrangement(CELL, ("Na", "Cl", "Cl"), np.vstack([CRYSTAL.frac, CRYSTAL.frac[1:]])),
    ],
)
def test_another_crystal_has_another_key(other: Arrangement) -> None:
    assert crystal_key(other) != crystal_key(CRYSTAL)


@pytest.mark.parametrize("failure", [None, Failure.CRYSTAL])
def test_a_crystal_is_evaluated_once_here_and_in_the_next_process(tmp_path: Path, failure: Failure | None) -> None:
    oracle = Counting(failure)
    first = CachedOracle(oracle, tmp_path)
    assert first.value(CRYSTAL) == first.value(CRYSTAL) == CachedOracle(oracle, tmp_path).value(CRYSTAL)
    assert oracle.asked == 1


@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.LOST, Failure.MISSING])
def test_what_does_not_lie_in_the_crystal_is_asked_again(tmp_path: Path, failure: Failure) -> None:
    oracle = Counting(failure)
    cached = CachedOracle(oracle, tmp_path)
    assert cached.value(CRYSTAL).failure is cached.value(CRYSTAL).failure is failure
    assert oracle.asked == 2
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    oracle = Counting()
    CachedOracle(oracle, tmp_path).value(CRYSTAL)
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text(encoding="utf-8") + '{"crystal": "12', encoding="utf-8")
    assert CachedOracle(oracle, tmp_path).value(CRYSTAL).value == 7.5
    assert oracle.asked == 1
    file.write_text("[]\n\x00\n{}\n", encoding="utf-8")
    assert CachedOracle(oracle, tmp_path).value(CRYSTAL).value == 7.5
    assert oracle.asked == 2


def test_the_folder_of_the_environment_is_used_and_a_bad_one_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "values"))
    CachedOracle(Counting()).value(CRYSTAL)
    assert [path.name for path in (tmp_path / "values").iterdir()] == ["v_1.jsonl"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert CachedOracle(Counting(), tmp_path / "file" / "below").value(CRYSTAL).value == 7.5


@pytest.mark.parametrize(
    ("answer", "failure", "words"),
    [
        (PropertyValue(float("nan"), "GPa"), Failure.CRYSTAL, "no finite value in GPa"),
        (PropertyValue(1e9 * float("inf"), "GPa"), Failure.CRYSTAL, "no finite value in GPa"),
        (PropertyValue(1.0, "eV"), Failure.CRYSTAL, "no finite value in GPa"),
        (PropertyValue(None, "GPa"), Failure.CRYSTAL, "no finite value in GPa"),
        (PropertyValue(3.0, "GPa", failure=Failure.TIMEOUT, message="late"), Failure.TIMEOUT, "late"),
        (121.4, Failure.LOST, "AttributeError"),
        (ZeroDivisionError("by\nzero"), Failure.LOST, "ZeroDivisionError by"),
    ],
)
def test_whatever_an_oracle_does_there_is_a_value_or_a_failure(
    answer: object, failure: Failure, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = Counting()

    def evaluate(crystal: Arrangement) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(oracle, "evaluate", evaluate)
    found = CachedOracle(oracle).value(CRYSTAL)
    assert (found.value, found.failure) == (None, failure)
    assert words in found.message
