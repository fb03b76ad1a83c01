"""Batches of near-equal lengths, in an order that depends on the seed and the position alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from training.small_policy.practice import PAIRS_PER_WINDOW, Practice
from training.small_policy.token_weights import TokenWeights, Weigher

IGNORED = -100


@dataclass(frozen=True)
class Batch:
    """Token ids, labels and weights in the loss, shape (pairs, length); labels are -100 outside the answer."""

    ids: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor

    @property
    def real_tokens(self) -> int:
        """Tokens that are no padding; the end of an answer has a label, so the last one of a row counts."""
        return int((self.ids != 0).sum())


class Batches:
    """Batches by window: window w holds pairs 512 w … 512 w + 511, cut into batches of about `tokens` tokens."""

    def __init__(
        self, practice: Practice, tokenizer: PreTrainedTokenizerBase, *, tokens: int, weights: TokenWeights
    ) -> None:
        self.practice = practice
        self._weigher = Weigher(tokenizer, weights)
        self.tokenizer = tokenizer
        self.tokens = tokens

    def window(self, number: int) -> list[Batch]:
        """All batches of a window, shuffled."""
        first = number * PAIRS_PER_WINDOW
        pairs = [self.practice.pair(k) for k in range(first, first + PAIRS_PER_WINDOW)]
        rows = sorted(self._tokens([(pair.prompt, pair.answer) for pair in pairs]), key=lambda row: len(row[0]))
        groups: list[list[tuple[list[int], int]]] = [[]]
        for row in rows:
            if groups[-1] and len(row[0]) * (len(groups[-1]) + 1) > self.tokens:
                groups.append([])
            groups[-1].append(row)
        rng = np.random.default_rng(np.random.SeedSequence([self.practice.seed, number]))
        return [self._padded(groups[k]) for k in rng.permutation(len(groups))]

    def _tokens(self, texts: Sequence[tuple[str, str]]) -> list[tuple[list[int], int]]:
        """Token ids of prompt and answer together, and the length of the prompt."""
        chats = [
            [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}] for prompt, answer in texts
        ]
        whole = self.tokenizer.apply_chat_template(chats, return_dict=True)["input_ids"]
        asked = self.tokenizer.apply_chat_template(
            [chat[:1] for chat in chats], add_generation_prompt=True, return_dict=True
        )
        return [(list(ids), len(prompt)) for ids, prompt in zip(whole, asked["input_ids"], strict=True)]

    def _padded(self, rows: Sequence[tuple[list[int], int]]) -> Batch:
        length = max(len(ids) for ids, _ in rows)
        # Padding stands on the right, where no token attends to it, so that attention needs no mask.
        ids = torch.full((len(rows), length), int(self.tokenizer.pad_token_id))
        labels = torch.full((len(rows), length), IGNORED)
        weights = torch.zeros(len(rows), length)
        for k, (tokens, start) in enumerate(rows):
            ids[k, : len(tokens)] = torch.tensor(tokens)
            labels[k, start : len(tokens)] = torch.tensor(tokens[start:])
            weights[k, start : len(tokens)] = torch.tensor(self._weigher.weigh(tokens[:start], tokens[start:]))
        return Batch(ids, labels, weights)
