"""What a chat completion says: the body of a server's response as a reply, or why it is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from atomworld_env.policies.policy import FailureKind, Reply
from atomworld_env.policies.retrying import Unanswered, retry_after

BACK_OFF = frozenset({408, 409, 425, 429})
"""Statuses below 500 that asking again can mend."""

REFUSALS = frozenset({"content_filter", "refusal", "safety"})
"""Why a completion ended, where the server would not let the model answer."""


def reply_of(body: bytes, seconds: float) -> Reply:
    """The answer in the body of a response with status 200.

    Hidden reasoning (``reasoning_content``) is no part of the answer. An answer that was cut off at the limit of tokens
    is an answer, even an empty one.

    Raises:
        Unanswered: if the server refused (``refused``) or the body is no completion (``server``).
    """
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        raise _no_completion("the body is not JSON") from None
    if not isinstance(whole, dict):
        raise _no_completion("the body is no JSON object")
    if whole.get("error"):
        raise _no_completion(_words(whole["error"]))
    choices = whole.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _no_completion("the completion has no choices")
    message, reason = choices[0].get("message"), choices[0].get("finish_reason")
    if not isinstance(message, dict):
        raise _no_completion("the completion has no message")
    if reason in REFUSALS or message.get("refusal"):
        words = message.get("refusal") or f"finish_reason {reason}"
        raise Unanswered(FailureKind.REFUSED, f"refused: {_one_line(str(words))}", again=False)
    content = _text(message.get("content"))
    if content is None and reason == "length":
        content = ""
    if content is None:
        raise _no_completion("the completion has no content")
    usage = whole.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Reply(
        content,
        {"length": True, "stop": False}.get(reason) if isinstance(reason, str) else None,
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        seconds,
    )


def refusal_of(status: int, body: bytes, headers: Mapping[str, str]) -> Unanswered:
    """Why a response with an error status has no answer."""
    try:
        whole = json.loads(body)
        error = whole.get("error", whole) if isinstance(whole, dict) else whole
    except (ValueError, RecursionError):
        error = body.decode(errors="replace")
    message = f"status {status}: {_words(error)}"
    wait = retry_after(headers)
    if status == 429:
        spent = isinstance(error, dict) and "insufficient_quota" in (error.get("code"), error.get("type"))
        return Unanswered(FailureKind.RATE_LIMIT, message, again=not spent, wait=wait, status=status)
    if status >= 500 or status in BACK_OFF:
        return Unanswered(FailureKind.SERVER, message, wait=wait, status=status)
    return Unanswered(FailureKind.REFUSED, message, again=False, status=status)


def _text(content: Any) -> str | None:
    """A content as text: a string, or the texts among its parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else None


def _no_completion(words: str) -> Unanswered:
    return Unanswered(FailureKind.SERVER, f"not a completion: {words}", status=200)


def _words(error: Any) -> str:
    told = (error.get("message") or error.get("detail") or error) if isinstance(error, dict) else error
    return _one_line(str(told))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]} …"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
