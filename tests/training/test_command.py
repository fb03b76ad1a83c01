"""The commands: help with examples, and a mistake in one line with status 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from training import grpo, sft
from training.command import run_command

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("module", [grpo, sft])
def test_help_shows_how_to_start(module: object, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        module.parser().parse_args_and_config(["--help"])  # type: ignore[attr-defined]
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "accelerate launch --config_file" in shown
    assert "--resume_from_checkpoint last" in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--config", "odd.yaml"], "curiculum"),
        (["--max_steps", "1"], "--model_name_or_path"),
        (["--max_steps", "1", "--model_name_or_path", "."], "cannot load the tokenizer"),
    ],
)
def test_a_mistake_is_one_line(
    line: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.yaml").write_text("curiculum: false\n")
    monkeypatch.setattr(sys, "argv", ["grpo", *line, "--output_dir", "run", "--use_cpu", "--bf16", "false"])
    with pytest.raises(SystemExit) as ended:
        run_command(grpo.main, grpo.parser())
    assert ended.value.code == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert message in error
