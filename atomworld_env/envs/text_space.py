"""A space of any text: `gymnasium.spaces.Text` holds letters and digits only, unless every character is listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space

SAMPLE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_.- \n"


class TextSpace(Space[str]):
    """Every Python string: newlines, any Unicode, of any length.

    Works in sync vector environments, and in async ones with ``shared_memory=False``; with shared memory (the default
    of ``AsyncVectorEnv``) Gymnasium refuses it at construction instead of returning garbage, as it does for ``Text``.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Up to 64 random characters; a mask makes no sense here and is refused."""
        if mask is not None or probability is not None:
            raise ValueError("TextSpace takes no mask and no probability")
        length = int(self.np_random.integers(0, 65))
        picks = self.np_random.integers(len(SAMPLE_CHARACTERS), size=length)
        return "".join(SAMPLE_CHARACTERS[k] for k in picks)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def to_jsonable(self, sample_n: Any) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(text) for text in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace)

    def __hash__(self) -> int:
        return hash(TextSpace)

    def __repr__(self) -> str:
        return "TextSpace()"
