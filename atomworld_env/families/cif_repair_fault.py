"""What a fault is: a function from a CIF to a damaged one, with what a mender has to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from atomworld_env.families.cif_repair_text import CifText
from rewards.placeholders import LostValue


@dataclass(frozen=True)
class Damage:
    """A file before and after a fault.

    Attributes:
        original: the whole file; a fault may leave out what would give its value away, or change the order of loops.
        damaged: the file shown.
        variant: which of its forms the fault took, for records.
        lost: numbers that do not follow from the damaged file; empty if all of it can be derived.
    """

    original: CifText
    damaged: CifText
    variant: str
    lost: tuple[LostValue, ...] = ()


@dataclass(frozen=True)
class Fault:
    """One kind of damage.

    Attributes:
        name: the kind of task is ``repair_`` and this.
        apply: the damage; raises :class:`~atomworld_env.families.cif_repair_text.NoPlaceError` where a text has no
            place for it.
        effort: for the difficulty, 0 (a word is misspelt) to 1 (a number has to be computed).
        full_only: it needs what only CIFs in the style ``full`` have.
        loses: whether something is taken away; what is not lost can be mended beside any other fault.
    """

    name: str
    apply: Callable[[CifText, np.random.Generator], Damage]
    effort: float
    full_only: bool = False
    loses: bool = True
