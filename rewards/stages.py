"""The stages at which a verification can end."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """How far an answer came. The first five are in order: the first test that fails names the stage.

    The next three are of tasks about a property (:mod:`rewards.property_change`): the answer is the input again, its
    property has no value, or the property moved too little or the wrong way.

    The last two stand outside the order: the verifier ended, not the answer. They earn nothing and are
    counted apart.
    """

    NO_CIF = "no_cif"
    CIF_INVALID = "cif_invalid"
    COMPOSITION_MISMATCH = "composition_mismatch"
    STRUCTURE_MISMATCH = "structure_mismatch"
    CORRECT = "correct"
    UNCHANGED = "unchanged"
    PROPERTY_FAILED = "property_failed"
    PROPERTY_MISMATCH = "property_mismatch"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker_lost"
