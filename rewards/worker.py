"""One worker process, as its parent sees it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from typing import Any

from rewards.worker_process import Reply, Setup

_BRIEF_SECONDS = 0.05
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(eq=False)
class Task:
    """One call of the workers' function; `reply` is there when it has ended."""

    arguments: tuple[Any, ...]
    reply: Reply | None = None
    wanted: bool = True
    attempts: int = 0


class Worker:
    """A process behind a pipe of its own.

    It is started as a plain Python program and not through ``multiprocessing``, so that it never imports the script
    that uses it (a notebook, a script without a ``__main__`` guard and ``python -c`` all work) and can be started from
    a daemonic process, such as an environment worker of Gymnasium's ``AsyncVectorEnv``.

    Attributes:
        ready: it has sent its first reply, and so is warm.
        brief: its last task was a short one.
        spent: it ran out of memory: it ends and begins no other task.
        tasks: handed over and not answered; the first is in progress.
        begun: when the first was, by ``time.monotonic()``.
    """

    def __init__(self, setup: Setup) -> None:
        self.connection, theirs = Pipe()
        handle = theirs.fileno()
        path = [str(entry) for entry in sys.path]
        message = pickle.dumps(setup)
        code = f"import sys; sys.path[:] = {path!r}; from rewards.worker_process import main; main({handle})"
        inherited: dict[str, Any] = {"pass_fds": [handle]}
        if sys.platform == "win32":
            os.set_handle_inheritable(handle, True)
            inherited = {"close_fds": False}
        # With a worker for each processor, libraries that start a thread for each would be in each other's way.
        environment = dict.fromkeys(_THREAD_COUNTS, "1") | os.environ
        quiet = subprocess.DEVNULL  # for what a library prints; a traceback goes where the parent's would
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=quiet, stdout=quiet, env=environment, **inherited
        )
        theirs.close()
        self.ready = False
        self.brief = False
        self.spent = False
        self.tasks: deque[Task] = deque()
        self.begun = 0.0
        with suppress(OSError):  # a process that has ended already is noticed when it is attended to
            self.connection.send_bytes(message)

    def send(self, task: Task, message: bytes) -> None:
        """Hand over a task, pickled to the message.

        Raises:
            OSError: if the process has ended.
        """
        task.attempts += 1
        if not self.tasks:
            self.begun = time.monotonic()
        self.tasks.append(task)
        self.connection.send_bytes(message)

    def take_in(self) -> bool:
        """Read all replies that have come; False if the process has ended or is spent."""
        try:
            while self.connection.poll():
                reply: Reply = self.connection.recv()
                if not self.ready:
                    self.ready = True
                    continue
                self.tasks.popleft().reply = reply
                self.brief = reply.finished - self.begun < _BRIEF_SECONDS
                self.begun = reply.finished
                self.spent = isinstance(reply.error, MemoryError)
        except (EOFError, OSError):
            return False
        return not self.spent

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()

    def exit_code(self) -> int:
        """Of a process that has closed its end of the connection, and so is about to end."""
        try:
            return self.process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.wait()
