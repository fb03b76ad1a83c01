"""What README and docs show is what the code does."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from atomworld_env.cli.app import app
from atomworld_env.tasks.suite import Suite

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md")), REPOSITORY / "CONTRIBUTING.md"]


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)


def test_the_quickstart_runs_and_is_short() -> None:
    (quickstart,) = code_blocks(REPOSITORY / "README.md", "python")
    statements = [line for line in quickstart.splitlines() if line.strip() and not line.startswith("import")]
    assert len(statements) <= 8
    assert statements[-1].startswith("assert ")
    subprocess.run([sys.executable, "-c", quickstart], check=True, capture_output=True)


def test_every_command_of_the_readme_runs(tmp_path: Path, small_suite: Suite) -> None:
    """In one folder, in order, on few tasks; the file of answers is made here, as the README says one has it.

    Commands that ask a model which is not here are read by the program and not carried out.
    """
    answer = {"id": 1, "target": small_suite.tasks[0].target, "answer": small_suite.tasks[0].structure}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    lines = [
        line.split("#")[0]
        for block in code_blocks(REPOSITORY / "README.md", "bash")
        for line in block.splitlines()
        if line.startswith("atomworld ")
    ]
    assert len(lines) >= 5
    for line in lines:
        words = shlex.split(line)[1:]
        if any(word.startswith(("hf:", "openai:", "command:")) for word in words):
            get_command(app).commands[words[0]].make_context(words[0], words[1:]).close()  # type: ignore[attr-defined]
            continue
        if words[0] == "generate":
            words += ["--per-action", "10"]
        if words[0] in ("evaluate", "audit"):
            words = [*words, "--per-action", "3", "--actions", "move"]
        done = subprocess.run(
            [sys.executable, "-m", "atomworld_env.cli.app", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_the_gallery_is_what_its_script_makes() -> None:
    script = runpy.run_path(str(REPOSITORY / "docs" / "make_gallery.py"))
    made = script["page"](script["gallery_tasks"]())
    assert made == (REPOSITORY / "docs" / "gallery.md").read_text(encoding="utf-8"), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((REPOSITORY / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example: Path) -> None:
    subprocess.run([sys.executable, str(example)], check=True, capture_output=True, timeout=300)
