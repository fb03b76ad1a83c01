"""Running third-party readers and matchers without a word on the terminal."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

# Warning filters and standard streams belong to the whole process. Two threads that set and restore them out
# of turn would leave the streams lost for good, so only one at a time may be silent.
_LOCK = threading.RLock()


class _Discard(io.TextIOBase):
    """A stream that keeps nothing: what is printed costs no memory."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


@contextmanager
def silent() -> Iterator[None]:
    """Inside, no warning is shown and nothing reaches standard output or standard error."""
    with (
        _LOCK,
        warnings.catch_warnings(),
        redirect_stdout(_Discard()),
        redirect_stderr(_Discard()),
    ):
        warnings.simplefilter("ignore")
        yield
