"""Policies by name, and the options of the command that say how they are asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.cli.policy_options import json_object
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.policies.baselines import BASELINES
from atomworld_env.policies.by_name import MODEL_POLICIES, PolicyOptions, policy_by_name
from atomworld_env.policies.command import AgentCommand, CommandOptions
from atomworld_env.policies.policy import settings_of
from atomworld_env.policies.sampling import Decoding


def test_the_listing_names_every_kind() -> None:
    ended = CliRunner().invoke(app, ["policies"])
    assert ended.exit_code == 0
    assert [name for name in (*BASELINES, *MODEL_POLICIES) if name not in ended.output] == []


def test_a_baseline_takes_the_seed_of_the_decoding() -> None:
    policy = policy_by_name("random_edit", PolicyOptions(Decoding(seed=3)))
    assert policy.seed == 3  # type: ignore[union-attr]
    assert settings_of(policy) == {}


def test_a_program_takes_its_options() -> None:
    options = PolicyOptions(Decoding(seed=3), command=CommandOptions(7.0, (), 2))
    policy = policy_by_name(f"command:{sys.executable} -c pass", options)
    assert isinstance(policy, AgentCommand)
    assert settings_of(policy) == {
        "kind": "command",
        "command": [sys.executable, "-c", "pass"],
        "timeout": 7.0,
        "environment": [],
        "seed": 3,
    }


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "null"])
def test_an_option_that_is_no_json_object_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="--extra-body") as error:
        json_object(text, "--extra-body")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--extra-body", "{"], "--extra-body is not JSON"),
        (["--top-p", "2"], "top_p is a probability"),
        (["--thinking-budget", "5000"], "leaves no answer"),
        (["--request-timeout", "0"], "request timeout"),
        (["--requests-per-minute", "0"], "requests per minute"),
        (["--max-tokens-field", "tokens"], "max_completion_tokens or max_tokens"),
        (["--command-timeout", "0"], "above 0 seconds"),
    ],
)
def test_a_mistake_in_an_option_is_told_before_anything_is_written(
    options: list[str], words: str, tmp_path: Path
) -> None:
    ended = CliRunner().invoke(app, ["evaluate", "--policy", "noop", "--out", str(tmp_path / "run"), *options])
    assert words in str(ended.exception)
    assert not (tmp_path / "run").exists()


def test_settings_survive_a_manifest(small_suite_folder: Path, tmp_path: Path) -> None:
    """What is read back is what a resumed run is held against."""
    arguments = [
        "evaluate", "--policy", f"command:{sys.executable} -c pass", "--suite", str(small_suite_folder),
        "--actions", "remove", "--per-action", "1", "--profile", "strict", "--out", str(tmp_path / "run"),
        "--workers", "1", "--json",
    ]  # fmt: skip
    assert CliRunner().invoke(app, arguments).exit_code == 0
    stored = read_manifest(tmp_path / "run")["config"]["settings"]
    policy = policy_by_name(f"command:{sys.executable} -c pass")
    assert stored == json.loads(json.dumps(dict(settings_of(policy)))) == settings_of(policy)
    assert CliRunner().invoke(app, [*arguments, "--resume", "--concurrency", "3"]).exit_code == 0
