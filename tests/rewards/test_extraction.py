"""What counts as the CIF of an answer."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards import extract_cif

CIF = "data_x\n_cell_length_a 4.2\nloop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\nNa0 0.1 0.2 0.3"
OTHER = CIF.replace("data_x", "data_other")


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        pytest.param(f"<cif>{CIF}</cif>", "tags", CIF, id="tags"),
        pytest.param(f"Here: <cif>{OTHER}</cif> no, <cif>{CIF}</cif> done", "tags", CIF, id="last-pair"),
        pytest.param(f"<cif>{CIF}</cif> in the <cif></cif> tags", "tags", CIF, id="last-pair-that-is-not-blank"),
        pytest.param(f"<cif>{CIF}</cif>, as asked in <cif>…</cif> tags", "tags", CIF, id="last-pair-with-a-digit"),
        pytest.param("<cif>a</cif> or <cif>b</cif>", "tags", "b", id="last-pair-where-none-has-a-digit"),
        pytest.param(f"<cif>{CIF}</cif><cif>\n```\n```\n</cif>", "tags", CIF, id="last-pair-with-fences-only"),
        pytest.param("\ufeff" + CIF, "bare", CIF, id="byte-order-mark"),
        pytest.param(f"<cif>{CIF.replace(' ', chr(0xA0))}</cif>", "tags", CIF, id="no-break-spaces"),
        pytest.param(f"```\n{CIF.replace(' ', chr(0x202F))}\n```", "fence", CIF, id="narrow-no-break-spaces"),
        pytest.param(f"<cif>{CIF.replace('0.', '0.' + chr(0x200B))}</cif>", "tags", CIF, id="spaces-of-no-width"),
        pytest.param(f"<CIF>{CIF}</Cif>", "tags", CIF, id="tags-in-any-case"),
        pytest.param(f"<cif>the <cif>{CIF}</cif>", "tags", CIF, id="innermost-opening"),
        pytest.param(f"<cif>{CIF}</cif> and </cif>", "tags", CIF, id="stray-closing-after"),
        pytest.param(f"<cif>{CIF}</cif> or <cif>{OTHER}", "tags", CIF, id="complete-pair-before-open-one"),
        pytest.param(f"<cif>\n```cif\n{CIF}\n```\n</cif>", "tags", CIF, id="fence-inside-tags"),
        pytest.param(f"<think><cif>{OTHER}</cif></think><cif>{CIF}</cif>", "tags", CIF, id="after-thinking"),
        pytest.param(f"<think>a</think><think>b</think><cif>{CIF}</cif>", "tags", CIF, id="thinks-twice"),
        pytest.param(f"<cif>{OTHER}</cif></think>{CIF}", "bare", CIF, id="stray-think-closing"),
        pytest.param(f"<cif>{CIF}</cif><think>hm <cif>{OTHER}</cif>", "tags", CIF, id="open-think-after"),
        pytest.param(f"<think>{OTHER}</think>\n```\n{CIF}\n```", "fence", CIF, id="fence"),
        pytest.param(f"```cif\n{CIF}\n```\n```\nno crystal\n```", "fence", CIF, id="last-fence-with-a-crystal"),
        pytest.param(f"```\n{OTHER}\n```\n```\n{CIF}\n```", "fence", CIF, id="last-fence"),
        pytest.param(f"```\n{OTHER}\n```\n```cif\n{CIF}", "fence", CIF, id="last-fence-cut-off"),
        pytest.param(f"```cif\n{OTHER}\n```cif\n{CIF}\n```", "fence", CIF, id="forgotten-closing-fence"),
        pytest.param(f"```cif\n# made by hand\n{CIF}\n```", "fence", CIF, id="comment-before-data"),
        pytest.param(f"The answer is\n{CIF}", "bare", CIF, id="bare"),
        pytest.param(f"the data_ block follows\n  {CIF}", "bare", CIF, id="bare-needs-a-line-start"),
        pytest.param(f"<cif>{CIF}", "bare", CIF, id="closing-tag-missing"),
        pytest.param(f"data_draft\n<cif>{CIF}", "bare", CIF, id="open-tag-hides-what-is-before"),
        *(
            pytest.param(f"<cif>\n{CIF}{between}{'</cif>'[:cut]}", "bare", CIF, id=f"closing-tag-cut-{cut}{where}")
            for cut in range(1, 6)
            for between, where in (("\n", "-own-line"), ("", "-same-line"))
        ),
        pytest.param(f"{CIF}</cif>", "bare", CIF, id="opening-tag-missing"),
        pytest.param(f"{CIF}\n<|im_end|>", "bare", CIF, id="chat-token-after"),
        pytest.param(f"{CIF}\n\nI moved atom 3 by 0.5 Å.", "bare", CIF, id="prose-after-bare"),
        pytest.param(f"{CIF}\n```\nThat is all.", "bare", CIF, id="closing-fence-only"),
    ],
)
def test_rule(text: str, rule: str, expected: str) -> None:
    found = extract_cif(text)
    assert found.rule == rule
    assert found.cif is not None
    assert found.cif.strip() == expected


def test_rows_after_a_blank_line_belong_to_the_bare_block() -> None:
    text = f"{CIF}\n\nNa1 0.4 0.5 0.6"
    assert extract_cif(text).cif == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "no <cif>", id="empty"),
        pytest.param("I cannot do that.", "no <cif>", id="prose"),
        pytest.param(f"<think>let me see {CIF}", "never closed", id="thinking-cut-off"),
        pytest.param(f"<think>a <cif>{CIF}</cif>", "never closed", id="tags-inside-open-thinking"),
        pytest.param(f"<think>x</think><think><cif>{CIF}</cif>", "never closed", id="second-thinking-open"),
        pytest.param(f"<cif>{CIF}</cif></think>", "no <cif>", id="everything-thought"),
        pytest.param(f"<cif> \n </cif>\n{CIF}", "nothing between", id="empty-tags"),
        pytest.param("```\nno crystal\n```", "no <cif>", id="fence-without-data"),
        pytest.param(None, "NoneType", id="none"),
        pytest.param(b"<cif>data_x</cif>", "bytes", id="bytes"),
        pytest.param(["<cif>data_x</cif>"], "list", id="list"),
    ],
)
def test_no_cif(text: object, reason: str) -> None:
    found = extract_cif(text)
    assert (found.cif, found.rule) == (None, "none")
    assert reason in found.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"<cif>{CIF}</cif>", CIF, id="plain"),
        pytest.param(f"<cif>{OTHER}</cif><cif>{CIF}</cif>", CIF, id="last-pair"),
        pytest.param(f"<cif>```\n{CIF}\n```</cif>", f"```\n{CIF}\n```", id="fences-stay"),
        pytest.param(f"<think><cif>{CIF}</cif>", CIF, id="thinking-does-not-matter"),
        pytest.param(f"<cif>a<cif>{CIF}</cif>", f"a<cif>{CIF}", id="first-opening"),
        pytest.param(f"<cif>{CIF}</cif> in <cif></cif>", "", id="blank-pair"),
        pytest.param(f"<cif>\ufeff{CIF}\u00a0</cif>", f"\ufeff{CIF}\u00a0", id="spaces-stay"),
        pytest.param(f"<CIF>{CIF}</CIF>", None, id="lower-case-only"),
        pytest.param(f"```\n{CIF}\n```", None, id="no-fence"),
        pytest.param(CIF, None, id="no-bare-text"),
        pytest.param(f"<cif>{CIF}", None, id="no-open-pair"),
    ],
)
def test_published_rule(text: str, expected: str | None) -> None:
    found = extract_cif(text, strict_tags=True)
    assert found.cif == expected
    assert found.tags_ok == extract_cif(text).tags_ok == (expected is not None)
    assert found.cif == next(iter(re.findall(r"<cif>(.*?)</cif>", text, re.DOTALL)[::-1]), None)


class Hostile(str):
    """A text of which no method works."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError

    __len__ = __eq__ = __hash__ = find = isascii = replace = __getitem__ = __str__  # type: ignore[assignment]


def test_a_text_whose_methods_raise() -> None:
    assert extract_cif(Hostile(f"<cif>{CIF}</cif>")).cif == CIF
    assert type(extract_cif(Hostile(CIF)).cif) is str


PIECES = [
    "<cif>",
    "</cif>",
    "<think>",
    "</think>",
    "```",
    "```cif",
    "\n",
    "data_x",
    " ",
    "</ci",
    "\ud800",
    "\0",
    "İ",
    CIF,
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join))
@settings(max_examples=400, deadline=None)
def test_any_text(text: str) -> None:
    lenient, published = extract_cif(text), extract_cif(text, strict_tags=True)
    assert (lenient.cif is None) == (lenient.rule == "none")
    assert published.cif == next(iter(re.findall(r"<cif>(.*?)</cif>", text, re.DOTALL)[::-1]), None)
    if lenient.cif is not None:
        assert "think>" not in lenient.cif.lower() or "<think>" not in text


@pytest.mark.parametrize(
    "piece",
    ["<cif>", "</cif>", "<cif></cif>", "<think>", "</think>", "```\n", "```cif\ndata_\n", "\n", " ", "<", "data_\n"],
)
def test_a_megabyte_takes_no_more_than_seconds(piece: str) -> None:
    started = time.process_time()
    extract_cif(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 3
