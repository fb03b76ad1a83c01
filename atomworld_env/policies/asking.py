"""Many questions asked at once: an event loop in a thread of its own, replies as soon as they are there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from queue import SimpleQueue
from typing import TypeAlias

from atomworld_env.policies.policy import Failure, Question, Reply

Outcome: TypeAlias = Reply | Failure
Ask = Callable[[Question], Awaitable[Outcome]]
"""Asks one question; what goes wrong on the way is a `Failure`, an exception ends the whole run."""

Open = Callable[[], AbstractAsyncContextManager[Ask]]
"""Opens what asking needs, inside the event loop, and closes it again."""

PATIENCE = 20.0
"""Seconds to wait for what is under way when nobody wants it any more; what hangs longer is left behind."""


def ask_all(opened: Open, questions: Sequence[Question], concurrency: int) -> Iterator[tuple[int, Outcome]]:
    """Ask every question once, so many at a time, in order; yields number and outcome in the order they come.

    Closing the generator cancels what is under way.
    """
    if not questions:
        return
    outcomes: SimpleQueue[tuple[int, Outcome] | BaseException | None] = SimpleQueue()
    loop = asyncio.new_event_loop()
    whole = loop.create_task(_ask_all(opened, questions, concurrency, outcomes))
    thread = threading.Thread(target=_run, args=(loop, whole, outcomes), name="asking", daemon=True)
    thread.start()
    try:
        while (found := outcomes.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        if thread.is_alive():
            with suppress(RuntimeError):  # the loop may close at this very moment
                loop.call_soon_threadsafe(whole.cancel)
            thread.join(PATIENCE)


async def _ask_all(
    opened: Open,
    questions: Sequence[Question],
    concurrency: int,
    outcomes: SimpleQueue[tuple[int, Outcome] | BaseException | None],
) -> None:
    numbered = iter(enumerate(questions))

    async def ask_on(ask: Ask) -> None:
        for number, question in numbered:  # shared, so that each question is taken once
            outcomes.put((number, await ask(question)))

    async with opened() as ask, asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(questions))):
            group.create_task(ask_on(ask))


def _run(
    loop: asyncio.AbstractEventLoop,
    whole: asyncio.Task[None],
    outcomes: SimpleQueue[tuple[int, Outcome] | BaseException | None],
) -> None:
    try:
        loop.run_until_complete(whole)
    except asyncio.CancelledError:
        pass
    except BaseExceptionGroup as group:
        outcomes.put(group.exceptions[0])
    except BaseException as error:
        outcomes.put(error)
    finally:
        # Not `asyncio.run`: it would wait for threads that look up a name, as long as that takes.
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        outcomes.put(None)
