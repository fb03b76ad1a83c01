"""How much each token of an answer counts in the loss.

Most of an answer is copied, and most of what is not copied cannot be learnt: the third and fourth decimals of a
worked-out coordinate are noise to a model this small (0.1 Å is two decimals of a cell of 10 Å). Left alone, they drown
the few tokens that carry the edit, such as the element an atom becomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from transformers import PreTrainedTokenizerBase

from training.small_policy.tokenizer import FRACTION_START, LOOP_HEAD


@dataclass(frozen=True)
class TokenWeights:
    """Weights of tokens in the rows of sites; all others count 1.

    Attributes:
        atom: of label and element, which say what the edit did, in every row.
        coarse: of the first two decimals of each coordinate, in rows that the edit made: the prompt has none like it.
        fine: of the decimals after them.
    """

    atom: float = 4.0
    coarse: float = 1.0
    fine: float = 0.1


WANTED_DECIMALS = 2


class Weigher:
    """Weights of answers under one tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, weights: TokenWeights) -> None:
        self._weights = weights
        newline, self._head, self._fraction = (
            int(tokenizer.convert_tokens_to_ids(token)) for token in ("\n", LOOP_HEAD, FRACTION_START)
        )
        # The last row of a prompt ends with the end of the turn instead of a line break.
        self._line_ends = {newline, *tokenizer.all_special_ids}

    def weigh(self, prompt: Sequence[int], answer: Sequence[int]) -> list[float]:
        """A weight for each token of the answer."""
        known = {tuple(prompt[start:end]) for start, end in self._rows(prompt)}
        weights = [1.0] * len(answer)
        for start, end in self._rows(answer):
            row = answer[start:end]
            weights[start:end] = self._row(row, made=tuple(row) not in known)
        return weights

    def _row(self, row: Sequence[int], *, made: bool) -> list[float]:
        weights: list[float] = []
        decimals = None
        for token in row:
            decimals = 0 if token == self._fraction else None if decimals is None else decimals + 1
            if decimals is None:
                weights.append(self._weights.atom)
            elif made:
                weights.append(self._weights.coarse if decimals <= WANTED_DECIMALS else self._weights.fine)
            else:
                weights.append(1.0)
        return weights

    def _rows(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """First token, and the one after the last, of each row of the loop of sites."""
        if self._head not in ids:
            return
        ends = [k for k in range(list(ids).index(self._head), len(ids)) if ids[k] in self._line_ends]
        for before, after in pairwise(ends):
            if self._fraction in ids[before + 1 : after]:
                yield before + 1, after
