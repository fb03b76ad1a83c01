"""The card of a published model says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")

from atomworld_env.policies.local_model import load_local_model, shipped_model
from atomworld_env.policies.sampling import Decoding
from atomworld_env.prompts.prompt import load_template
from training.small_policy.architecture import Shape
from training.small_policy.practice import Curriculum
from training.small_policy.pretraining import Budget, Settings, pretrain
from training.small_policy.progress_check import check, held_out_tasks
from training.small_policy.publish import COPIED_EDITS, MOST_BYTES, app, readme


def test_publishing_copies_the_model_and_measures_it(tmp_path: Path) -> None:
    settings = Settings(
        shape=Shape(width=32, layers=1, heads=2, feed_forward=32, max_length=512),
        curriculum=Curriculum(sites=(2, 2), easy_pairs=0, shares={"remove": 1.0, "move_towards": 1.0}),
        batch_tokens=512,
    )
    budget = Budget(minutes=None, steps=1, check_every=1e6, save_every=1e6, per_action=1)
    pretrain(tmp_path / "run", settings, budget, report=lambda line: None)
    out = tmp_path / "checkpoint"
    ended = CliRunner().invoke(
        app, [str(tmp_path / "run"), "--out", str(out), "--command", "train", "--per-action", "1"]
    )
    assert ended.exit_code == 0, ended.output
    assert {"model.safetensors", "tokenizer.json", "config.json", "curve.jsonl", "card.json", "README.md"} <= {
        path.name for path in out.iterdir()
    }
    assert not list(out.glob("*.pt"))
    card = json.loads((out / "card.json").read_text())
    assert (card["command"], card["steps"], card["sites"]) == ("train", 1, [2, 2])
    assert card["measured"]["test"]["success"]["remove"]["of"] == 1
    # No small cell of the validation split admits it.
    assert "move_towards" not in card["measured"]["validation"]["success"]
    assert "| move_towards | – |" in readme(card)


def test_a_folder_without_a_run_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no finished run"):
        CliRunner().invoke(app, [str(tmp_path), "--out", str(tmp_path / "x"), "--command", ""], catch_exceptions=False)


def test_the_shipped_model_is_small_and_its_card_keeps_the_promise() -> None:
    folder = shipped_model()
    assert sum(path.stat().st_size for path in folder.glob("*.safetensors")) <= MOST_BYTES
    card = json.loads((folder / "card.json").read_text())
    assert card["measured"]["test"]["mean_of_change_remove_swap_add"] >= 0.4
    assert (folder / "curve.jsonl").stat().st_size > 0


def test_the_shipped_tokenizer_is_the_one_the_code_builds(tmp_path: Path) -> None:
    from training.small_policy.tokenizer import build_tokenizer

    build_tokenizer(max_length=2048).save_pretrained(tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text()) == json.loads(
        (shipped_model() / "tokenizer.json").read_text()
    )


@pytest.mark.slow
def test_the_shipped_model_edits_crystals_it_has_not_seen() -> None:
    policy = load_local_model("hf:small", Decoding(max_new_tokens=400), batch_size=40)
    tasks = held_out_tasks("test", COPIED_EDITS, sites=(2, 6), per_action=20, seed=1)
    rates = check(policy, tasks, load_template("short")).rates
    assert sum(rates.values()) / len(rates) >= 0.4, rates
