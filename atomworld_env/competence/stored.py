"""A run of chemical competence on disk: ``manifest.json``, and a line in ``scores.jsonl`` for each text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from atomworld_env.competence.effect import Effect, effect_of
from atomworld_env.errors import UsageError
from atomworld_env.evaluation.manifest import MANIFEST
from atomworld_env.evaluation.records import read_lines

KIND = "competence"
"""Stands as `kind` in the configuration of such a run."""
SCORES = "scores.jsonl"

MEASURES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "rank": ("mean_rank", -1),
        "log_likelihood": ("mean_log_likelihood", 1),
        "changed_rank": ("changed_mean_rank", -1),
        "changed_log_likelihood": ("changed_mean_log_likelihood", 1),
    }
)
"""Of each measure, the key in a line and the sign that makes higher better. `rank` is the published one."""

SCORE_KEYS = (
    "index", "pair_id", "family", "true", "tokens", "changed_tokens", *(key for key, _ in MEASURES.values()),
)  # fmt: skip
"""The keys of every line: place of the pair in the suite, its id, the crystal's family, whether this is the true text,
tokens of the text and of its changed sentence (those scored), and the means over them; null for a text that is too
long for the model."""


@dataclass(frozen=True)
class CompetenceResult:
    """What a run found.

    Attributes:
        folder: of the run.
        policy: name of the model.
        suite: name of the suite.
        fingerprint: of its pairs.
        pairs: pairs that count: both texts are scored.
        wanted: pairs that were to be scored.
        too_long: pairs left out because a text does not fit into the model's context.
        effects: of each measure in :data:`MEASURES`.
    """

    folder: Path
    policy: str
    suite: str
    fingerprint: str
    pairs: int
    wanted: int
    too_long: int
    effects: Mapping[str, Effect]

    @property
    def finished(self) -> bool:
        """Whether no text is left to be scored."""
        return self.pairs + self.too_long == self.wanted

    def to_json(self) -> dict[str, Any]:
        """Plain values, the effects by measure."""
        return {
            "policy": self.policy,
            "suite": self.suite,
            "fingerprint": self.fingerprint,
            "pairs": self.pairs,
            "wanted": self.wanted,
            "too_long": self.too_long,
            "effects": {name: effect.to_json() for name, effect in self.effects.items()},
        }


def is_competence_run(folder: Path) -> bool:
    """Whether the folder holds a run of chemical competence."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["config"]["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def read_scores(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run, in the order in which they were written; none if it has not begun.

    Raises:
        UsageError: naming file and line, if one is broken.
    """
    path = folder / SCORES
    return list(read_lines(path, SCORE_KEYS)) if path.is_file() else []


def read_competence(folder: Path) -> CompetenceResult:
    """What a stored run found, as far as it has come.

    Raises:
        UsageError: if the folder holds no such run, or a line is broken.
    """
    if not is_competence_run(folder):
        raise UsageError(
            f"{folder} holds no run of chemical competence; make one with `atomworld evaluate --suite {KIND}`"
        )
    config = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["config"]
    return result_of(folder, config, read_scores(folder))


def result_of(folder: Path, config: Mapping[str, Any], scores: list[dict[str, Any]]) -> CompetenceResult:
    """The figures of a run's lines."""
    both = list(_both_texts(scores))
    counted = [
        (true, false) for true, false in both if true["mean_rank"] is not None and false["mean_rank"] is not None
    ]
    families = [true["family"] for true, _ in counted]
    effects = {
        name: effect_of(
            [sign * true[key] for true, _ in counted], [sign * false[key] for _, false in counted], families
        )
        for name, (key, sign) in MEASURES.items()
    }
    return CompetenceResult(
        folder,
        str(config["policy"]),
        str(config["suite"]),
        str(config["fingerprint"]),
        len(counted),
        int(config["pairs"]),
        len(both) - len(counted),
        MappingProxyType(effects),
    )


def _both_texts(scores: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The true and the false line of each pair that has both, in the order of the suite."""
    lines = {(line["index"], line["true"]): line for line in scores}
    for index in sorted({place for place, _ in lines}):
        if (index, True) in lines and (index, False) in lines:
            yield lines[index, True], lines[index, False]
