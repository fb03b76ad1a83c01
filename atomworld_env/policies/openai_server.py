"""A model behind an OpenAI-compatible server, hosted or one's own: ``openai:MODEL``.

The official client speaks to the server; what is asked again, and when, is decided here. openai, tenacity and
aiolimiter (extra ``serve``) are imported when a model is asked, never with this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from time import perf_counter
from types import MappingProxyType
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.asking import Ask, ask_all
from atomworld_env.policies.completion import refusal_of, reply_of
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.policies.retrying import Pause, Unanswered, insist
from atomworld_env.policies.sampling import Decoding, full_name
from atomworld_env.policies.server_options import OPENAI_URL, ServerOptions

PREFIX = "openai:"

NO_KEY = "no-key"
"""Sent to a server of one's own that asks for no key."""

MENDS: Mapping[int, str] = MappingProxyType(
    {
        401: "set the key in the environment variable {variable}, or name another with --api-key-env",
        403: "the key in {variable} may not use this model or server; use another key or model",
        404: "check the model's name and --base-url (it often ends in /v1)",
    }
)
"""What to do about a status that every further request would meet, too."""

HOPELESS = 20
"""Questions without an answer, from the first on, after which a run ends instead of going through all of them."""

LARGEST_BODY = 64 * 2**20
"""Bytes of a response; no answer is that long."""


@dataclass
class _Acquaintance:
    """Whether the server has ever taken a request, in this or an earlier round of questions."""

    let_in: bool = False


@dataclass(frozen=True)
class ServedModel:
    """A policy that asks a server.

    Attributes:
        name: as manifests show it.
        model: as the server calls it.
        decoding: how answers are drawn.
        options: how the server is asked.
    """

    name: str
    model: str
    decoding: Decoding = field(default_factory=Decoding)
    options: ServerOptions = field(default_factory=ServerOptions)
    _known: _Acquaintance = field(default_factory=_Acquaintance, repr=False, compare=False)

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides the answers, and the prices; never the key."""
        return {
            "kind": "openai",
            "model": self.model,
            "base_url": self.options.address,
            **self.decoding.to_json(),
            "max_tokens_field": self.options.max_tokens_field,
            "reasoning_effort": self.options.reasoning_effort,
            "extra_body": dict(self.options.extra_body),
            "price_in": self.options.price_in,
            "price_out": self.options.price_out,
            "software": {"openai": version("openai")},
        }

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """What came of each question, as soon as it is known.

        Raises:
            UsageError: if the server lets nobody in, knows no such model, or answers none of the first questions.
        """
        answered = failed = 0
        for number, outcome in ask_all(self._open, questions, self.options.concurrency):
            yield number, outcome
            answered += isinstance(outcome, Reply)
            failed += isinstance(outcome, Failure)
            if not isinstance(outcome, Failure) or answered or failed < HOPELESS:
                continue
            # What is left of a run may be just the questions that no server answers; then all of them are asked.
            if outcome.kind is FailureKind.NETWORK or 10 * failed <= len(questions):
                raise UsageError(
                    f"none of the first {failed} questions was answered by {self.options.address}; the last time: "
                    f"{outcome.message}; mend it and go on with --resume"
                )

    def request(self, question: Question) -> dict[str, Any]:
        """The fields of a request."""
        decoding, options = self.decoding, self.options
        thinking = {"chat_template_kwargs": decoding.template_options} if decoding.template_options else {}
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": question.messages,
            options.max_tokens_field: decoding.max_new_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p if decoding.top_p < 1 else None,
            "top_k": decoding.top_k or None,
            "seed": decoding.seed + question.sample,
            "stop": list(decoding.stop) or None,
            "reasoning_effort": options.reasoning_effort,
            "thinking_token_budget": decoding.thinking_budget,  # as vLLM calls it
            **thinking,
            **options.extra_body,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Ask]:
        key = self.options.key or NO_KEY
        async with _client(self.options.address, key) as client:
            session = _Session(self, client, key, Pause(), _limiter(self.options.requests_per_minute))
            yield session.ask


def _client(address: str, key: str) -> Any:
    from openai import AsyncOpenAI

    # One clock alone, around the whole request: the client's own would start anew with every byte.
    return AsyncOpenAI(api_key=key, base_url=address, max_retries=0, timeout=None)


def _limiter(per_minute: float | None) -> AbstractAsyncContextManager[Any]:
    from aiolimiter import AsyncLimiter

    return nullcontext() if per_minute is None else AsyncLimiter(1, 60.0 / per_minute)


@dataclass
class _Session:
    """One open connection to the server, shared by all requests."""

    policy: ServedModel
    client: Any
    key: str
    pause: Pause
    limiter: AbstractAsyncContextManager[Any]

    async def ask(self, question: Question) -> Reply | Failure:
        """The answer to one question, asked as often as patience allows."""
        begun = perf_counter()
        options = self.policy.options
        try:
            return await insist(lambda: self._once(question), options.patience)
        except Unanswered as error:
            words = self._without_key(str(error))
            mend = MENDS.get(error.status or 0)
            if mend is not None and not self.policy._known.let_in:
                raise UsageError(
                    f"{options.address} refuses {self.policy.model!r} ({words}); "
                    + mend.format(variable=options.api_key_env)
                ) from None
            if error.wait is not None and error.wait > options.patience.longest_wait:
                words += f" (it asks to wait {error.wait:.0f} s)"
            return Failure(error.kind, words, perf_counter() - begun)

    async def _once(self, question: Question) -> Reply:
        import openai

        await self.pause.over()
        async with self.limiter:
            pass
        begun = perf_counter()
        limit = self.policy.options.request_timeout
        try:
            async with asyncio.timeout(limit):
                status, headers, body = await self._send(question)
        except TimeoutError:
            raise Unanswered(FailureKind.TIMEOUT, f"no answer within {limit:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            detail = f" ({type(cause).__name__}: {cause})" if cause is not None else ""
            raise Unanswered(FailureKind.NETWORK, f"no connection to {self.policy.options.address}{detail}") from None
        except Unanswered:
            raise
        except Exception as error:  # each version of the client has its own HTTP library, and that its own errors
            raise Unanswered(FailureKind.SERVER, f"half an answer: {type(error).__name__}: {error}") from None
        if status == 200:
            self.policy._known.let_in = True
            return reply_of(body, perf_counter() - begun)
        refusal = refusal_of(status, body, headers)
        if refusal.wait is not None and refusal.wait <= self.policy.options.patience.longest_wait:
            self.pause.hold(refusal.wait)
        raise refusal

    async def _send(self, question: Question) -> tuple[int, Mapping[str, str], bytes]:
        import openai

        fields = self.policy.request(question)
        sent = {name: fields.pop(name) for name in ("model", "messages")}
        try:
            async with self.client.chat.completions.with_streaming_response.create(
                **sent, extra_body=fields
            ) as response:
                return response.status_code, response.headers, await _body(response)
        except openai.APIStatusError as error:
            return error.status_code, error.response.headers, error.response.content

    def _without_key(self, words: str) -> str:
        line = " ".join(words.split())
        return line if self.key == NO_KEY else line.replace(self.key, "(key)")


async def _body(response: Any) -> bytes:
    body = bytearray()
    async for piece in response.iter_bytes():
        body += piece
        if len(body) > LARGEST_BODY:
            raise Unanswered(FailureKind.SERVER, f"the response is longer than {LARGEST_BODY} bytes")
    return bytes(body)


def load_served_model(name: str, decoding: Decoding, options: ServerOptions) -> ServedModel:
    """The model of ``openai:MODEL``; nothing is asked yet.

    Raises:
        UsageError: if the extra ``serve`` is not installed, the name is empty, or OpenAI's own server is meant and
            there is no key.
    """
    model = name.removeprefix(PREFIX)
    missing = [package for package in ("openai", "tenacity", "aiolimiter") if find_spec(package) is None]
    if missing:
        raise UsageError(f"{name} needs {missing[0]}; install it with `pip install 'atomworld-env[serve]'`")
    if not model:
        raise UsageError(f"{PREFIX} needs the name of a model, as the server calls it: {PREFIX}MODEL")
    address = options.address
    if options.key is None and address.startswith(OPENAI_URL):
        raise UsageError(
            f"the environment variable {options.api_key_env} holds no key; set it, or give --base-url for a server "
            "of your own"
        )
    return ServedModel(full_name(name, decoding), model, decoding, options)
