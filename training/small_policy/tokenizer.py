"""The small policy's tokenizer: digits one by one, an element a token, the fixed lines of a CIF a token each.

A model this small learns to copy a row only where the row is cut alike in prompt and answer. So a token seldom depends
on what stands around it. Two exceptions: the three cell angles that most crystals have are one token each, and the
number of a site is no digit like those of a coordinate but a token of its own, `` 3`` after the word "site" and ``3 ``
at the end of a label, so that the row an instruction names can be found by it alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator

from ase.data import chemical_symbols
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from atomworld_env.actions import ACTIONS
from training.oracle_answers import EDITED_NAME

PAD, END, SYSTEM, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = (PAD, END, SYSTEM, USER, ASSISTANT)

MARKS = ("<cif>", "</cif>", "<think>", "</think>")
"""Ordinary tokens: decoding would drop special ones, and the reward looks for them."""

ELEMENTS = tuple(chemical_symbols[1:104])

LOOP_HEAD = "\nloop_\n" + "\n".join(
    f"_atom_site_{column}" for column in ("label", "type_symbol", "fract_x", "fract_y", "fract_z")
)
CELL_TAGS = tuple(
    f"\n_cell_{tag} " for tag in ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
)
COMMON_ANGLES = ("90.0000", "60.0000", "120.0000")
FRACTION_START = " 0."
"""Start of every printed fractional coordinate."""

EXAMPLE_PARAMETERS: dict[str, tuple[dict[str, object], ...]] = {
    "change": ({"index": 0, "element": "H"},),
    "remove": ({"index": 0},),
    "add": ({"element": "H", "position": [0.0, 0.0, 0.0]},),
    "insert_between": ({"index": 0, "towards": 1, "element": "H", "distance": 1.0},),
    "swap": ({"index": 0, "other": 1},),
    "delete_below": ({"index": 0, "include_level": True}, {"index": 0, "include_level": False}),
    "move": ({"index": 0, "displacement": [0.0, 0.0, 0.0]},),
    "move_towards": ({"index": 0, "towards": 1, "distance": 1.0},),
    "rotate_around": tuple(
        {"index": 0, "radius": 1.0, "angle": 90, "axis": [sign * float(axis == k) for k in range(3)]}
        for axis in range(3)
        for sign in (1, -1)
    ),
    "super_cell": ({"factors": [1, 2, 1]}, {"factors": [2, 1, 2]}),
}
"""Parameters of each edit whose instructions together show every word that its template has."""

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    f"{ASSISTANT}{{% generation %}}{{{{ message['content'] }}}}{END}{{% endgeneration %}}"
    "{% else %}"
    f"{{{{ '<|' + message['role'] + '|>' + message['content'] + '{END}' }}}}"
    "{% endif %}"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{ASSISTANT}{{% endif %}}"
)


def build_tokenizer(*, max_length: int) -> PreTrainedTokenizerFast:
    """The tokenizer, the same on every machine; any text comes back unchanged from its tokens.

    Args:
        max_length: tokens the model has positions for.
    """
    sites = [form for digit in string.digits for form in (f" {digit}", f"{digit} ")]
    whole = [*MARKS, f"data_{EDITED_NAME}", "data_", LOOP_HEAD, *CELL_TAGS, *COMMON_ANGLES, FRACTION_START]
    single = [*string.printable, "Å"]
    unknown = [f"<0x{byte:02X}>" for byte in range(256)]
    ordered = dict.fromkeys([*SPECIAL, *whole, *sites, *ELEMENTS, *instruction_words(), *single, *unknown])
    vocabulary = {token: number for number, token in enumerate(ordered)}
    # With `ignore_merges` a piece that is in the vocabulary is one token; what is not falls to characters, then bytes.
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_pieces(whole)), behavior="isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        chat_template=CHAT_TEMPLATE,
        padding_side="left",  # so that a batch can be continued
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
    )


def instruction_words() -> list[str]:
    """Words of the ten instructions, sorted, each with the blank before it, if there is one."""
    words: set[str] = set()
    for action, examples in EXAMPLE_PARAMETERS.items():
        for params in examples:
            words.update(re.findall(r" ?[A-Za-z]+", ACTIONS[action].instruction(params)))
    return sorted(word for word in words if len(word.strip()) > 1 and word.strip() not in ELEMENTS)


def _pieces(whole: Iterable[str]) -> str:
    """The regular expression that cuts a text into pieces, the first alternative that fits being taken."""
    return "|".join(_alternatives(whole))


def _alternatives(whole: Iterable[str]) -> Iterator[str]:
    angles = "|".join(re.escape(angle) for angle in COMMON_ANGLES)
    # Elsewhere the digits of 90.0000 stay single: only as an angle is it a name for a shape and not a quantity.
    yield f"(?<=_cell_angle_alpha |_cell_angle_beta |_cell_angle_gamma )(?:{angles})(?![0-9])"
    yield r" 0\.(?=[0-9]{4}(?![0-9]))"
    fixed = [text for text in whole if text not in COMMON_ANGLES and text != FRACTION_START]
    yield from (re.escape(text) for text in sorted(fixed, key=len, reverse=True))
    symbols = "|".join(sorted(ELEMENTS, key=len, reverse=True))
    yield "(?<= site) [0-9]"
    yield f"[0-9] (?=(?:{symbols}) )"
    yield f"(?:{symbols})(?![a-z])"
    # A blank goes with the word after it, but never with an element: that is one token wherever it stands.
    yield f" (?=(?:{symbols})(?![a-z]))"
    yield " ?[A-Za-z]{2,}"
    yield r"[\s\S]"
