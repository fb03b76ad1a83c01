"""A model behind a server that fails in every way: no question is lost, none invented, and the key is nowhere."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("tenacity")
pytest.importorskip("aiolimiter")

from stand_in_server import Turn, completion, stand_in
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.evaluation.records import stored_results
from atomworld_env.policies.by_name import policy_by_name
from atomworld_env.policies.openai_server import HOPELESS, ServedModel, load_served_model
from atomworld_env.policies.policy import Failure, FailureKind, ModelPolicy, Question, Reply, settings_of
from atomworld_env.policies.retrying import Patience, retry_after
from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.server_options import ServerOptions
from atomworld_env.tasks.task import Task

KEY = "sk-a-key-that-nobody-may-see"
SWIFT = Patience(retries=3, first_wait=0.01, longest_wait=5.0)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asking(number: int, sample: int = 0, task: Task | None = None) -> Question:
    return Question(task, [{"role": "user", "content": f"question {number}"}], sample)  # type: ignore[arg-type]


def model(address: str, decoding: Decoding | None = None, **options: Any) -> ServedModel:
    server = ServerOptions(**{"base_url": address, "patience": SWIFT, "request_timeout": 5.0, **options})
    return load_served_model("openai:m", decoding or Decoding(), server)


def outcomes(policy: ServedModel, questions: Sequence[Question]) -> list[Reply | Failure]:
    """What came of each question, in order; each must have exactly one outcome."""
    found = list(policy.replies(questions))
    assert sorted(number for number, _ in found) == list(range(len(questions)))
    return [outcome for _, outcome in sorted(found, key=lambda pair: pair[0])]


def test_a_reply_has_text_tokens_and_time() -> None:
    with stand_in(lambda content, tries: Turn()) as (address, log):
        policy = model(address)
        assert isinstance(policy, ModelPolicy)
        (reply,) = outcomes(policy, [asking(3)])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.truncated) == ("answer to question 3", False)
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 7)
    assert reply.seconds is not None
    assert log.keys == [f"Bearer {KEY}"]


MISHAPS = {
    "too many requests": Turn(429, '{"error": {"message": "slow down"}}', {"Retry-After": "0.05"}),
    "server error": Turn(500, "oops"),
    "overloaded": Turn(503, "<html>", {"Retry-After": "0"}),
    "stall": Turn(stall=20.0),
    "drip": Turn(drip=0.2),
    "half an answer": Turn(claimed=500),
    "half an error": Turn(500, "oops", claimed=500),
    "garbage": Turn(body='{"choices": [{"mess'),
    "not an object": Turn(body="[]"),
    "no choices": Turn(body='{"choices": []}'),
    "no message": Turn(body='{"choices": [{"finish_reason": "stop"}]}'),
    "null content": Turn(body=completion(None)),
    "error with status 200": Turn(body='{"error": {"message": "busy"}}'),
}
KINDS = {
    "too many requests": FailureKind.RATE_LIMIT,
    "stall": FailureKind.TIMEOUT,
    "drip": FailureKind.TIMEOUT,
}


def test_among_all_mishaps_no_question_is_lost_and_none_invented() -> None:
    names = list(MISHAPS)

    def script(content: str, tries: int) -> Turn:
        number = int(content.split()[1])
        return Turn() if number % 2 or tries else MISHAPS[names[number // 2 % len(names)]]

    questions = [asking(number) for number in range(2 * len(names))]
    with stand_in(script) as (address, log):
        found = outcomes(model(address, concurrency=6, request_timeout=1.0), questions)
    assert [reply.text for reply in found if isinstance(reply, Reply)] == [
        f"answer to question {number}" for number in range(len(questions))
    ]
    assert log.most <= 6 + 2  # the server may still be busy with requests that were given up
    assert len(log.requests) == 3 * len(names)


@pytest.mark.parametrize("mishap", MISHAPS)
def test_a_mishap_that_stays_is_a_failure_of_its_kind(mishap: str) -> None:
    def script(content: str, tries: int) -> Turn:
        return MISHAPS[mishap] if content == "question 1" else Turn()

    with stand_in(script) as (address, log):
        policy = model(address, concurrency=2, request_timeout=0.4, patience=replace(SWIFT, retries=1))
        first, second, third = outcomes(policy, [asking(number) for number in range(3)])
    assert isinstance(first, Reply)
    assert isinstance(third, Reply)
    assert isinstance(second, Failure)
    assert second.kind is KINDS.get(mishap, FailureKind.SERVER)
    assert second.seconds is not None
    assert "\n" not in second.message
    assert len(log.requests) == 4


def test_no_connection_is_a_failure_of_the_network() -> None:
    with stand_in(lambda content, tries: Turn()) as (address, _):
        pass
    (failure,) = outcomes(model(address, patience=Patience(1, 0.01)), [asking(0)])
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.NETWORK


@pytest.mark.parametrize(
    "body",
    [
        completion("half", reason="content_filter"),
        completion(None, refusal="I cannot help with that"),
    ],
    ids=["content filter", "refusal"],
)
def test_a_refusal_is_told_apart_and_not_asked_again(body: str) -> None:
    with stand_in(lambda content, tries: Turn(body=body)) as (address, log):
        (failure,) = outcomes(model(address), [asking(0)])
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.REFUSED
    assert len(log.requests) == 1


@pytest.mark.parametrize(
    ("body", "text", "truncated"),
    [
        (completion("cut o", reason="length"), "cut o", True),
        (completion(None, reason="length", reasoning_content="long thought"), "", True),
        (completion("", reason="length"), "", True),
        (completion("answer", reasoning_content="thought with <cif>x</cif>"), "answer", False),
        (completion("", reason="stop"), "", False),
        (completion([{"type": "text", "text": "a"}, {"type": "other"}]), "a", False),  # type: ignore[arg-type]
    ],
    ids=["cut", "cut while thinking", "cut, empty", "hidden thought", "empty", "parts"],
)
def test_what_is_an_answer(body: str, text: str, truncated: bool) -> None:
    with stand_in(lambda content, tries: Turn(body=body)) as (address, _):
        (reply,) = outcomes(model(address), [asking(0)])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.truncated) == (text, truncated)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"Retry-After": "1"}, 1.0), ({"retry-after-ms": "700"}, 0.7), ({"Retry-After": "in 2 seconds"}, 2.0)],
    ids=["seconds", "milliseconds", "date"],
)
def test_the_wait_that_the_server_asks_for_is_kept(headers: dict[str, str], wait: float) -> None:
    def script(content: str, tries: int) -> Turn:
        if tries:
            return Turn()
        date = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)}
        return Turn(429, "{}", date if "2" in headers.get("Retry-After", "") else headers)

    with stand_in(script) as (address, log):
        (reply,) = outcomes(model(address), [asking(0)])
    assert isinstance(reply, Reply)
    between = log.times[1] - log.times[0]
    # A date has whole seconds, so that up to one of them is gone when it is written.
    assert wait - (1.01 if wait == 2.0 else 0.01) <= between < wait + 1.0


def test_while_one_request_is_told_to_wait_none_is_sent() -> None:
    def script(content: str, tries: int) -> Turn:
        return Turn(429, "{}", {"Retry-After": "0.6"}) if content == "question 0" and not tries else Turn()

    with stand_in(script) as (address, log):
        outcomes(model(address, concurrency=1), [asking(0), asking(1)])
        first, *others = log.times
    assert min(others) - first >= 0.59


def test_a_wait_that_is_too_long_is_a_failure_at_once() -> None:
    turn = Turn(429, "{}", {"Retry-After": "86400"})
    with stand_in(lambda content, tries: turn) as (address, log):
        begun = time.monotonic()
        (failure,) = outcomes(model(address), [asking(0)])
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.RATE_LIMIT
    assert "86400 s" in failure.message
    assert len(log.requests) == 1
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), ("-3", 0.0), ("soon", None), ("nan", None), ("", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)
def test_a_wait_is_read_from_any_header(header: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}) == seconds


@pytest.mark.parametrize("bound", [1, 3, 8])
def test_never_more_requests_at_once_than_allowed(bound: int) -> None:
    with stand_in(lambda content, tries: Turn(stall=0.05)) as (address, log):
        outcomes(model(address, concurrency=bound), [asking(number) for number in range(16)])
    assert log.most == bound


def test_requests_keep_to_a_rate() -> None:
    with stand_in(lambda content, tries: Turn()) as (address, log):
        outcomes(model(address, requests_per_minute=600.0), [asking(number) for number in range(8)])
    assert log.times[-1] - log.times[0] >= 7 * 0.1 * 0.9


@pytest.mark.parametrize("closed_after", [0, 1])
def test_closing_cancels_what_is_under_way(closed_after: int) -> None:
    with stand_in(lambda content, tries: Turn(stall=30.0 if content != "question 0" else 0.0)) as (address, log):
        replies = model(address, request_timeout=60.0).replies([asking(number) for number in range(20)])
        for _ in range(closed_after):
            next(replies)
        begun = time.monotonic()
        replies.close()  # type: ignore[attr-defined]
        assert time.monotonic() - begun < 3
        time.sleep(0.1)
        seen = len(log.requests)
        time.sleep(0.3)
        assert len(log.requests) == seen <= 9 * closed_after


@pytest.mark.parametrize(
    ("status", "mend"), [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "--base-url"), (404, "name")]
)
def test_a_server_that_lets_nobody_in_ends_the_run_with_the_mend(status: int, mend: str) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})
    with (
        stand_in(lambda content, tries: Turn(status, body)) as (address, _),
        pytest.raises(ValueError, match=mend) as error,
    ):
        list(model(address).replies([asking(number) for number in range(20)]))
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_key_that_expires_later_is_a_failure_of_each_question() -> None:
    def script(content: str, tries: int) -> Turn:
        return Turn() if content == "question 0" else Turn(401, "{}")

    with stand_in(script) as (address, log):
        found = outcomes(model(address, concurrency=1), [asking(number) for number in range(3)])
    assert [getattr(outcome, "kind", None) for outcome in found] == [None, FailureKind.REFUSED, FailureKind.REFUSED]
    assert len(log.requests) == 3


def test_a_prompt_that_is_too_long_is_a_failure_of_its_own() -> None:
    def script(content: str, tries: int) -> Turn:
        return Turn(400, '{"error": {"message": "context length exceeded"}}') if content == "question 1" else Turn()

    with stand_in(script) as (address, log):
        found = outcomes(model(address), [asking(number) for number in range(3)])
    assert isinstance(found[1], Failure)
    assert found[1].kind is FailureKind.REFUSED
    assert "context length exceeded" in found[1].message
    assert len(log.requests) == 3


def test_a_server_that_answers_nothing_ends_the_run_and_not_after_all_questions() -> None:
    with stand_in(lambda content, tries: Turn(400, '{"error": {"message": "unknown field"}}')) as (address, log):
        found = []
        with pytest.raises(ValueError, match=r"none of the first \d+ questions .*unknown field.*--resume"):
            found.extend(model(address, concurrency=1).replies([asking(number) for number in range(500)]))
    assert HOPELESS <= len(log.requests) < 500


def test_questions_that_no_server_answers_are_all_asked_when_they_are_what_is_left() -> None:
    with stand_in(lambda content, tries: Turn(400, "{}")) as (address, log):
        found = outcomes(model(address), [asking(number) for number in range(HOPELESS + 5)])
    assert all(isinstance(failure, Failure) and failure.kind is FailureKind.REFUSED for failure in found)
    assert len(log.requests) == HOPELESS + 5


def test_a_second_round_knows_that_the_server_has_answered_before() -> None:
    with stand_in(lambda content, tries: Turn(403, "{}") if content == "question 1" else Turn()) as (address, _):
        policy = model(address)
        assert isinstance(outcomes(policy, [asking(0)])[0], Reply)
        (failure,) = outcomes(policy, [asking(1)])
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.REFUSED


def test_money_that_is_spent_is_not_asked_for_again() -> None:
    body = '{"error": {"message": "quota", "code": "insufficient_quota"}}'
    with stand_in(lambda content, tries: Turn(429, body)) as (address, log):
        (failure,) = outcomes(model(address), [asking(0)])
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.RATE_LIMIT
    assert len(log.requests) == 1


def test_what_is_asked_for() -> None:
    decoding = Decoding(
        max_new_tokens=64,
        temperature=0.5,
        seed=7,
        top_p=0.9,
        top_k=20,
        stop=("END",),
        thinking=True,
        thinking_budget=32,
    )
    body = {"top_p": None, "user": "u"}
    with stand_in(lambda content, tries: Turn()) as (address, log):
        policy = model(address, decoding, reasoning_effort="low", extra_body=body)
        outcomes(policy, [asking(0, sample=0), asking(0, sample=2)])
    assert sorted(request.pop("seed") for request in log.requests) == [7, 9]
    assert log.requests[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "question 0"}],
        "max_completion_tokens": 64,
        "temperature": 0.5,
        "top_k": 20,
        "stop": ["END"],
        "chat_template_kwargs": {"enable_thinking": True},
        "thinking_token_budget": 32,
        "reasoning_effort": "low",
        "user": "u",
    }


def test_older_servers_are_asked_with_their_field() -> None:
    with stand_in(lambda content, tries: Turn()) as (address, log):
        outcomes(model(address, Decoding(max_new_tokens=9), max_tokens_field="max_tokens"), [asking(0)])
    assert log.requests[0]["max_tokens"] == 9
    assert "max_completion_tokens" not in log.requests[0]


def test_the_settings_hold_prices_and_no_key() -> None:
    settings = settings_of(model("http://localhost:1/v1", price_in=2.0, price_out=8.0))
    assert (settings["price_in"], settings["price_out"]) == (2.0, 8.0)
    assert settings["base_url"] == "http://localhost:1/v1"
    assert KEY not in json.dumps(settings)


def test_the_key_is_in_no_message_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"error": {"message": f"the key {KEY} has had enough"}})
    with stand_in(lambda content, tries: Turn(500, body)) as (address, _):
        (failure,) = outcomes(model(address, patience=Patience(1, 0.01)), [asking(0)])
    assert isinstance(failure, Failure)
    assert "has had enough" in failure.message
    assert KEY not in failure.message
    assert KEY not in caplog.text


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with stand_in(lambda content, tries: Turn()) as (address, log):
        outcomes(model(address), [asking(0)])
    assert log.keys == ["Bearer no-key"]


@pytest.mark.parametrize(
    ("name", "options", "variable", "words"),
    [
        ("openai:m", {}, None, "OPENAI_API_KEY holds no key"),
        ("openai:m", {"api_key_env": "MY_KEY"}, None, "MY_KEY holds no key"),
        ("openai:m", {}, "a b", "holds a space"),
        ("openai:", {}, KEY, "name of a model"),
        ("openai:m", {"base_url": "localhost:8000"}, KEY, "no address"),
        ("openai:m", {"base_url": f"http://user:{KEY}@localhost/v1"}, KEY, "holds a password"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    name: str, options: dict[str, Any], variable: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", variable or "")
    with pytest.raises(ValueError, match=words) as error:
        load_served_model(name, Decoding(), ServerOptions(**options))
    assert KEY not in str(error.value)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from atomworld_env.policies import openai_server

    monkeypatch.setattr(openai_server, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^openai:m needs openai; install it with [^\n]*\[serve\]"):
        policy_by_name("openai:m")


def test_the_command_evaluates_what_a_server_answers(small_suite_folder: Path, tmp_path: Path) -> None:
    """A server that now and then fails and never lets one task through; the key is in no file."""
    stubborn: list[str] = []

    def script(content: str, tries: int) -> Turn:
        if not stubborn:
            stubborn.append(content)
        if content == stubborn[0]:
            return Turn(500, KEY)
        return Turn(500, KEY) if tries == 0 and len(content) % 2 else Turn(body=completion("no crystal"))

    arguments = [
        "evaluate", "--policy", "openai:m", "--suite", str(small_suite_folder), "--actions", "remove,swap",
        "--per-action", "3", "--profile", "strict", "--out", str(tmp_path / "run"), "--workers", "1", "--json",
        "--retries", "1", "--concurrency", "3", "--price-in", "1", "--price-out", "2",
    ]  # fmt: skip
    with stand_in(script) as (address, log):
        ended = CliRunner().invoke(app, [*arguments, "--base-url", address])
    assert ended.exit_code == 1, ended.output  # one question has no answer
    assert len(stored_results(tmp_path / "run")) == 5
    failures = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert {failure["kind"] for failure in failures} == {"server"}
    assert len({failure["task_id"] for failure in failures}) == 1
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert KEY not in written + ended.output
    assert set(log.keys) == {f"Bearer {KEY}"}
