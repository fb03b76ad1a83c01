"""A user's own program, named on the command line."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection
from pathlib import Path

from atomworld_env.errors import UsageError

PREFIX = "command:"


def program_of(name: str, *, kept: Collection[str] = ()) -> tuple[str, ...]:
    """Program and arguments of ``command:"PROGRAM ARGUMENTS"``; words that name files become whole paths.

    The program runs in another folder, where a word that names a file of the working directory would name nothing.

    Args:
        kept: words that stay as they are.

    Raises:
        UsageError: if there is no such program, or this system has no process groups.
    """
    if os.name != "posix":
        raise UsageError("command: needs Linux or macOS; run it in WSL or a container")
    try:
        words = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        raise UsageError(f"cannot read {name!r}: {error}; quote it as in a shell") from None
    if not words:
        raise UsageError('command: needs a program; write command:"PROGRAM ARGUMENTS"')
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"the program {words[0]!r} is not found or not executable; give its path or chmod +x it")
    return (str(Path(program).absolute()), *(word if word in kept else _whole_path(word) for word in words[1:]))


def _whole_path(word: str) -> str:
    return str(Path(word).absolute()) if not word.startswith("-") and Path(word).is_file() else word
