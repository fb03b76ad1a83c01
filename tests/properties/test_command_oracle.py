"""A user's program: what it gets, what it may print, and how it ends."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from atomworld_env.errors import UsageError
from atomworld_env.programs import program_of
from atomworld_env.properties.by_name import UNITS, oracle_of
from atomworld_env.properties.command_oracle import CommandOracle
from atomworld_env.properties.oracle import Failure, Noise, PropertyValue
from rewards import Arrangement

SALT = Arrangement((5.64, 5.64, 5.64, 90.0, 90.0, 90.0), ("Na", "Cl"), np.array([[0, 0, 0], [0.5, 0.5, 0.5]]))


def run(script: str, tmp_path: Path, timeout: float = 20.0) -> PropertyValue:
    path = tmp_path / "program.py"
    path.write_text(script, encoding="utf-8")
    return CommandOracle("bulk_modulus", "GPa", (sys.executable, str(path)), Noise(1.0), timeout).evaluate(SALT)


def test_it_reads_a_cif_and_its_last_line_counts(tmp_path: Path) -> None:
    script = """
import gemmi, sys
block = gemmi.cif.read(sys.argv[1]).sole_block()
print("reading", len(block.find_loop("_atom_site_fract_x")), "sites")
print(float(block.find_value("_cell_length_a")) * 10, "GPa")
print()
"""
    assert run(script, tmp_path) == PropertyValue(56.4, "GPa")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('24.1 eV')", "not a number in GPa"),
        ("print('soft')", "not a number in GPa"),
        ("print('nan GPa')", "not a number in GPa"),
        ("", "not a number in GPa"),
        ("raise SystemExit(3)", "ended with status 3"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 10_000)", "not a number in GPa"),
    ],
)
def test_a_program_that_gives_no_value_is_a_failure_of_the_crystal(script: str, words: str, tmp_path: Path) -> None:
    found = run(script, tmp_path)
    assert (found.value, found.failure) == (None, Failure.CRYSTAL)
    assert words in found.message


def test_a_program_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"""
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
time.sleep(60)
"""
    begun = time.monotonic()
    found = run(script, tmp_path, timeout=2.0)
    assert found.failure is Failure.TIMEOUT
    assert time.monotonic() - begun < 20
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    deadline = time.monotonic() + 5
    while psutil.pid_exists(child) and psutil.Process(child).status() != "zombie" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_its_environment_is_a_short_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "1")
    found = run("import os; print(1 if 'SECRET_TOKEN' in os.environ else 2, 'GPa')", tmp_path)
    assert found.value == 2.0


def test_it_is_named_by_its_command() -> None:
    oracle = oracle_of("band_gap", f"command:{sys.executable} gap.py").oracle
    assert oracle.unit == UNITS["band_gap"]
    assert oracle.version != oracle_of("band_gap", f"command:{sys.executable} other.py").oracle.version
    with pytest.raises(UsageError, match="not found"):
        program_of("command:no-such-program")
    with pytest.raises(UsageError, match="needs a program"):
        program_of("command:")
    with pytest.raises(UsageError, match="unknown oracle"):
        oracle_of("band_gap", "guess")
    with pytest.raises(UsageError, match="unknown property"):
        oracle_of("hardness")
