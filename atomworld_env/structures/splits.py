"""Train, validation and test: whole prototype families, never single structures."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

SPLITS = ("train", "validation", "test")


def assign_splits(families: Iterable[str]) -> dict[str, str]:
    """Split of every family: 50 % train, 10 % validation, 40 % test.

    Families are ordered by the SHA-256 of their name, which is the same on every machine and unrelated to
    chemistry; the first half goes to train, the next tenth to validation, the rest to test. Splitting by
    family keeps the same atomic arrangement with other elements, or repeated, from being both trained on and
    tested. The test share is large because swap, insert_between and rotate_around need structures that only a
    part of the families has.

    One family gives train only, two give train and test; below ten families there is no validation split.
    """
    ordered = sorted(set(families), key=lambda family: (sha256(family.encode()).digest(), family))
    train_end = (len(ordered) + 1) // 2
    validation_end = train_end + len(ordered) // 10
    return {
        family: SPLITS[(rank >= train_end) + (rank >= validation_end)] for rank, family in enumerate(ordered)
    }
