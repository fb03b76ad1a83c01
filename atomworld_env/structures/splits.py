"""Train, validation and test: whole prototype families, never single structures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

SPLITS = ("train", "validation", "test")


def assign_splits(families: Iterable[str], lineage: Mapping[str, str] | None = None) -> dict[str, str]:
    """Split of every family: 50 % train, 10 % validation, 40 % test.

    Lineages are ordered by the SHA-256 of their name, which is the same on every machine and unrelated to chemistry;
    the first ones, with half of the families, go to train, the next with a tenth to validation, the rest to test.
    Splitting by family keeps the same atomic arrangement with other elements, or repeated, from being both trained on
    and tested. The test share is large because swap, insert_between and rotate_around need structures that only a part
    of the families has.

    One family gives train only, two give train and test; below ten families there is no validation split.

    Args:
        lineage: name shared by families that must not be separated; a family without one is its own.
    """
    names = sorted(set(families))
    lineages: dict[str, list[str]] = {}
    for name in names:
        lineages.setdefault((lineage or {}).get(name, name), []).append(name)
    train_end = (len(names) + 1) // 2
    validation_end = train_end + len(names) // 10
    splits: dict[str, str] = {}
    for shared in sorted(lineages, key=lambda name: (sha256(name.encode()).digest(), name)):
        rank = len(splits)
        splits |= dict.fromkeys(lineages[shared], SPLITS[(rank >= train_end) + (rank >= validation_end)])
    return splits
