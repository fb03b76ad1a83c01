"""A computation in another process: its value, its errors, its time limit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

from atomworld_env.properties.isolation import Isolated, close_workers
from atomworld_env.properties.oracle import Failure, PropertyValue
from rewards import Arrangement


def crystal(element: str) -> Arrangement:
    return Arrangement((4.0, 4.0, 4.0, 90.0, 90.0, 90.0), (element,), np.zeros((1, 3)))


def by_element(given: Arrangement) -> PropertyValue:
    """Found in the worker by the name of this module."""
    match given.species[0]:
        case "He":
            time.sleep(60)
        case "Ne":
            os._exit(5)
        case "Ar":
            raise ZeroDivisionError("no mass\nat all")
        case "Kr":
            raise MemoryError
    return PropertyValue(given.volume, "GPa", float(os.getpid()))


def nothing() -> None:
    """A warm-up of nothing."""


ISOLATED = Isolated(by_element, nothing, "GPa", timeout=2.0)


@pytest.fixture(autouse=True, scope="module")
def ended() -> Iterator[None]:
    yield
    close_workers()


def test_the_value_comes_from_one_other_process() -> None:
    first, second = ISOLATED(crystal("Na")), ISOLATED(crystal("Na"))
    assert first.value == pytest.approx(64.0)
    assert first.energy == second.energy != os.getpid()


@pytest.mark.parametrize(
    ("element", "failure", "words"),
    [
        ("He", Failure.TIMEOUT, "no value within 2 s"),
        ("Ne", Failure.LOST, "exit code 5"),
        ("Ar", Failure.CRYSTAL, "ZeroDivisionError no mass"),
        ("Kr", Failure.CRYSTAL, "memory"),
    ],
)
def test_whatever_happens_there_is_a_failure_and_the_next_crystal_has_its_value(
    element: str, failure: Failure, words: str
) -> None:
    found = ISOLATED(crystal(element))
    assert (found.value, found.failure) == (None, failure)
    assert words in found.message
    assert ISOLATED(crystal("Na")).value == pytest.approx(64.0)
