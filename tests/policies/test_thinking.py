"""A thought that uses up its budget is closed, and what a template opens is not taken for an answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.thinking import CLOSED_BY_FORCE, Continuation, Prompt, answer_text, continue_all, prompt_of
from rewards import extract_cif

END = ord("$")


class Letters:
    """A tokenizer of characters; its template opens a thought when thinking is not switched off."""

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool = False) -> str:
        return "".join(chr(token) for token in tokens if not (skip_special_tokens and token == END))

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(letter) for letter in text]

    def apply_chat_template(
        self, messages: list[dict[str, str]], enable_thinking: bool = True, **options: object
    ) -> dict[str, list[int]]:
        return {"input_ids": self.encode(messages[0]["content"] + ("<think>\n" if enable_thinking else "|"))}


def saying(*parts: str) -> object:
    """A model that says the first part, then, asked to go on, the second; "$" is its end."""
    calls: list[list[str]] = []

    def further(numbers: Sequence[int], texts: Sequence[list[int]], limits: Sequence[int]) -> list[Continuation]:
        calls.append([Letters().decode(text) for text in texts])
        said = parts[len(calls) - 1]
        cut = [Letters().encode(said)[:limit] for limit in limits]
        return [Continuation(tokens, bool(tokens) and tokens[-1] == END) for tokens in cut]

    further.calls = calls  # type: ignore[attr-defined]
    return further


def ask(further: object, *, limit: int = 100, budget: int | None = 10, opened: bool = False) -> Continuation:
    prompt = Prompt(Letters().encode("Q"), opened)
    decoding = Decoding(max_new_tokens=200, thinking_budget=budget)
    return continue_all(Letters(), [prompt], [limit], decoding, further)[0]  # type: ignore[arg-type]


def test_an_open_thought_is_closed_at_its_budget_and_the_answer_goes_on() -> None:
    further = saying("<think>and so on and on", "answer$")
    answer = ask(further)
    assert Letters().decode(answer.tokens) == f"<think>and{CLOSED_BY_FORCE}answer$"
    assert answer.ended
    assert further.calls[1] == [f"Q<think>and{CLOSED_BY_FORCE}"]  # type: ignore[attr-defined]


def test_a_thought_that_the_template_has_opened_is_closed_too() -> None:
    answer = ask(saying("endless thought", "answer$"), opened=True)
    assert Letters().decode(answer.tokens) == f"endless th{CLOSED_BY_FORCE}answer$"


def test_a_thought_within_its_budget_is_left_alone() -> None:
    further = saying("<think>a</think>answer$")
    assert Letters().decode(ask(further, budget=30).tokens) == "<think>a</think>answer$"
    assert len(further.calls) == 1  # type: ignore[attr-defined]


def test_an_answer_that_is_under_way_at_the_budget_goes_on_unchanged() -> None:
    answer = ask(saying("no thought, an answer", "swer$"), budget=14)
    assert Letters().decode(answer.tokens) == "no thought, answer$"


def test_both_parts_together_keep_to_the_limit() -> None:
    answer = ask(saying("<think>and so on", "x" * 500), limit=40)
    assert len(answer.tokens) == 40
    assert not answer.ended


def test_no_room_is_left_when_the_budget_is_the_limit() -> None:
    answer = ask(saying("<think>and so on"), limit=10)
    assert not answer.ended


def test_without_a_budget_nothing_is_closed() -> None:
    assert Letters().decode(ask(saying("<think>on and on"), budget=None, limit=12).tokens) == "<think>on an"


@pytest.mark.parametrize(("thinking", "opened"), [(None, True), (True, True), (False, False)])
def test_the_template_is_asked_for_thought_or_none(thinking: bool | None, opened: bool) -> None:
    prompt = prompt_of(Letters(), [{"role": "user", "content": "Q"}], Decoding(thinking=thinking))
    assert prompt.opened is opened


def test_a_draft_in_a_thought_that_never_ends_is_no_answer() -> None:
    draft = Continuation(Letters().encode("perhaps <cif>\ndata_x\n</cif> or not"), ended=False)
    text = answer_text(Letters(), Prompt([], opened=True), draft, ())
    assert extract_cif(text).cif is None
    assert extract_cif(answer_text(Letters(), Prompt([]), draft, ())).cif is not None


def test_the_text_ends_before_the_first_stop_string() -> None:
    said = Continuation(Letters().encode("one STOP two END$"), ended=True)
    assert answer_text(Letters(), Prompt([]), said, ("END", "STOP")) == "one "
    assert answer_text(Letters(), Prompt([]), said, ()) == "one STOP two END"
