"""The folder in which an agent program meets one task: what it finds there, and what it leaves."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atomworld_env.policies.policy import Question

STRUCTURE = "structure.cif"
INSTRUCTION = "instruction.txt"
RESULT = "result.cif"

WHERE_TO = f"The structure is also in the file {STRUCTURE}. Write the edited structure as a CIF to {RESULT} beside it."
"""Last line of the instruction, after the prompt that every model reads."""

LARGEST_RESULT = 400_000
"""Bytes of a result that are read: four times a crystal of 800 sites, and less than what verification gives up on."""

PASSED = ("PATH", "LANG", "LC_ALL", "TZ")
"""What an agent sees of the environment, beside its own HOME and TMPDIR."""


@dataclass(frozen=True)
class AgentFolder:
    """An open folder.

    Attributes:
        path: of the folder.
        descriptor: of the folder, so that it stays the same folder whatever the agent does to its name.
    """

    path: Path
    descriptor: int

    def environment(self, passed: Sequence[str], seed: int) -> dict[str, str]:
        """The environment of an agent: an allow-list, its own home, and a seed for its random numbers.

        Args:
            passed: names of further variables.
        """
        own = {"HOME": str(self.path), "TMPDIR": str(self.path), "ATOMWORLD_SEED": str(seed)}
        given = {name: os.environ[name] for name in (*PASSED, *passed) if name in os.environ}
        return {**own, **given}

    def result(self) -> tuple[str, bool] | None:
        """The result as text and whether it was cut at the limit; None if there is none.

        Only a regular file counts: a link, a folder, a pipe or a device is not opened, or not read.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            file = os.open(RESULT, flags, dir_fd=self.descriptor)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return None
            content = bytearray()
            while len(content) <= LARGEST_RESULT and (piece := os.read(file, LARGEST_RESULT + 1 - len(content))):
                content += piece
        except OSError:
            return None
        finally:
            os.close(file)
        return content[:LARGEST_RESULT].decode(errors="replace"), len(content) > LARGEST_RESULT


@contextmanager
def agent_folder(question: Question) -> Iterator[AgentFolder]:
    """A fresh folder with structure and instruction in it; removed afterwards, with all that is there then."""
    path = Path(tempfile.mkdtemp(prefix="atomworld-"))
    try:
        (path / STRUCTURE).write_text(question.task.structure, encoding="utf-8")
        prompt = "\n\n".join(message["content"] for message in question.messages)
        (path / INSTRUCTION).write_text(f"{prompt}\n\n{WHERE_TO}\n", encoding="utf-8")
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield AgentFolder(path, descriptor)
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def answer_of(text: str) -> str:
    """The content of a result as an answer: in tags, if it has none of its own."""
    if not text.strip() or "<cif>" in text.lower():
        return text
    return f"<cif>\n{text}\n</cif>"
