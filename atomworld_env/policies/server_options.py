"""How an OpenAI-compatible server is reached and asked: address, key, limits, prices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from atomworld_env.errors import UsageError
from atomworld_env.policies.retrying import Patience

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
TOKEN_FIELDS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class ServerOptions:
    """How a server is asked.

    Attributes:
        base_url: of the API; None for the environment variable ``OPENAI_BASE_URL`` or OpenAI's own.
        api_key_env: name of the environment variable that holds the key.
        concurrency: requests at once.
        requests_per_minute: most requests in a minute, evenly spaced; None for no limit.
        request_timeout: seconds for one request, from sending it to the last byte.
        patience: how often it is repeated.
        max_tokens_field: name of the field for the longest answer.
        reasoning_effort: as the API calls it (``low``, ``medium``, ``high``, ...); None leaves it out.
        extra_body: further fields of the request; a null leaves out one that is sent otherwise.
        price_in, price_out: USD per million tokens of prompt and of completion.
    """

    base_url: str | None = None
    api_key_env: str = KEY_VARIABLE
    concurrency: int = 8
    requests_per_minute: float | None = None
    request_timeout: float = 600.0
    patience: Patience = field(default_factory=Patience)
    max_tokens_field: str = TOKEN_FIELDS[0]
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.request_timeout <= 0:
            raise UsageError("concurrency must be at least 1 and the request timeout above 0 seconds")
        if self.requests_per_minute is not None and self.requests_per_minute <= 0:
            raise UsageError("requests per minute must be above 0; leave the option out for no limit")
        if self.max_tokens_field not in TOKEN_FIELDS:
            raise UsageError(f"the field for the longest answer is {' or '.join(TOKEN_FIELDS)}")
        if min(self.price_in or 0.0, self.price_out or 0.0) < 0:
            raise UsageError("prices must be at least 0")

    @property
    def key(self) -> str | None:
        """The key, if the environment holds one.

        Raises:
            UsageError: if no HTTP header can carry it.
        """
        key = os.environ.get(self.api_key_env, "").strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError(f"the key in {self.api_key_env} holds a space, a line break or a letter outside ASCII")
        return key or None

    @property
    def address(self) -> str:
        """The address that is asked.

        Raises:
            UsageError: if it is no address, or holds a password.
        """
        address = self.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("--base-url is no address; give one like http://localhost:8000/v1")
        if parts.username or parts.password or parts.query:
            raise UsageError("--base-url holds a password or a query; give keys in the environment only")
        return address
