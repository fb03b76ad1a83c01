"""How likely a language model finds each token of a text: log-probability, and rank in the vocabulary.

torch is imported when texts are scored, never with this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atomworld_env.errors import UsageError
from atomworld_env.policies.token_batches import is_out_of_memory, release_memory

LARGEST_LOGITS = 2**29
"""Numbers in the logits of one batch: 2 GiB in float32."""


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it.

    Attributes:
        ids: with whatever special tokens the tokenizer puts around a text.
        scored: of each token but the first, whether it counts: it stands for characters of the text.
        changed: of each token but the first, whether it has a character of the changed sentence.
    """

    ids: tuple[int, ...]
    scored: tuple[bool, ...]
    changed: tuple[bool, ...]


@dataclass(frozen=True)
class TextScore:
    """What is kept of a text.

    Attributes:
        tokens: how many are scored.
        changed_tokens: how many of them belong to the changed sentence.
        mean_rank: rank of the token in the vocabulary, 1 for the likeliest, ties counted as their mean rank.
        mean_log_likelihood: natural logarithm of the token's probability.
        changed_mean_rank, changed_mean_log_likelihood: over the changed sentence alone.
    """

    tokens: int
    changed_tokens: int
    mean_rank: float
    mean_log_likelihood: float
    changed_mean_rank: float
    changed_mean_log_likelihood: float


def tokens_of(tokenizer: Any, text: str, start: int, end: int) -> Tokens:
    """The text as tokens.

    The first token is never scored, as nothing stands before it; where the tokenizer begins a text with a token of
    its own, that is the one. A slow tokenizer does not say where its tokens stand in the text; there the changed
    sentence has the tokens by which the text up to its end is longer than the text up to its start.

    Args:
        start, end: where the changed sentence begins and ends, in characters.

    Raises:
        UsageError: if the tokenizer has no tokens for the text.
    """
    if getattr(tokenizer, "is_fast", False):
        encoded = tokenizer(text, return_offsets_mapping=True)
        ids = list(encoded["input_ids"])
        places = [(int(first), int(last)) for first, last in encoded["offset_mapping"]]
        scored = [first < last for first, last in places]
        changed = [first < last and first < end and last > start for first, last in places]
    else:
        ids = list(tokenizer(text)["input_ids"])
        special = set(tokenizer.all_special_ids)
        scored = [token not in special for token in ids]
        first, last = (len(tokenizer(text[:place].rstrip())["input_ids"]) for place in (start, end))
        ending = len(tokenizer("")["input_ids"]) - (1 if ids and ids[0] in special else 0)  # tokens put after a text
        changed = [first - ending <= place < last - ending for place in range(len(ids))]
    unknown = tokenizer.unk_token_id
    if unknown is not None and unknown in ids:
        raise UsageError(
            "the tokenizer of this model has no tokens for some of the texts (it calls them unknown); use another model"
        )
    return Tokens(tuple(ids), tuple(scored[1:]), tuple(c and s for c, s in zip(changed[1:], scored[1:], strict=True)))


def context_of(network: Any) -> int | None:
    """The longest text, in tokens, that the model is made for; None if it does not say."""
    positions = getattr(_text_config(network), "max_position_embeddings", None)
    return None if positions is None else int(positions)


def _text_config(network: Any) -> Any:
    """The part of the configuration that is of the language model, where there are others."""
    config = network.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def score_all(
    network: Any, texts: Sequence[Tokens], *, padding: int, batch_size: int
) -> Iterator[tuple[int, TextScore]]:
    """Score each text, in batches of texts of like length.

    Args:
        network: a causal language model of transformers.
        texts: none longer than the model's context.
        padding: id of the token that fills short texts up, on the right; it is masked.
        batch_size: texts together, fewer where the logits would be large or the memory does not hold them.

    Yields:
        The number of a text and its score, the longest texts first.

    Raises:
        UsageError: if the memory does not hold even one text.
    """
    order = sorted(range(len(texts)), key=lambda number: (-len(texts[number].ids), number))
    size = batch_size
    while order:
        batch = order[: _most_rows(network, len(texts[order[0]].ids), size)]
        scores = _score_batch(network, [texts[number] for number in batch], padding)
        if scores is None:  # outside the handler, whose traceback holds on to the tensors
            release_memory()
            if len(batch) == 1:
                raise UsageError(
                    "the memory does not hold the model and one text; use a smaller model, or a larger machine"
                )
            size = len(batch) // 2
            continue
        order = order[len(batch) :]
        yield from zip(batch, scores, strict=True)


def _most_rows(network: Any, longest: int, batch_size: int) -> int:
    return max(1, min(batch_size, LARGEST_LOGITS // (longest * int(_text_config(network).vocab_size))))


def _score_batch(network: Any, texts: Sequence[Tokens], padding: int) -> list[TextScore] | None:
    """The scores of one batch, or None if the memory does not hold it."""
    import torch

    longest = max(len(text.ids) for text in texts)
    ids = torch.full((len(texts), longest), padding, dtype=torch.long)
    mask = torch.zeros((len(texts), longest), dtype=torch.long)
    for row, text in enumerate(texts):
        ids[row, : len(text.ids)] = torch.tensor(text.ids)
        mask[row, : len(text.ids)] = 1
    try:
        with torch.inference_mode():
            device = network.device
            logits = network(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False).logits
            return [_score(logits[row], text) for row, text in enumerate(texts)]
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return None


def _score(logits: Any, text: Tokens) -> TextScore:
    """The score of one text from its (positions, vocabulary) logits; the arithmetic is in float32."""
    import torch

    predicted = logits[: len(text.ids) - 1].float()
    wanted = torch.tensor(text.ids[1:], device=logits.device)[:, None]
    own = predicted.gather(1, wanted)
    likelihoods = (own - torch.logsumexp(predicted, dim=1, keepdim=True))[:, 0]
    above, equal = (predicted > own).sum(dim=1), (predicted == own).sum(dim=1)
    # In bfloat16 many tokens of a large vocabulary have one logit; taken first among them all, each would look likely.
    ranks = 1 + above + (equal - 1) / 2
    values = torch.stack([ranks.double(), likelihoods.double()]).cpu().numpy()
    if not np.isfinite(values).all():
        raise UsageError("the model's output is not finite; load weights that are whole, in a precision they bear")
    scored, changed = np.array(text.scored), np.array(text.changed)
    (rank, likelihood), (changed_rank, changed_likelihood) = (
        values[:, scored].mean(axis=1),
        values[:, changed].mean(axis=1),
    )
    return TextScore(
        int(scored.sum()), int(changed.sum()), float(rank), float(likelihood), float(changed_rank),
        float(changed_likelihood),
    )  # fmt: skip
