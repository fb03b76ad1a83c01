"""Worker processes that can be killed at any moment, at the cost of the one task in progress.

There is no thread in the parent: whoever submits a task or waits for a result attends to all workers meanwhile, and
only then are time limits kept.
"""

from __future__ import annotations

import math
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from multiprocessing.connection import wait
from typing import Any

from rewards.worker import Task, Worker
from rewards.worker_process import Reply, Setup

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
        self._workers = [Worker(self._setup) for _ in range(count)]
        while not all(worker.ready for worker in self._workers):
            self._attend(_LONGEST_WAIT)

    @property
    def is_mine(self) -> bool:
        """Whether this process started them; after a fork the child must not touch the parent's."""
        return self._setup.parent == os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether this process can use them: not closed, and not inherited by a fork."""
        return self.is_mine and bool(self._workers)

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
        self.wait_any([task])
        assert task.reply is not None
        if task.reply.error is not None:
            raise task.reply.error
        return task.reply.value

    def wait_any(self, tasks: Collection[Task], seconds: float | None = None) -> list[Task]:
        """Those of the tasks that have ended, attending to all workers until one has.

        Args:
            tasks: at least one.
            seconds: how long to wait; when none has ended by then, the list is empty. None for as long as it takes.

        Raises:
            NoWorkersError: if workers cannot be started, or were closed.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        while not (ended := [task for task in tasks if task.reply is not None]):
            left = until - time.monotonic()
            if left <= 0:
                break
            with self._lock:
                if not self._workers:
                    raise NoWorkersError("the worker processes were closed before the result was there")
                if all(task.reply is None for task in tasks):  # while this thread waited for its turn
                    self._attend(min(left, _LONGEST_WAIT))
        return ended

    def _attend(self, patience: float) -> None:
        """Hand out tasks, wait so many seconds at most for a reply, and end what ran past the limit."""
        try:
            self._hand_out()
            now = time.monotonic()
            limits = [worker.begun + self._timeout for worker in self._workers if worker.tasks]
            until = min([now + patience, *limits])
            heard = wait([worker.connection for worker in self._workers], max(0.0, until - now))
            for worker in list(self._workers):
                if worker.connection in heard and not worker.take_in():
                    lost = WorkerLost(f"the worker process ended (exit code {worker.exit_code()})")
                    self._replace(worker, None if worker.spent else lost)
                elif self._is_late(worker):
                    worker.kill()
                    worker.take_in()  # what it sent in its last moment counts
                    self._replace(worker, TaskTimeout() if self._is_late(worker) else None)
        except BaseException:  # a Ctrl-C may have left half a message in a pipe
            self.close()
            raise
        self._attended = time.monotonic()

    def _is_late(self, worker: Worker) -> bool:
        return bool(worker.tasks) and time.monotonic() > worker.begun + self._timeout

    def _hand_out(self) -> None:
        for worker in list(self._workers):
            # After a brief task it gets the next while it works, so that it need not wait for the parent in between.
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

    def _replace(self, worker: Worker, error: Exception | None) -> None:
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
        self._workers.append(Worker(self._setup))
