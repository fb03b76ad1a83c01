"""The commands of docs/policies.md are ones that the program accepts, and name every kind of policy."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from atomworld_env.cli.app import app
from atomworld_env.policies.by_name import MODEL_POLICIES
from atomworld_env.policies.policy import FailureKind

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip() for line in PAGE.replace("\\\n", " ").splitlines() if line.startswith("    atomworld evaluate ")
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_program_accepts_the_command(line: str) -> None:
    command = get_command(app).commands["evaluate"]  # type: ignore[attr-defined]
    command.make_context("evaluate", shlex.split(line)[2:], resilient_parsing=False).close()


@pytest.mark.parametrize("name", MODEL_POLICIES)
def test_every_kind_has_a_command(name: str) -> None:
    kind = name.partition(":")[0]
    assert any(f"--policy {kind}:" in line.replace("'", "") for line in COMMANDS)


def test_every_kind_of_failure_is_explained() -> None:
    assert [kind for kind in FailureKind if f"| `{kind.value}` |" not in PAGE] == []
