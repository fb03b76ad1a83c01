"""Token by token: what is an answer's text, and how a thought that grows too long is closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from atomworld_env.policies.sampling import Decoding

OPENING = "<think>"
CLOSING = "</think>"
CLOSED_BY_FORCE = f"\n{CLOSING}\n"
"""Written after a thought that has used up its budget, so that the answer begins."""


@dataclass(frozen=True)
class Prompt:
    """What one answer continues.

    Attributes:
        tokens: of the rendered chat.
        opened: whether the chat template has opened a thought at the prompt's end, as some do.
    """

    tokens: list[int]
    opened: bool = False


@dataclass(frozen=True)
class Continuation:
    """What a model wrote after a prompt.

    Attributes:
        tokens: with the one that ended it, if one did.
        ended: whether it came to its end or a stop string; if not, a limit of length cut it off.
    """

    tokens: list[int]
    ended: bool


Continue = Callable[[Sequence[int], Sequence[list[int]], Sequence[int]], list[Continuation]]
"""Continues texts: their numbers, the tokens of each, and how many tokens each may get; one continuation for each."""


def prompt_of(tokenizer: Any, messages: Sequence[dict[str, str]], decoding: Decoding) -> Prompt:
    """The prompt of chat messages."""
    tokens = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, **decoding.template_options
    )["input_ids"]
    return Prompt(list(tokens), tokenizer.decode(tokens[-32:]).rstrip().endswith(OPENING))


def answer_text(tokenizer: Any, prompt: Prompt, continuation: Continuation, stop: Sequence[str]) -> str:
    """The answer as verification reads it: without special tokens, cut at the first stop string.

    A thought that the template opened is opened in the text, too, so that what is thought is not taken for an answer.
    """
    text: str = tokenizer.decode(continuation.tokens, skip_special_tokens=True)
    places = [place for place in (text.find(each) for each in stop) if place >= 0]
    text = text[: min(places)] if places else text
    return f"{OPENING}\n{text}" if prompt.opened else text


def continue_all(
    tokenizer: Any, prompts: Sequence[Prompt], limits: Sequence[int], decoding: Decoding, further: Continue
) -> list[Continuation]:
    """An answer to each prompt, its thought closed where it reaches the budget.

    With a budget the answers are made in two parts: so many tokens first, and then the rest, before which an open
    thought is closed with ``\\n</think>\\n``. The tokens of this text count towards the limit.

    Args:
        limits: tokens that each answer may have.
    """
    numbers = range(len(prompts))
    tokens = [prompt.tokens for prompt in prompts]
    budget = decoding.thinking_budget
    if budget is None:
        return further(numbers, tokens, limits)
    answers = further(numbers, tokens, [min(budget, limit) for limit in limits])
    forced = list(tokenizer.encode(CLOSED_BY_FORCE, add_special_tokens=False))
    for number in numbers:
        if not answers[number].ended and _thought_is_open(tokenizer, prompts[number], answers[number]):
            answers[number] = Continuation(answers[number].tokens + forced, ended=False)
    rest = [limit - len(answer.tokens) for limit, answer in zip(limits, answers, strict=True)]
    going = [number for number in numbers if not answers[number].ended and rest[number] > 0]
    if not going:
        return answers
    begun = [tokens[number] + answers[number].tokens for number in going]
    for number, more in zip(going, further(going, begun, [rest[number] for number in going]), strict=True):
        answers[number] = Continuation(answers[number].tokens + more.tokens, more.ended)
    return answers


def _thought_is_open(tokenizer: Any, prompt: Prompt, answer: Continuation) -> bool:
    text = (OPENING if prompt.opened else "") + tokenizer.decode(answer.tokens, skip_special_tokens=False)
    return bool(text.rfind(OPENING) > text.rfind(CLOSING))
