"""Values kept by crystal: in memory, and on disk where a folder is named."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from hashlib import sha256
from math import isfinite
from pathlib import Path

import numpy as np

from atomworld_env.properties.oracle import Failure, PropertyOracle, PropertyValue
from rewards import Arrangement

FOLDER_VARIABLE = "ATOMWORLD_PROPERTY_CACHE"
"""Environment variable that names the folder of the values on disk; without it nothing is written."""

DECIMALS = 4


def crystal_key(crystal: Arrangement) -> str:
    """A hash of cell and sites, rounded to 4 decimals, whatever the order and the periodic image of the sites."""
    frac = np.mod(np.round(np.mod(crystal.frac, 1.0), DECIMALS), 1.0) + 0.0
    sites = sorted(
        [symbol, *(f"{value:.{DECIMALS}f}" for value in row)]
        for symbol, row in zip(crystal.elements, frac.tolist(), strict=True)
    )
    cell = [f"{value:.{DECIMALS}f}" for value in crystal.cell]
    return sha256(json.dumps([cell, sites]).encode()).hexdigest()[:24]


class CachedOracle:
    """An oracle that evaluates each crystal once.

    What lies in the crystal is kept, failures included; what ended before it knew is asked again.

    Args:
        oracle: asked for what is not known.
        folder: of the file of values; by default the one in the environment variable above, or none. Several processes
            may share it.
    """

    def __init__(self, oracle: PropertyOracle, folder: Path | None = None) -> None:
        self.oracle = oracle
        named = os.environ.get(FOLDER_VARIABLE)
        folder = Path(named) if folder is None and named else folder
        self._path = None if folder is None else folder / f"{re.sub(r'[^A-Za-z0-9.+-]', '_', oracle.version)}.jsonl"
        self._values: dict[str, PropertyValue] = {}
        if self._path is not None and self._path.exists():
            self._values = _read(self._path)

    def value(self, crystal: Arrangement) -> PropertyValue:
        """The value of a crystal."""
        key = crystal_key(crystal)
        if key not in self._values:
            found = self._evaluated(crystal)
            if found.failure not in (None, Failure.CRYSTAL):
                return found
            self._values[key] = found
            self._write(key, found)
        return self._values[key]

    def _evaluated(self, crystal: Arrangement) -> PropertyValue:
        """A finite value in its unit or a failure, whatever the oracle does: it may be a user's."""
        try:
            found = self.oracle.evaluate(crystal)
            known = found.value is not None and isfinite(found.value) and found.unit == self.oracle.unit
        except Exception as error:
            line = (str(error).splitlines() or [""])[0][:120]
            message = f"the oracle failed: {type(error).__name__} {line}".rstrip()
            return PropertyValue(None, self.oracle.unit, failure=Failure.LOST, message=message)
        if known == (found.failure is None):
            return found
        message = found.message or f"the oracle gave no finite value in {self.oracle.unit}"
        return replace(found, value=None, failure=found.failure or Failure.CRYSTAL, message=message)

    def _write(self, key: str, value: PropertyValue) -> None:
        if self._path is None:
            return
        line = json.dumps({"crystal": key} | value.to_json()) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:  # one write of one line, so that none is torn
                file.write(line)
        except OSError:
            self._path = None  # a full disk must not end a training run


def _read(path: Path) -> dict[str, PropertyValue]:
    """The values of a file; lines that are none (cut off when a process was killed) are left out."""
    values = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            record = json.loads(line)
            values[str(record["crystal"])] = PropertyValue.from_json(record)
        except (ValueError, KeyError, TypeError):
            continue
    return values
