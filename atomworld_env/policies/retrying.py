"""When to ask a server again: exponential back-off with jitter, and what the server itself asks for.

tenacity is imported when it is used, never with this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from time import monotonic
from typing import TypeVar

from atomworld_env.errors import UsageError
from atomworld_env.policies.policy import FailureKind

Answer = TypeVar("Answer")


class Unanswered(Exception):
    """One request came to nothing.

    Attributes:
        kind: of failure.
        again: whether asking again may mend it.
        wait: seconds that the server asks to wait; None if it says nothing.
        status: of the HTTP response, if there was one.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        again: bool = True,
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.again, self.wait, self.status = kind, again, wait, status


@dataclass(frozen=True)
class Patience:
    """How long one question is worth asking for.

    Attributes:
        retries: requests after the first.
        first_wait: seconds before the first retry; doubled each time, with up to as many added at random.
        longest_wait: seconds of the longest wait, whoever asks for it.
    """

    retries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 300.0

    def __post_init__(self) -> None:
        if self.retries < 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise UsageError("the number of retries and the waits must be at least 0")


class Pause:
    """Holds all requests back while the server asks one of them to wait: a limit belongs to the key, not a request."""

    def __init__(self) -> None:
        self._until = 0.0

    def hold(self, seconds: float) -> None:
        """No request for so many seconds."""
        self._until = max(self._until, monotonic() + seconds)

    async def over(self) -> None:
        """Wait until requests may be sent."""
        while (left := self._until - monotonic()) > 0:
            await asyncio.sleep(left)


async def insist(request: Callable[[], Awaitable[Answer]], patience: Patience) -> Answer:
    """The answer to a request that is repeated as often as patience allows.

    Raises:
        Unanswered: the last one, when it cannot be mended, patience has run out, or the server asks to wait longer
            than the longest wait.
    """
    from tenacity import (
        AsyncRetrying,
        RetryCallState,
        retry_if_exception,
        stop_after_attempt,
        wait_exponential,
        wait_random,
    )

    first = patience.first_wait
    backoff = wait_exponential(multiplier=first, max=patience.longest_wait) + wait_random(0.0, first)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait if isinstance(error, Unanswered) else None
        return float(backoff(state)) if asked is None else asked

    def mendable(error: BaseException) -> bool:
        return isinstance(error, Unanswered) and error.again and (error.wait or 0.0) <= patience.longest_wait

    attempts = AsyncRetrying(
        stop=stop_after_attempt(patience.retries + 1),
        wait=wait,
        retry=retry_if_exception(mendable),
        reraise=True,
    )
    async for attempt in attempts:
        with attempt:
            return await request()
    raise AssertionError("the last attempt either returns or raises")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the headers of a response ask to wait: ``retry-after-ms``, or ``retry-after`` as seconds or a date.

    None where they say nothing that can be read (RFC 9110, section 10.2.3).
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if isfinite(seconds):
            return max(0.0, seconds)
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    moment = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
