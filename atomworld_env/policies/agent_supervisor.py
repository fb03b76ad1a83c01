"""Runs one program and ends it with every process it has started; a program of its own, run by path.

    python agent_supervisor.py SECONDS PROGRAM ARGUMENT...

Standard input of the program is the file ``instruction.txt`` of the working directory; what it prints is thrown away.
It is ended after so many seconds, or when this program's own standard input closes, which it does when whoever started
it is gone. On Linux orphans become children of this program, so that a process cannot get away by forking twice or by
starting a session. One line of JSON is printed: ``{"code": exit status or null, "timed_out": bool}``, or
``{"error": …}`` if the program cannot be started.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress

import psutil

PR_SET_CHILD_SUBREAPER = 36
"""Of ``prctl``; see prctl(2)."""

KILLING_TIME = 10.0
"""Seconds for ending processes that keep starting others."""

GLANCE = 0.02
"""Seconds between two looks at the program."""


def main(arguments: list[str]) -> None:
    """Run, end, report."""
    limit, command = float(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        with open("instruction.txt", "rb") as instruction:
            agent = subprocess.Popen(
                command,
                stdin=instruction,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    timed_out = _wait(agent, limit)
    code = agent.returncode
    end_all()
    agent.returncode = code or 0  # it is ended and forgotten, whatever its object knows
    print(json.dumps({"code": code, "timed_out": timed_out}), flush=True)


def _wait(agent: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for the program's end, the limit, or the end of whoever started this; whether the limit was reached."""
    deadline = time.monotonic() + limit
    while agent.poll() is None:
        if time.monotonic() >= deadline:
            return True
        readable, _, _ = select.select([sys.stdin.fileno()], [], [], GLANCE)
        if readable and not os.read(sys.stdin.fileno(), 1):
            return False
    return False


def end_all() -> None:
    """Kill every process below this one until there is none."""
    me = psutil.Process()
    deadline = time.monotonic() + KILLING_TIME
    while time.monotonic() < deadline:
        _reap()
        below = me.children(recursive=True)
        if not below:
            break
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.001)


def _reap() -> None:
    """Forget the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
