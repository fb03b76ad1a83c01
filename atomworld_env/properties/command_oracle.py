"""A property computed by a program of the user's: it gets a CIF and prints a number with its unit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from atomworld_env.properties.oracle import CostClass, Failure, Noise, PropertyValue
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal
from rewards import Arrangement

PASSED = ("PATH", "LANG", "LC_ALL", "TZ")
"""What the program sees of the environment, beside its own HOME and TMPDIR."""
MOST_PRINTED = 64_000
"""Bytes read of what it prints."""

_LAST = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)


@dataclass(frozen=True)
class CommandOracle:
    """``command:"PROGRAM ARGUMENTS"``: run with the path of a CIF (P 1, 8 decimals) as its last argument.

    Its last line of output is the value and the unit, such as ``121.4 GPa`` or ``1.12 eV``. It runs in a folder of its
    own, with PATH, locale, HOME and TMPDIR alone in its environment, and is killed with all of its process group after
    `timeout` seconds. An exit status other than 0 means that there is no value for this crystal.

    Attributes:
        property: that it computes.
        unit: that it must print.
        command: program and arguments.
        noise: below which two values count as equal.
        timeout: seconds for one crystal.
    """

    property: str
    unit: str
    command: tuple[str, ...]
    noise: Noise
    timeout: float = 600.0
    cost: CostClass = "unknown"
    deterministic: bool = False
    version: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", f"command-{sha256(repr(self.command).encode()).hexdigest()[:12]}")

    def evaluate(self, crystal: Arrangement) -> PropertyValue:
        """The value, or the failure of the program."""
        with tempfile.TemporaryDirectory(prefix="atomworld-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            cif = folder / "structure.cif"
            shown = Crystal(crystal.cell, crystal.elements, crystal.frac)
            cif.write_text(write_cif(shown, decimals=TARGET_DECIMALS), encoding="utf-8")
            with (folder / "output.txt").open("w+b") as output:
                code = self._run(folder, cif, output)
                output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_PRINTED))
                printed = output.read().decode(errors="replace")
        if isinstance(code, PropertyValue):
            return code
        if code != 0:
            return self._failed(Failure.CRYSTAL, f"the program ended with status {code}")
        lines = [line for line in printed.splitlines() if line.strip()]
        match = _LAST.fullmatch(lines[-1]) if lines else None
        if match is None or match[2] != self.unit:
            return self._failed(Failure.CRYSTAL, f"the program's last line is not a number in {self.unit}")
        return PropertyValue(float(match[1]), self.unit)

    def _run(self, folder: Path, cif: Path, output: Any) -> int | PropertyValue:
        environment = {name: os.environ[name] for name in PASSED if name in os.environ}
        environment |= {"HOME": str(folder), "TMPDIR": str(folder)}
        try:
            process = subprocess.Popen(
                [*self.command, str(cif)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return self._failed(Failure.LOST, f"the program cannot be run: {error.strerror}")
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return self._failed(Failure.TIMEOUT, f"no value within {self.timeout:g} s")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _failed(self, failure: Failure, message: str) -> PropertyValue:
        return PropertyValue(None, self.unit, failure=failure, message=message)
