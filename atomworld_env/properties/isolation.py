"""A property computed in a worker process that can be killed: a time limit that holds whatever the library does."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from dataclasses import dataclass

from atomworld_env.properties.oracle import Failure, PropertyValue
from rewards import Arrangement
from rewards.workers import NoWorkersError, TaskTimeout, WorkerLost, Workers

MEMORY_LIMIT = 8 * 2**30
"""Bytes beyond what a warm worker has; a crystal of 40 sites relaxes in 1 GiB."""


@dataclass(frozen=True)
class Isolated:
    """A function of a crystal, run elsewhere.

    Attributes:
        function, warm_up: found by module and name in the worker.
        unit: of the values.
        timeout: seconds for one crystal, from when a warm worker begins.
    """

    function: Callable[[Arrangement], PropertyValue]
    warm_up: Callable[[], None]
    unit: str
    timeout: float

    def __call__(self, crystal: Arrangement) -> PropertyValue:
        """The value, or the failure: a time limit, a lost process, or whatever the function raised."""
        try:
            workers = _workers(self)
            value: PropertyValue = workers.result(workers.submit(crystal))
            return value
        except TaskTimeout:
            return self._failed(Failure.TIMEOUT, f"no value within {self.timeout:g} s")
        except MemoryError:
            return self._failed(Failure.CRYSTAL, "the computation took more memory than it may")
        except (WorkerLost, NoWorkersError) as error:
            return self._failed(Failure.LOST, str(error))
        except Exception as error:  # a library's own; a verdict is due even so
            line = (str(error).splitlines() or [""])[0][:120]
            return self._failed(Failure.CRYSTAL, f"the computation failed: {type(error).__name__} {line}".rstrip())

    def _failed(self, failure: Failure, message: str) -> PropertyValue:
        return PropertyValue(None, self.unit, failure=failure, message=message)


_STARTED: dict[Isolated, Workers] = {}


def _workers(isolated: Isolated) -> Workers:
    """The one worker of this process for the function, started when it is first needed and again after a fork."""
    workers = _STARTED.get(isolated)
    if workers is None or not workers.is_open:
        workers = _STARTED[isolated] = Workers(
            1, isolated.function, warm_up=isolated.warm_up, timeout=isolated.timeout, memory_limit=MEMORY_LIMIT
        )
    return workers


@atexit.register
def close_workers() -> None:
    """End the workers of this process; the next evaluation starts others."""
    while _STARTED:
        _STARTED.popitem()[1].close()


def lift_memory_limit() -> None:
    """Called in a worker before it imports torch: a parent that is itself a limited worker hands its limit on."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
