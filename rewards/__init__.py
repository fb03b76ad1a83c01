"""From a model's answer to a verdict, and from a verdict to a reward.

    >>> from rewards import prepare_target, verify, reward
    >>> target = prepare_target(target_cif)                        # doctest: +SKIP
    >>> verdict = verify(answer_text, target, structure=input_cif)  # doctest: +SKIP
    >>> reward(verdict)                                            # doctest: +SKIP

Many answers, each within a time limit, are verified by :class:`VerifierPool`; :mod:`rewards.trl` makes that a reward
function for TRL's GRPOTrainer.

Names are loaded when first used: importing the package costs nothing, and pymatgen is imported only when an
answer is parsed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.arrangement import Arrangement
    from rewards.extraction import Extraction, extract_cif
    from rewards.pool import VerifierPool
    from rewards.schemes import SCHEMES, components, reward
    from rewards.strict import StrictComparison, compare_strict
    from rewards.verdict import Baseline, Stage, Verdict
    from rewards.verification import PreparedTarget, TargetError, prepare_target, verify

_HOME = {
    "Arrangement": "arrangement",
    "Baseline": "verdict",
    "Extraction": "extraction",
    "PreparedTarget": "verification",
    "SCHEMES": "schemes",
    "Stage": "verdict",
    "StrictComparison": "strict",
    "TargetError": "verification",
    "Verdict": "verdict",
    "VerifierPool": "pool",
    "compare_strict": "strict",
    "components": "schemes",
    "extract_cif": "extraction",
    "prepare_target": "verification",
    "reward": "schemes",
    "verify": "verification",
}

__all__ = [
    "SCHEMES",
    "Arrangement",
    "Baseline",
    "Extraction",
    "PreparedTarget",
    "Stage",
    "StrictComparison",
    "TargetError",
    "Verdict",
    "VerifierPool",
    "compare_strict",
    "components",
    "extract_cif",
    "prepare_target",
    "reward",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"rewards.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rewards' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
