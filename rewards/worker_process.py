"""What every verifying worker process does first: end with its parent, and stay within its memory."""

from __future__ import annotations

import os
import sys
import threading
import time

DEFAULT_MEMORY_LIMIT = 4 * 2**30
"""Bytes that verification may take beyond what a warmed worker has: an 800-site answer needs well under one GiB."""

PARENT_CHECK_SECONDS = 1.0


def guard_worker(memory_limit: int | None = DEFAULT_MEMORY_LIMIT) -> None:
    """Call in a worker once its imports are done.

    - A worker whose parent was killed ends by itself within seconds; otherwise it would wait for work for ever.
    - An allocation beyond the limit raises MemoryError in the worker instead of taking the machine down. Kept by
      ``RLIMIT_AS``, which Linux enforces; where there is no such limit, none is set.

    Args:
        memory_limit: bytes beyond the address space in use now; None sets no limit.
    """
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), name="parent watch", daemon=True).start()
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
