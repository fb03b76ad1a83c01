"""Published figures of chemical competence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PUBLISHED_D: Mapping[str, float] = MappingProxyType(
    {"Qwen3-4B": 0.768, "Qwen3-8B": 0.829, "Qwen3-14B": 1.061, "Qwen3-32B": 1.141, "Llama3-70B": 0.987}
)
"""Cohen's d by mean token rank over all tokens, by the names of the published table of edits (arXiv:2510.04704).

Its 600 texts are not public, so ours are others: compare the order of models, not digits.
"""

CAVEAT = "published models (arXiv:2510.04704) read the benchmark's own 600 texts, ours are others: compare their order"
