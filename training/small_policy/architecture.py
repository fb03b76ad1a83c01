"""The small policy's network: transformers' Qwen3, narrow and shallow, with random weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase, Qwen3Config, Qwen3ForCausalLM


@dataclass(frozen=True)
class Shape:
    """Size of the network.

    Attributes:
        width: numbers per token in the residual stream.
        layers: of attention and feed-forward.
        heads: of attention, each `width / heads` wide.
        feed_forward: width inside the feed-forward part.
        max_length: positions; prompt and answer together.
    """

    width: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 256
    max_length: int = 2048


def new_network(tokenizer: PreTrainedTokenizerBase, shape: Shape, *, seed: int) -> Qwen3ForCausalLM:
    """A network with random weights, input and output embedding tied, in float32."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.width // shape.heads,
        max_position_embeddings=shape.max_length,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        initializer_range=0.02,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    network = Qwen3ForCausalLM(config)
    network.generation_config.pad_token_id = tokenizer.pad_token_id
    network.generation_config.eos_token_id = tokenizer.eos_token_id
    return network
