"""A run from end to end: the effect that is there, resuming, mistakes, the commands."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from atomworld_env.cli.app import app
from atomworld_env.cli.competence import SUITE_NAMES
from atomworld_env.competence import run as running
from atomworld_env.competence.model import ScoringModel
from atomworld_env.competence.pairs import SUITES, Pair
from atomworld_env.competence.run import run_competence
from atomworld_env.competence.stored import (
    MEASURES,
    SCORES,
    CompetenceResult,
    is_competence_run,
    read_competence,
    read_scores,
)
from atomworld_env.evaluation.manifest import read_manifest

pytest.importorskip("torch")
pytest.importorskip("transformers")


def run(model: ScoringModel, pairs: tuple[Pair, ...], folder: Path, *, resume: bool = False) -> CompetenceResult:
    return run_competence(model, "competence", pairs, folder, batch_size=8, resume=resume)


@pytest.fixture
def untrained(random_network: Any, byte_tokenizer: Any) -> ScoringModel:
    return ScoringModel("hf:untrained", random_network, byte_tokenizer)


def test_a_model_that_prefers_the_truth_is_found_to(
    knowing_model: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    result = run(knowing_model, few_pairs, tmp_path / "run")
    assert (result.pairs, result.wanted, result.too_long, result.finished) == (24, 24, 0, True)
    assert set(result.effects) == set(MEASURES)
    for effect in result.effects.values():
        assert effect.d is not None
        assert effect.d > 3
        assert effect.interval is not None
        assert effect.interval[0] > 2
        assert effect.preferred.rate == 1.0
        assert effect.shuffled == pytest.approx(0, abs=0.05)


def test_a_model_that_prefers_what_is_false_is_found_to(
    knowing_model: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    swapped = tuple(replace(pair, sentence=pair.foreign, foreign=pair.sentence) for pair in few_pairs)
    for effect in run(knowing_model, swapped, tmp_path / "run").effects.values():
        assert effect.d is not None
        assert effect.d < -3
        assert effect.preferred.rate == 0.0


def test_an_untrained_model_has_no_effect(untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path) -> None:
    for effect in run(untrained, few_pairs, tmp_path / "run").effects.values():
        assert effect.interval is not None
        assert effect.interval[0] <= 0 <= effect.interval[1]


def test_what_is_on_disk(untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path) -> None:
    result = run(untrained, few_pairs, tmp_path)
    assert is_competence_run(tmp_path)
    assert read_competence(tmp_path) == result
    lines = read_scores(tmp_path)
    assert {(line["index"], line["true"]) for line in lines} == {(i, t) for i in range(24) for t in (True, False)}
    assert {line["pair_id"] for line in lines} == {pair.pair_id for pair in few_pairs}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["config"]["fingerprint"] == result.fingerprint
    assert manifest["config"]["settings"]["dtype"] == "float32"
    assert {"python", "torch", "transformers", "numpy"} <= set(manifest["versions"])
    json.dumps(result.to_json())


class StoppedError(Exception):
    """Stands for a kill."""


def test_a_killed_run_goes_on_where_it_was(
    untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(untrained, few_pairs, tmp_path / "whole")
    folder = tmp_path / "killed"
    score_all = running.score_all

    def stopping(*arguments: Any, **options: Any) -> Iterator[Any]:
        for number, scored in enumerate(score_all(*arguments, **options)):
            if number == 20:
                raise StoppedError
            yield scored

    monkeypatch.setattr(running, "score_all", stopping)
    with pytest.raises(StoppedError):
        run(untrained, few_pairs, folder)
    with (folder / SCORES).open("a") as file:
        file.write('{"index": 3, "pair')  # the kill came in the middle of a line
    partial = (folder / SCORES).read_text().splitlines()
    assert len(partial) == 21
    monkeypatch.setattr(running, "score_all", score_all)
    again = run(untrained, few_pairs, folder, resume=True)
    assert (folder / SCORES).read_text().splitlines()[:20] == partial[:20]
    assert len(read_scores(folder)) == 48
    for name, effect in again.effects.items():
        assert effect.d == pytest.approx(whole.effects[name].d, rel=1e-3, abs=1e-5)


def test_a_run_that_is_not_finished_says_so(
    untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    run(untrained, few_pairs, tmp_path)
    lines = (tmp_path / SCORES).read_text().splitlines(keepends=True)
    (tmp_path / SCORES).write_text("".join(lines[:10]))
    result = read_competence(tmp_path)
    assert not result.finished
    assert result.pairs < 10
    shown = CliRunner().invoke(app, ["table", str(tmp_path)])
    assert f"only {result.pairs} of 24 pairs are scored; go on with --resume" in " ".join(shown.stdout.split())


def test_texts_longer_than_the_context_are_counted_apart(
    knowing_model: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    longest = max(len(pair.text(True).encode()) for pair in few_pairs)
    knowing_model.network.config = SimpleNamespace(
        vocab_size=knowing_model.network.config.vocab_size, max_position_embeddings=longest - 1
    )
    result = run(knowing_model, few_pairs, tmp_path)
    assert result.too_long >= 1
    assert result.pairs + result.too_long == 24
    assert result.finished


@pytest.mark.parametrize("resume", [False, True])
def test_another_run_in_the_folder_is_left_alone(
    untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path, resume: bool
) -> None:
    run(untrained, few_pairs, tmp_path)
    before = (tmp_path / SCORES).read_bytes()
    with pytest.raises(ValueError, match="another --out"):
        run(untrained, few_pairs[:4], tmp_path, resume=resume)
    assert (tmp_path / SCORES).read_bytes() == before


def test_a_run_of_another_kind_is_left_alone(
    untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"config": {"policy": "noop"}}))
    with pytest.raises(ValueError, match="holds a run of another kind"):
        run(untrained, few_pairs, tmp_path, resume=True)
    assert not is_competence_run(tmp_path)
    with pytest.raises(ValueError, match="holds no run of chemical competence"):
        read_competence(tmp_path)


def test_other_commands_say_what_the_folder_is(
    untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path
) -> None:
    run(untrained, few_pairs, tmp_path)
    with pytest.raises(ValueError, match=r"is a run of chemical competence, .* `atomworld table`$"):
        read_manifest(tmp_path)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def evaluate(out: Path, *arguments: object, policy: str = "hf:small") -> Result:
    return invoke("evaluate", "--suite", "competence", "--policy", policy, "--out", out, *arguments)


def test_the_small_policy_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = evaluate(out, "--per-action", 3, "--json")
    assert first.exit_code == 0, first.exception
    assert json.loads(first.stdout)["pairs"] == 6
    again = evaluate(out, "--per-action", 3, "--resume")
    assert "hf:small" in again.stdout
    shown = invoke("table", out, "--published", "--out", tmp_path / "table.txt")
    assert "Qwen3-32B" in shown.stdout
    assert "1.141" in (tmp_path / "table.txt").read_text()
    assert json.loads(invoke("table", out, "--json").stdout)[0]["policy"] == "hf:small"


@pytest.mark.parametrize(
    ("policy", "arguments", "message"),
    [
        ("oracle", [], "'oracle' does not give; use a model on this machine, --policy hf:PATH"),
        ("openai:gpt", [], "'openai:gpt' does not give; use a model on this machine"),
        ("hf:small", ["--samples", "2"], "--samples has no meaning for --suite competence"),
        ("hf:small", ["--temperature", "1"], "--temperature has no meaning for --suite competence"),
        ("hf:small", ["--actions", "move"], "--actions has no meaning for --suite competence"),
        ("hf:small", ["--stop", "x"], "--stop has no meaning for --suite competence"),
        ("hf:/nowhere", [], "cannot load the model '/nowhere'"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path: Path, policy: str, arguments: list[str], message: str) -> None:
    result = evaluate(tmp_path / "run", *arguments, policy=policy)
    assert result.exit_code == 1
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "run" / SCORES).exists()


def test_a_table_of_both_kinds_is_refused(untrained: ScoringModel, few_pairs: tuple[Pair, ...], tmp_path: Path) -> None:
    run(untrained, few_pairs, tmp_path / "run")
    result = invoke("table", tmp_path / "run", tmp_path)
    assert "make a table of each kind" in str(result.exception)


def test_generate_writes_the_pairs(tmp_path: Path) -> None:
    for suite, make in SUITES.items():
        result = invoke("generate", "--suite", suite, "--out", tmp_path / suite, "--json")
        summary = json.loads(result.stdout)
        lines = [json.loads(line) for line in (tmp_path / suite / "pairs.jsonl").read_text().splitlines()]
        assert len(lines) == summary["pairs"]
        assert json.loads((tmp_path / suite / "suite.json").read_text()) == summary
        assert Pair(**lines[0]).source != lines[0]["structure_id"]
        assert make is SUITES[suite]
    assert "--seed has no meaning" in str(
        invoke("generate", "--suite", "competence", "--out", tmp_path, "--seed", 1).exception
    )


def test_the_command_line_knows_every_suite() -> None:
    assert set(SUITE_NAMES) == set(SUITES)


@pytest.mark.slow
def test_600_pairs_under_an_untrained_model(tmp_path: Path) -> None:
    """Within ten minutes on a CPU, and no interval leaves 0 out."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from atomworld_env.competence.pairs import load_pairs
    from atomworld_env.policies.local_model import shipped_model

    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(shipped_model())).eval()
    tokenizer = AutoTokenizer.from_pretrained(shipped_model())
    begun = time.perf_counter()
    result = run(ScoringModel("hf:untrained", network, tokenizer), load_pairs("competence"), tmp_path)
    assert time.perf_counter() - begun < 600
    assert (result.pairs, result.too_long) == (600, 0)
    for effect in result.effects.values():
        assert effect.interval is not None
        assert effect.interval[0] <= 0 <= effect.interval[1]
