"""The policy of a name: a baseline, or a model on this machine."""

from __future__ import annotations

from atomworld_env.errors import UsageError
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.policies.local_model import PREFIX, Decoding, load_local_model
from atomworld_env.policies.policy import Policy


def policy_by_name(name: str, decoding: Decoding | None = None) -> Policy:
    """The policy of a name, its model loaded.

    Args:
        name: of a baseline, ``hf:PATH`` or ``hf:small``.
        decoding: how a model draws its answers; its seed is also that of a baseline that draws random numbers.

    Raises:
        UsageError: if there is none, or its model cannot be loaded.
    """
    decoding = Decoding() if decoding is None else decoding
    if name.startswith(PREFIX):
        return load_local_model(name, decoding)
    if name not in BASELINES:
        raise UsageError(f"unknown policy {name!r}; choose from {', '.join(BASELINES)}, {PREFIX}PATH, {PREFIX}small")
    return load_policy(name, seed=decoding.seed)
