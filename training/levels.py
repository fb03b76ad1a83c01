"""The levels of a curriculum: slices of the sites or of the difficulty that tasks are sampled from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.structures.pool import StructurePool
from atomworld_env.tasks.sampler import TaskSampler
from atomworld_env.tasks.sampler_config import SamplerConfig

_LOGGER = logging.getLogger(__name__)

LevelKind = Literal["sites", "difficulty"]
LEVEL_KINDS: tuple[LevelKind, ...] = ("sites", "difficulty")

PROBE_STRUCTURES, PROBE_DRAWS = 20, 50
"""What a cell is tried on before it is believed to admit no task."""


def level_configs(config: SamplerConfig, number: int, kind: LevelKind = "sites") -> list[SamplerConfig]:
    """The configuration cut into levels, easiest first.

    Args:
        number: levels wanted; there are fewer where the range has fewer steps.
        kind: ``sites`` cuts the range of sites into equal ratios, since the work grows with their number;
            ``difficulty`` cuts the range of difficulty scores into equal steps.

    Raises:
        UsageError: if the number is not positive or the kind unknown.
    """
    if number < 1:
        raise UsageError(f"a curriculum has at least one level, got {number}")
    if kind == "sites":
        edges = np.geomspace(config.min_sites, config.max_sites + 1, number + 1).round().astype(int)
        bounds = [(int(low), int(high) - 1) for low, high in pairwise(edges) if high > low]
        return [replace(config, min_sites=low, max_sites=high) for low, high in bounds]
    if kind == "difficulty":
        low, high = config.difficulty
        steps = [round(float(edge), 6) for edge in np.linspace(low, high, number + 1)]
        return [replace(config, difficulty=bounds) for bounds in pairwise(steps)]
    raise UsageError(f"unknown kind of level {kind!r}; choose from {', '.join(LEVEL_KINDS)}")


def admitted_levels(configs: Sequence[SamplerConfig], pool: StructurePool) -> dict[str, list[int]]:
    """For each edit, the levels that a few structures of the pool have a well-posed task for.

    Raises:
        UsageError: if an edit has none.
    """
    levels: dict[str, list[int]] = {action: [] for action in configs[0].actions}
    for level, config in enumerate(configs):
        try:
            sampler = TaskSampler(replace(config, max_structures=PROBE_STRUCTURES, max_draws=PROBE_DRAWS), pool=pool)
        except UsageError:  # no structure of that size
            continue
        for action, admitted in levels.items():
            try:
                sampler.sample(level, action)
            except UsageError:
                _LOGGER.warning("no task of %s at level %d of %d; left out", action, level, len(configs))
            else:
                admitted.append(level)
    for action, admitted in levels.items():
        if not admitted:
            raise UsageError(f"the pool gave no task of {action}; widen the sites or the difficulty, or leave it out")
    return levels
