"""A random two-layer Qwen3 whose vocabulary holds whole answers, so that it earns something without having learnt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

CIF = """<cif>
data_made
_cell_length_a {a}
_cell_length_b 4.0
_cell_length_c 4.0
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na0 Na 0.0 0.0 0.0
</cif>"""

CHAT_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}<assistant>{% generation %}{{ m['content'] }}<end>"
    "{% endgeneration %}{% else %}<{{ m['role'] }}>{{ m['content'] }}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


CIFS = (CIF.format(a=4), CIF.format(a=5))


def save_tiny_model(folder: Path, *, seed: int = 0, context: int = 512, answers: Sequence[str] = CIFS) -> Path:
    """Save model and tokenizer into a folder; `answers` are tokens.

    Words of a prompt are all one token; a completion is a word, an answer that can be read (credit for that), or the
    end. So groups differ in reward, and training moves the weights.
    """
    words = ["<pad>", "<end>", "<user>", "<system>", "<assistant>", "word", *answers]
    return _save(folder, words, r"<[a-z]+>|[^\s<]+|\s+", "<end>", CHAT_TEMPLATE, context, seed)


def _save(
    folder: Path, words: Sequence[str], pieces: str, end: str, chat_template: str, context: int, seed: int
) -> Path:
    """A model whose tokens are these words, and its tokenizer, which cuts a text into such pieces."""
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="word"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pieces), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token=end,
        unk_token="word",
        chat_template=chat_template,
        model_max_length=context,
    )
    _tiny_network(len(words), context, seed).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def _tiny_network(words: int, context: int, seed: int) -> Qwen3ForCausalLM:
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=words,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=context,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )


def save_tool_model(folder: Path, calls: Sequence[str], *, seed: int = 0, context: int = 2048) -> Path:
    """As :func:`save_tiny_model`, with Qwen3's chat template and whole tool calls as tokens."""
    from trl.chat_template_utils import qwen3_chat_template

    turns = ["<pad>", "<|im_end|>", "<|im_start|>", "<think>", "</think>", "word", "\n", "user", "assistant"]
    markup = [*turns, "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
    whole = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
    words = [*markup, *whole]
    pieces = r"<[|/a-z_]+>|\n|[^\s<]+| +"
    return _save(folder, words, pieces, "<|im_end|>", qwen3_chat_template, context, seed)
