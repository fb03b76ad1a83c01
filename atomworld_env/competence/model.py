"""The model whose likelihoods are asked for: any causal language model that transformers loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.local_model import PREFIX, load_network


@dataclass(frozen=True)
class ScoringModel:
    """A model with its tokenizer; it needs no chat template, as texts are shown as they are.

    Attributes:
        name: as manifests show it.
        network: a causal language model of transformers, in evaluation mode.
        tokenizer: of that model.
        software: versions of what it runs on.
    """

    name: str
    network: Any
    tokenizer: Any
    software: dict[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the scores, plain JSON values; the size of batches does not."""
        config = getattr(self.network, "config", None)
        return {
            "kind": "hf",
            "model": self.name.removeprefix(PREFIX),
            "revision": getattr(config, "_commit_hash", None),
            "dtype": str(getattr(self.network, "dtype", None)).removeprefix("torch."),
            "software": self.software,
        }


def require_likelihoods(policy: str) -> None:
    """Refuse policies that give answers but no likelihoods.

    Raises:
        UsageError: if the policy is not a model that transformers loads.
    """
    if not policy.startswith(PREFIX):
        raise UsageError(
            f"chemical competence needs the likelihood of every token, which {policy!r} does not give; "
            "use a model on this machine, --policy hf:PATH"
        )


def load_scoring_model(policy: str) -> ScoringModel:
    """The model of ``hf:PATH`` or ``hf:small``.

    Raises:
        UsageError: if it is another policy, the extra ``train`` is not installed, or the model cannot be loaded.
    """
    require_likelihoods(policy)
    network, tokenizer = load_network(policy)
    return ScoringModel(
        policy, network, tokenizer, {package: version(package) for package in ("torch", "transformers")}
    )
