"""Splits go by family, and come out the same everywhere."""

from __future__ import annotations

from collections import Counter

import pytest

from atomworld_env.structures.splits import SPLITS, assign_splits


def test_shares_are_50_10_40() -> None:
    counts = Counter(assign_splits(f"family-{number}" for number in range(1000)).values())
    assert counts == {"train": 500, "validation": 100, "test": 400}


def test_order_and_repetition_of_families_do_not_matter() -> None:
    families = [f"family-{number}" for number in range(50)]
    assert assign_splits(families) == assign_splits(families[::-1] + families)


def test_assignment_is_pinned() -> None:
    # A change here moves structures between training and test data of every published suite.
    splits = assign_splits(["AB_cF8_225_a_b", "AB_cP2_221_b_a", "A_cF4_225_a", "AB3C_cP5_221_a_c_b"])
    assert splits == {
        "A_cF4_225_a": "test",
        "AB_cF8_225_a_b": "test",
        "AB_cP2_221_b_a": "train",
        "AB3C_cP5_221_a_c_b": "train",
    }


@pytest.mark.parametrize(
    ("n_families", "expected"),
    [
        pytest.param(0, (0, 0, 0), id="none"),
        pytest.param(1, (1, 0, 0), id="one-trains"),
        pytest.param(2, (1, 0, 1), id="two-train-and-test"),
        pytest.param(9, (5, 0, 4), id="no-validation-below-ten"),
        pytest.param(10, (5, 1, 4), id="ten"),
    ],
)
def test_few_families(n_families: int, expected: tuple[int, int, int]) -> None:
    counts = Counter(assign_splits(str(number) for number in range(n_families)).values())
    assert tuple(counts[split] for split in SPLITS) == expected
