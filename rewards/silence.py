"""Running third-party readers and matchers without a word on the terminal."""

from __future__ import annotations

import io
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

# Warning filters and standard streams belong to the whole process. Two threads that set and restore them out
# of turn would leave the streams lost for good, so only one at a time may be silent.
_LOCK = threading.RLock()


class _Muted(io.TextIOBase):
    """A stream that drops what this thread prints and hands on what other threads print."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._stream is not None and threading.get_ident() != self._thread:
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None and threading.get_ident() != self._thread:
            self._stream.flush()


@contextmanager
def silent() -> Iterator[None]:
    """Inside, no warning is shown and nothing that this thread prints is seen."""
    with (
        _LOCK,
        warnings.catch_warnings(),
        redirect_stdout(_Muted(sys.stdout)),
        redirect_stderr(_Muted(sys.stderr)),
    ):
        warnings.simplefilter("ignore")
        yield
