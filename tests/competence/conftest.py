"""A tokenizer of bytes, a random network, and one that knows the true texts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from atomworld_env.competence.model import ScoringModel
from atomworld_env.competence.pairs import Pair, load_pairs


@pytest.fixture(scope="session")
def few_pairs() -> tuple[Pair, ...]:
    """Twelve pairs of each kind."""
    return load_pairs("competence", 12)


@pytest.fixture(scope="session")
def byte_tokenizer() -> Any:
    """Every byte a token, as in byte-level vocabularies that have learnt no merges."""
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<begin>": 1} | {character: number for number, character in enumerate(alphabet, start=2)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<begin>")


@pytest.fixture(scope="session")
def random_network(byte_tokenizer: Any) -> Any:
    """Two layers of Qwen3 with weights as they are before any training."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(byte_tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, head_dim=16, max_position_embeddings=2048,
            tie_word_embeddings=False,
        )
    ).eval()  # fmt: skip


class Knowing:
    """A network that finds each next token likelier by `boost` where the text as a whole is one of those it knows."""

    def __init__(self, known: Sequence[Sequence[int]], vocabulary: int, boost: float) -> None:
        self.config = SimpleNamespace(vocab_size=vocabulary, max_position_embeddings=4096)
        self.device, self.dtype = "cpu", "float32"
        self._known = {tuple(ids) for ids in known}
        self._boost = boost

    def __call__(self, *, input_ids: Any, attention_mask: Any, use_cache: bool) -> Any:
        import torch

        generator = torch.Generator().manual_seed(0)
        logits = torch.zeros((*input_ids.shape, self.config.vocab_size))
        for row, (ids, mask) in enumerate(zip(input_ids, attention_mask, strict=True)):
            length = int(mask.sum())
            logits[row, :length] = torch.randn((length, self.config.vocab_size), generator=generator)
            if tuple(ids[:length].tolist()) in self._known:
                logits[row, torch.arange(length - 1), ids[1:length]] += self._boost
        return SimpleNamespace(logits=logits)


@pytest.fixture
def knowing_model(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> ScoringModel:
    """A model that prefers the truth by construction."""
    known = [byte_tokenizer(pair.text(True))["input_ids"] for pair in few_pairs]
    return ScoringModel("hf:knowing", Knowing(known, len(byte_tokenizer), 2.0), byte_tokenizer)
