"""A random two-layer Qwen3 whose vocabulary holds whole answers, so that it earns something without having learnt."""

from __future__ import annotations

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


def save_tiny_model(folder: Path, *, seed: int = 0, context: int = 512) -> Path:
    """Save model and tokenizer into a folder.

    Words of a prompt are all one token; a completion is a word, an answer that can be read (credit for that), or the
    end. So groups differ in reward, and training moves the weights.
    """
    words = ["<pad>", "<end>", "<user>", "<system>", "<assistant>", "word", CIF.format(a=4), CIF.format(a=5)]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="word"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"<[a-z]+>|[^\s<]+|\s+"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<end>",
        unk_token="word",
        chat_template=CHAT_TEMPLATE,
        model_max_length=context,
    )
    torch.manual_seed(seed)
    network = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(words),
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
    network.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
