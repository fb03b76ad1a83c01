"""How the small policy's weights are stepped: Muon for the matrices, AdamW for the rest, one schedule for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Schedule:
    """Warm-up, level, decay (WSD): the level has no length of its own, so that a run can be given more time.

    Attributes:
        peak: learning rate on the level.
        warmup_steps: from 0 to the level.
        decay: share of the budget over which the rate falls to `floor` times the peak.
        floor: see `decay`.
    """

    peak: float = 0.01
    warmup_steps: int = 50
    decay: float = 0.25
    floor: float = 0.02

    def rate(self, step: int, spent: float) -> float:
        """Learning rate after `step` steps with this share of the budget (0 … 1) spent."""
        rising = min(1.0, (step + 1) / max(1, self.warmup_steps))
        left = (1.0 - min(1.0, spent)) / self.decay if self.decay > 0 else 1.0
        return self.peak * rising * max(self.floor, min(1.0, left))


def make_optimisers(network: nn.Module, *, weight_decay: float, muon: bool) -> list[torch.optim.Optimizer]:
    """Optimisers that share one learning rate.

    Muon's step is scaled to the size of AdamW's (``match_rms_adamw``), which is what lets them share it.

    Args:
        weight_decay: of the matrices; embeddings and norms have none.
        muon: False takes AdamW for the matrices too.
    """
    named = [(name, weight) for name, weight in network.named_parameters() if weight.requires_grad]
    matrices = [weight for name, weight in named if weight.ndim == 2 and "embed" not in name]
    chosen = {id(weight) for weight in matrices}
    rest = [weight for _, weight in named if id(weight) not in chosen]
    betas = (0.9, 0.98)
    if muon:
        return [
            torch.optim.Muon(matrices, lr=0.0, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=0.0, betas=betas, weight_decay=0.0),
        ]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, lr=0.0, betas=betas)]


def step_all(optimisers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    """One step of each at this learning rate, gradients cleared after it."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
