"""Score all texts of a suite under one model, a line on disk for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atomworld_env.competence.model import ScoringModel
from atomworld_env.competence.pairs import Pair, fingerprint
from atomworld_env.competence.stored import KIND, SCORES, CompetenceResult, is_competence_run, read_scores, result_of
from atomworld_env.competence.token_scores import TextScore, Tokens, context_of, score_all, tokens_of
from atomworld_env.errors import UsageError
from atomworld_env.evaluation.manifest import MANIFEST, begin, versions_of
from atomworld_env.evaluation.records import append_line, drop_cut_line

PACKAGES = ("atomworld-env", "numpy", "scipy", "torch", "transformers")
"""Packages whose version can change a figure."""


def run_competence(
    model: ScoringModel,
    suite: str,
    pairs: Sequence[Pair],
    folder: Path,
    *,
    batch_size: int,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CompetenceResult:
    """Score what is not scored yet, and work out the figures.

    Args:
        suite: name of the suite that the pairs are of.
        folder: of the run; made if missing.
        batch_size: texts together at most.
        resume: go on with the run in the folder, which must have been started with the same settings.
        progress: called with the number of texts done and of all.

    Raises:
        UsageError: if the folder holds another run or cannot be written, or the model cannot read the texts.
    """
    config = {
        "kind": KIND,
        "policy": model.name,
        "settings": model.settings,
        "suite": suite,
        "fingerprint": fingerprint(pairs),
        "pairs": len(pairs),
    }
    texts = {(index, true): _tokens(model, pair, true) for index, pair in enumerate(pairs) for true in (True, False)}
    # Through JSON, so that a stored one compares equal.
    wanted = json.loads(json.dumps({"config": config, "versions": versions_of(PACKAGES)}))
    begin(folder, wanted, resume=resume, read=_read)
    path = folder / SCORES
    drop_cut_line(path)
    done = {(line["index"], line["true"]) for line in read_scores(folder)}
    context = context_of(model.network)
    with path.open("a", encoding="utf-8", newline="\n") as file:

        def keep(place: tuple[int, bool], score: TextScore | None) -> None:
            append_line(file, _line(pairs[place[0]], *place, texts[place], score))
            done.add(place)
            if progress is not None:
                progress(len(done), len(texts))

        fitting = []
        for place in [place for place in texts if place not in done]:
            if context is None or len(texts[place].ids) <= context:
                fitting.append(place)
            else:
                keep(place, None)
        padding = model.tokenizer.pad_token_id
        for number, score in score_all(
            model.network, [texts[place] for place in fitting], padding=padding or 0, batch_size=batch_size
        ):
            keep(fitting[number], score)
    return result_of(folder, config, read_scores(folder))


def _tokens(model: ScoringModel, pair: Pair, true: bool) -> Tokens:
    return tokens_of(model.tokenizer, pair.text(true), *pair.changed(true))


def _line(pair: Pair, index: int, true: bool, text: Tokens, score: TextScore | None) -> dict[str, Any]:
    place = {"index": index, "pair_id": pair.pair_id, "family": pair.family, "true": true}
    if score is None:
        missing = dict.fromkeys(TextScore.__dataclass_fields__)
        return place | missing | {"tokens": sum(text.scored), "changed_tokens": sum(text.changed)}
    return place | asdict(score)


def _read(folder: Path) -> dict[str, Any]:
    if not is_competence_run(folder):
        raise UsageError(f"{folder} holds a run of another kind; choose another --out")
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest
