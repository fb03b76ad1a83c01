"""Worker processes that can be killed at any moment, each behind a pipe of its own.

They are started as plain Python programs and not through ``multiprocessing``, so that they never import the script
that uses them (a notebook, a script without a ``__main__`` guard and ``python -c`` all work) and can be started from a
daemonic process, such as an environment worker of Gymnasium's ``AsyncVectorEnv``. There is no thread in the parent:
whoever submits a task or waits for a result attends to all workers meanwhile, and only then are time limits kept.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe, wait
from typing import Any

from rewards.worker_process import Reply, Setup

# A worker whose last task was brief gets the next while it works, so that it need not wait for the parent in between.
_BRIEF_SECONDS = 0.05
# More than this is handed only to a worker that is reading: the parent must never wait for one that may be stuck.
_LARGEST_AHEAD = 32_768
# Another thread that waits for a result of its own takes a turn after this many seconds.
_LONGEST_WAIT = 0.1
# Times that a task is handed over; a worker killed while idle is noticed only when a task cannot be sent to it.
_MOST_ATTEMPTS = 3
_MOST_FAILED_STARTS = 3
# Submitting attends to the workers no more often than this, as it may be done a thousand times in a row.
_ATTENTION_SECONDS = 0.001


class TaskTimeout(Exception):
    """The task ran past the limit, and its worker was killed."""


class WorkerLost(Exception):
    """The worker ended in the middle of the task."""


class NoWorkersError(RuntimeError):
    """There are no workers to wait for: they cannot be started, or were closed."""


@dataclass(eq=False)
class Task:
    """One call of the workers' function; `reply` is there when it has ended."""

    arguments: tuple[Any, ...]
    reply: Reply | None = None
    wanted: bool = True
    attempts: int = 0


class _Worker:
    """A process as its parent sees it: ready once it has sent its first reply."""

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
        quiet = subprocess.DEVNULL  # for what a library prints; a traceback goes where the parent's would
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=quiet, stdout=quiet, **inherited)
        theirs.close()
        self.ready = False
        self.brief = False
        self.spent = False  # out of memory: it ends and begins no other task
        self.tasks: deque[Task] = deque()  # handed over and not answered; the first is in progress
        self.begun = 0.0  # when the first was, by time.monotonic()
        with suppress(OSError):  # a process that has ended already is noticed when it is attended to
            self.connection.send_bytes(message)

    def send(self, task: Task, message: bytes) -> None:
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


class Workers:
    """Processes that run one function on many tasks, one task at a time each.

    Args:
        count: number of processes.
        function, warm_up, memory_limit: as in :class:`rewards.worker_process.Setup`.
        timeout: seconds for one task, from when its worker begins it.
    """

    def __init__(
        self,
        count: int,
        function: Callable[..., Any],
        *,
        warm_up: Callable[[], None],
        timeout: float,
        memory_limit: int | None,
    ) -> None:
        self._setup = Setup(function, warm_up, memory_limit, os.getpid())
        self._timeout = timeout
        self._queue: deque[Task] = deque()
        self._failed_starts = 0
        self._attended = 0.0
        self._lock = threading.RLock()
        self._workers = [_Worker(self._setup) for _ in range(count)]
        try:
            while not all(worker.ready for worker in self._workers):
                self._attend(_LONGEST_WAIT)
        except BaseException:
            self.close()
            raise

    @property
    def is_mine(self) -> bool:
        """Whether this process started them; after a fork the child must not touch the parent's."""
        return self._setup.parent == os.getpid()

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that run now."""
        return [worker.process.pid for worker in self._workers]

    def close(self) -> None:
        """End all processes at once, whatever they do."""
        with self._lock:
            workers, self._workers = self._workers, []
            for worker in workers:
                worker.connection.close()
                if self.is_mine:
                    worker.kill()

    def submit(self, *arguments: Any) -> Task:
        """Queue a task, and hand out what is queued to the workers that are free."""
        task = Task(arguments)
        self._queue.append(task)
        if time.monotonic() - self._attended > _ATTENTION_SECONDS:
            with self._lock:
                self._attend(0.0)
        return task

    def result(self, task: Task) -> Any:
        """Wait for what the function returned, attending to all workers meanwhile.

        Raises:
            TaskTimeout: if the task ran past the limit.
            WorkerLost: if its worker ended before it.
            MemoryError: if it took more than the limit of memory.
            Exception: whatever else the function raised.
            NoWorkersError: if workers cannot be started, or were closed.
        """
        while task.reply is None:
            with self._lock:
                if not self._workers:
                    raise NoWorkersError("the worker processes were closed before the result was there")
                if task.reply is None:
                    self._attend(_LONGEST_WAIT)
        if task.reply.error is not None:
            raise task.reply.error
        return task.reply.value

    def _attend(self, patience: float) -> None:
        """Hand out tasks, wait so many seconds at most for a reply, and end what ran past the limit."""
        self._hand_out()
        now = time.monotonic()
        until = min([now + patience, *(worker.begun + self._timeout for worker in self._workers if worker.tasks)])
        heard = wait([worker.connection for worker in self._workers], max(0.0, until - now))
        for worker in list(self._workers):
            if worker.connection in heard and not worker.take_in():
                lost = WorkerLost(f"the worker process ended (exit code {worker.exit_code()})")
                self._replace(worker, None if worker.spent else lost)
            elif worker.tasks and time.monotonic() > worker.begun + self._timeout:
                worker.kill()
                worker.take_in()  # what it sent in its last moment counts
                late = time.monotonic() > worker.begun + self._timeout
                self._replace(worker, TaskTimeout(f"longer than {self._timeout:g} s") if late else None)
        self._attended = time.monotonic()

    def _hand_out(self) -> None:
        for worker in list(self._workers):
            while worker.ready and len(worker.tasks) < 1 + worker.brief and self._queue:
                task = self._queue.popleft()
                if not task.wanted:
                    continue
                message = pickle.dumps(task.arguments)
                if worker.tasks and len(message) > _LARGEST_AHEAD:
                    self._queue.appendleft(task)
                    break
                try:
                    worker.send(task, message)
                except OSError:
                    worker.take_in()  # it may have said why
                    tried = task.attempts >= _MOST_ATTEMPTS
                    lost = tried and not worker.spent
                    self._replace(worker, WorkerLost("no worker process took it up") if lost else None)
                    break

    def _replace(self, worker: _Worker, error: Exception | None) -> None:
        """Start another worker; the task in progress ends with the error, the others go back to the queue."""
        worker.kill()
        worker.connection.close()
        tasks = worker.tasks
        if tasks and error is not None:
            tasks.popleft().reply = Reply(None, error, time.monotonic())
        self._queue.extendleft(reversed(tasks))
        self._failed_starts = 0 if worker.ready else self._failed_starts + 1
        self._workers.remove(worker)
        if self._failed_starts >= _MOST_FAILED_STARTS:
            raise NoWorkersError(f"worker processes end before they are ready (exit code {worker.process.returncode})")
        self._workers.append(_Worker(self._setup))
