"""pass@k and mean@k of tasks that were asked several times."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from atomworld_env.evaluation.asked import AskedTask
from atomworld_env.evaluation.intervals import Rate, rate_of


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Chance that at least one of k attempts, drawn without replacement from the samples, is right.

    The unbiased estimator 1 - C(n-c, k)/C(n, k) of Chen et al., arXiv:2107.03374 (2021), eq. 1.

    Raises:
        ValueError: unless 1 <= k <= samples and 0 <= right <= samples.
    """
    if not (1 <= k <= samples and 0 <= right <= samples):
        raise ValueError(f"pass@{k} of {right} right among {samples} samples is not defined")
    return 1.0 - comb(samples - right, k) / comb(samples, k)


def pass_rates(tasks: Sequence[AskedTask], profile: str) -> list[Rate]:
    """pass@1 … pass@k of the tasks, k the samples of each; unanswered ones count as wrong.

    Each task gives one estimate first, so that its k samples are not taken for k tasks, and the interval is clustered
    by structure. pass@1 is mean@k: the mean over tasks of the share of right samples.
    """
    structures = [task.structure_id for task in tasks]
    most = min((task.asked for task in tasks), default=0)
    return [
        rate_of(
            [pass_at_k(task.asked, task.right(profile), k) for task in tasks],
            [1] * len(tasks),
            structures,
        )
        for k in range(1, most + 1)
    ]
