"""A decoder of under a million parameters that edits small crystals, with everything that made it.

Its checkpoint ships with the package, so that fine-tuning and evaluation run where there is neither a GPU nor a
network.
"""

from __future__ import annotations

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
"""Folder of the shipped model; ``AutoModelForCausalLM`` and ``AutoTokenizer`` load it."""
