"""Silence for one thread, and only while it is asked for."""

from __future__ import annotations

import sys
import threading
import warnings

import pytest

from rewards.silence import silent


def test_nothing_is_seen_from_inside(capfd: pytest.CaptureFixture[str]) -> None:
    with silent():
        print("to output")
        print("to error", file=sys.stderr)
        warnings.warn("noise", stacklevel=1)
    print("after")
    assert capfd.readouterr() == ("after\n", "")


def test_other_threads_still_print(capsys: pytest.CaptureFixture[str]) -> None:
    with silent():
        thread = threading.Thread(target=print, args=("from elsewhere",))
        thread.start()
        thread.join()
    assert capsys.readouterr().out == "from elsewhere\n"


def test_streams_and_filters_come_back_from_many_threads() -> None:
    before = (sys.stdout, sys.stderr, list(warnings.filters))

    def often() -> None:
        for _ in range(200):
            with silent():
                pass

    threads = [threading.Thread(target=often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sys.stdout, sys.stderr, list(warnings.filters)) == before
