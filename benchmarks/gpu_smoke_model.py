"""A Qwen3 with random weights and a tokenizer of the usual size, for runs that need a large model and no network."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

MARKUP = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CIF = """<cif>
data_{number}
_cell_length_a 4.0
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

# The published shape of Qwen3-0.6B, and one for a CPU.
FULL = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128}  # fmt: skip
TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 32}  # fmt: skip
VOCABULARY = {False: 151_936, True: 4_096}


def save_random_model(folder: Path, *, answer_tokens: int, tiny: bool) -> Path:
    """Save network and tokenizer; 0.6 billion weights, or a tiny one.

    The tokenizer reads single bytes. The rest of its vocabulary is never read, and written by chance: most are words
    without sense, some are whole crystals, so many that about half the answers of this length hold one and earn the
    credit for it. So groups differ in reward, and gradients are not zero.
    """
    size = VOCABULARY[tiny]
    crystals = round(0.7 * size / answer_tokens)
    as_token = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    whole = [as_token(CIF.format(number=number))[0][0] for number in range(crystals)]
    words = [*MARKUP, *letters, *whole]
    words += [f"word{number}" for number in range(size - len(words))]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(MARKUP))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=MARKUP[0],
        eos_token=MARKUP[2],
        chat_template=CHAT_TEMPLATE,
        model_max_length=8192,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    network = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=size,
            max_position_embeddings=8192,
            tie_word_embeddings=True,
            pad_token_id=0,
            eos_token_id=2,
            bos_token_id=None,
            **(TINY if tiny else FULL),
        )
    )
    network.save_pretrained(folder)
    return folder
