"""An agent program, run once for each question in a folder of its own: ``command:"PROGRAM ARGUMENTS"``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.policies.agent_folder import INSTRUCTION, RESULT, STRUCTURE, AgentFolder, agent_folder, answer_of
from atomworld_env.policies.asking import Ask, ask_all
from atomworld_env.policies.policy import Failure, FailureKind, Question, Reply
from atomworld_env.programs import program_of

SUPERVISOR = Path(__file__).with_name("agent_supervisor.py")

GRACE = 15.0
"""Seconds beyond an agent's limit in which its supervisor has ended all its processes."""


@dataclass(frozen=True)
class CommandOptions:
    """How an agent program is run.

    Attributes:
        timeout: seconds for one question.
        environment: names of variables it sees beside a short allow-list.
        concurrency: programs at once.
    """

    timeout: float = 600.0
    environment: tuple[str, ...] = ()
    concurrency: int = 1

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.concurrency < 1:
            raise UsageError("the limit of a command must be above 0 seconds and concurrency at least 1")


@dataclass(frozen=True)
class AgentCommand:
    """A policy that runs a program.

    Attributes:
        name: as manifests show it.
        command: program and arguments.
        seed: an agent finds seed + number of the sample in ``ATOMWORLD_SEED``.
        options: how it is run.
    """

    name: str
    command: tuple[str, ...]
    seed: int = 0
    options: CommandOptions = CommandOptions()

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides the answers, as far as it is known here; values of the environment are not in it."""
        return {
            "kind": "command",
            "command": list(self.command),
            "timeout": self.options.timeout,
            "environment": list(self.options.environment),
            "seed": self.seed,
        }

    def replies(self, questions: Sequence[Question]) -> Iterator[tuple[int, Reply | Failure]]:
        """What came of each question, as soon as it is known."""
        return ask_all(self._open, questions, self.options.concurrency)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Ask]:
        yield self._ask

    async def _ask(self, question: Question) -> Reply | Failure:
        begun = perf_counter()
        try:
            with agent_folder(question) as folder:
                ended = await self._run(folder, question)
                found = folder.result()
        except OSError as error:
            return Failure(FailureKind.CRASHED, f"the agent could not be run: {error}", perf_counter() - begun)
        seconds = perf_counter() - begun
        if "error" in ended:
            return Failure(FailureKind.CRASHED, f"the agent could not be run: {ended['error']}", seconds)
        text, cut = found or ("", False)
        return Reply(answer_of(text), bool(ended["timed_out"]) or cut, seconds=seconds)

    async def _run(self, folder: AgentFolder, question: Question) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # not the modules beside the supervisor, whatever they are called
            str(SUPERVISOR),
            str(self.options.timeout),
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=folder.path,
            env=folder.environment(self.options.environment, self.seed + question.sample),
            start_new_session=True,  # a Ctrl-C is for us; the supervisor ends when its standard input closes
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self.options.timeout + GRACE):
                said = await process.stdout.read()
        except TimeoutError:
            said = b""
        finally:
            process.stdin.close()
            try:
                async with asyncio.timeout(GRACE):
                    await process.wait()
            except TimeoutError:
                process.kill()
        try:
            ended: dict[str, Any] = json.loads(said)
        except ValueError:
            return {"error": "its supervisor was killed"}
        return ended


def load_command(name: str, seed: int, options: CommandOptions) -> AgentCommand:
    """The agent of ``command:"PROGRAM ARGUMENTS"``; nothing is run yet.

    Raises:
        UsageError: if the program is not found, or this system has no process groups.
    """
    program = program_of(name, kept=(STRUCTURE, INSTRUCTION, RESULT))
    missing = [variable for variable in options.environment if variable not in os.environ]
    if missing:
        raise UsageError(
            f"the environment has no variable {missing[0]}; set it or leave out --command-env {missing[0]}"
        )
    return AgentCommand(name, program, seed, options)
