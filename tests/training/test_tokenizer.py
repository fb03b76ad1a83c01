"""The small policy's tokenizer gives every text back, and cuts rows alike in prompt and answer."""

from __future__ import annotations

from typing import Any

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.prompts.prompt import default_template, load_template
from atomworld_env.tasks.task import Task

pytest.importorskip("torch")
pytest.importorskip("transformers")

from training.oracle_answers import oracle_answer
from training.small_policy.tokenizer import EXAMPLE_PARAMETERS, MARKS, build_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(max_length=2048)


def test_prompts_and_answers_of_all_edits_come_back_unchanged(tokenizer: Any, compact_tasks: list[Task]) -> None:
    assert {task.action for task in compact_tasks} == set(ACTIONS)
    for task in compact_tasks:
        for text in (load_template("short").render(task.structure, task.prompt), oracle_answer(task)):
            assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "héllo 漢字 🙂",
        "\x00\x07\t\r\n",
        "90.0000 Nano NaNo <cif >",
        "<think>a</think>",
        "  0.12345 -0.5 1e-3 Å³",
    ],
)
def test_any_text_comes_back_unchanged(tokenizer: Any, text: str) -> None:
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_default_prompt_comes_back_unchanged(tokenizer: Any, compact_tasks: list[Task]) -> None:
    text = default_template().render(compact_tasks[0].structure, compact_tasks[0].prompt)
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_every_word_of_the_instructions_is_one_token(tokenizer: Any, compact_tasks: list[Task]) -> None:
    assert set(EXAMPLE_PARAMETERS) == set(ACTIONS)
    for task in compact_tasks:
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(task.prompt)["input_ids"])
        letters = [piece for piece in pieces if len(piece) == 1 and piece.isalpha()]
        # Single letters are elements and the names of axes; a word that fell to letters would show more of them.
        assert set(letters) <= set("abcxyzÅ") | set("HBCNOFPSKVYIWU")


def test_digits_are_tokens_of_their_own(tokenizer: Any) -> None:
    pieces = tokenizer.convert_ids_to_tokens(tokenizer("at site 12 by 3.45 Å")["input_ids"])
    assert [piece for piece in pieces if any(c.isdigit() for c in piece)] == [" 1", "2", "3", "4", "5"]


def test_the_number_of_a_site_is_no_digit_of_a_coordinate(tokenizer: Any) -> None:
    for text, number in (
        ("at site 3 into", " 3"),
        ("and site 3.", " 3"),
        ("\nNa3 Na 0.3333", "3 "),
        ("\nO13 O 0.3", "3 "),
    ):
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
        assert pieces.count(number) == 1


def test_a_row_is_cut_alike_in_prompt_and_answer(tokenizer: Any) -> None:
    row = ["\n", "Na", "0 ", "Na", " 0.", "1", "4", "0", "8", " 0.", "0", "0", "0", "0", " 0.", "5", "0", "0", "0"]
    for before in ("_atom_site_fract_z", "0.1234"):
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(before + "".join(row) + "\n")["input_ids"])
        assert pieces[-len(row) - 1 : -1] == row


def test_an_element_is_the_same_token_everywhere(tokenizer: Any) -> None:
    for text in ("into Si.", "data_SiO2", "\nSi4 Si 0.1250", "one Si atom"):
        assert "Si" in tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def test_answer_tags_survive_the_decoding_that_trl_does(tokenizer: Any) -> None:
    for mark in MARKS:
        assert tokenizer.decode(tokenizer(f"{mark}x")["input_ids"], skip_special_tokens=True) == f"{mark}x"


def test_a_completion_continues_the_prompt_token_by_token(tokenizer: Any) -> None:
    chat = [
        {"role": "user", "content": "Remove the atom at site 3."},
        {"role": "assistant", "content": "<cif>\n</cif>"},
    ]
    asked = tokenizer.apply_chat_template(chat[:1], add_generation_prompt=True, return_dict=True)["input_ids"]
    whole = tokenizer.apply_chat_template(chat, return_dict=True)["input_ids"]
    assert whole[: len(asked)] == asked
    assert whole[-1] == tokenizer.eos_token_id
    masked = tokenizer.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
    assert masked["assistant_masks"] == [0] * len(asked) + [1] * (len(whole) - len(asked))


def test_it_loads_without_code_of_this_package(tokenizer: Any, tmp_path: Any, compact_tasks: list[Task]) -> None:
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    answer = oracle_answer(compact_tasks[0])
    assert loaded(answer)["input_ids"] == tokenizer(answer)["input_ids"]
    assert loaded.padding_side == "left"
