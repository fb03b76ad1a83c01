"""Before training: nothing that is tested on may be trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from atomworld_env.errors import UsageError


def refuse_leakage(
    train: Iterable[Mapping[str, Any]], test: Iterable[Mapping[str, Any]], *, names: tuple[str, str] = ("train", "test")
) -> None:
    """Raise if two sets of rows share a task or a family of structures.

    Families, not structures: one arrangement of atoms with other elements, or repeated, is the same puzzle. A split's
    families are closed under lineage (see :mod:`atomworld_env.structures.lineage`).

    Args:
        train, test: rows with the columns ``task_id`` and ``family``.

    Raises:
        UsageError: in one line, with how many are shared and one of them.
    """
    sides = [[(row["task_id"], row["family"]) for row in rows] for rows in (train, test)]
    for place, what, mend in (
        (0, "task ids", "draw them from different splits"),
        (1, "structure families", "draw them from different splits of one pool"),
    ):
        shared = sorted(set.intersection(*({entry[place] for entry in side} for side in sides)))
        if shared:
            raise UsageError(f"{names[0]} and {names[1]} share {len(shared)} {what} (such as {shared[0]}); {mend}")
