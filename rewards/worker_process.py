"""Inside a worker process: answer the parent, end with it, and stay within the memory allowed."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DEFAULT_MEMORY_LIMIT = 4 * 2**30
"""Bytes that verification may take beyond what a warmed worker has: an 800-site answer needs well under one GiB."""

PARENT_CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Setup:
    """What a worker is told first.

    Attributes:
        function: called with the arguments of each task; found by its module and name, which must not be ``__main__``.
        warm_up: called once, before the worker reports that it is ready.
        memory_limit: as for :func:`guard_worker`.
        parent: process id of the parent.
    """

    function: Callable[..., Any]
    warm_up: Callable[[], None]
    memory_limit: int | None
    parent: int


@dataclass(frozen=True)
class Reply:
    """How one task ended.

    Attributes:
        value: what the function returned.
        error: what it raised instead; after a MemoryError the worker ends.
        finished: when, by ``time.monotonic()``, which all processes of a machine share.
    """

    value: Any
    error: Exception | None
    finished: float


def main(handle: int) -> None:
    """Serve the parent at the other end of the connection until that end is closed, then end the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    connection = open_connection(handle)
    try:
        setup: Setup = connection.recv()
        setup.warm_up()
        guard_worker(setup.memory_limit, setup.parent)
        connection.send(Reply(None, None, time.monotonic()))
        while _serve(connection, setup.function):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the parent has closed the connection, or is gone
        pass
    os._exit(0)  # nothing to tidy up, and taking down all that is imported takes a while


def open_connection(handle: int) -> Any:
    """The connection of an inherited handle."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    from multiprocessing.connection import Connection

    return Connection(handle)


def _serve(connection: Any, function: Callable[..., Any]) -> bool:
    """One task; whether the worker is still good for another."""
    value, failure = None, None
    try:
        value = function(*connection.recv())
    except EOFError:
        raise
    except Exception as error:
        failure = error
    reply = Reply(value, failure, time.monotonic())
    try:
        message = pickle.dumps(reply)
    except Exception as error:
        message = pickle.dumps(Reply(None, RuntimeError(f"{failure or error!r}"), reply.finished))
    connection.send_bytes(message)
    return not isinstance(failure, MemoryError)


def guard_worker(memory_limit: int | None = DEFAULT_MEMORY_LIMIT, parent: int | None = None) -> None:
    """Call in a worker once its imports are done.

    - A worker whose parent was killed ends by itself within seconds, even in the middle of a task.
    - An allocation beyond the limit raises MemoryError in the worker instead of taking the machine down. Kept by
      ``RLIMIT_AS``, which Linux enforces; where there is no such limit, none is set.

    Args:
        memory_limit: bytes beyond the address space in use now; None sets no limit.
        parent: process id of the parent, by default the parent at the time of the call.
    """
    watched = os.getppid() if parent is None else parent
    threading.Thread(target=_end_with_parent, args=(watched,), name="parent watch", daemon=True).start()
    if memory_limit is not None and sys.platform == "linux":
        import resource

        in_use = _address_space()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = in_use + memory_limit
        resource.setrlimit(resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
