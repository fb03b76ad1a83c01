"""A model on this machine as a policy: batches, sampling, memory, mistakes; a tiny random one, no network."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.evaluation.manifest import read_manifest
from atomworld_env.evaluation.records import stored_results
from atomworld_env.policies.by_name import policy_by_name
from atomworld_env.policies.local_model import LocalModel, load_local_model
from atomworld_env.policies.policy import Failure, FailureKind, ModelPolicy, Question, Reply, settings_of
from atomworld_env.policies.sampling import Decoding

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


def load(folder: Path, *, batch_size: int = 16, **options: Any) -> LocalModel:
    return load_local_model(f"hf:{folder}", replace(Decoding(max_new_tokens=8), **options), batch_size=batch_size)


def replies(model: LocalModel, questions: Sequence[Question]) -> list[Reply]:
    """The replies in the order of the questions; each question must have exactly one."""
    found = list(model.replies(questions))
    assert sorted(number for number, _ in found) == list(range(len(questions)))
    assert all(isinstance(reply, Reply) for _, reply in found)
    return [reply for _, reply in sorted(found, key=lambda pair: pair[0]) if isinstance(reply, Reply)]


def texts(model: LocalModel, questions: Sequence[Question]) -> list[str]:
    return [reply.text for reply in replies(model, questions)]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_does_not_depend_on_its_batch(
    random_model: Path, questions: list[Question], temperature: float
) -> None:
    alone = texts(load(random_model, batch_size=1, temperature=temperature), questions)
    together = texts(load(random_model, batch_size=3, temperature=temperature), questions)
    assert alone == together
    assert texts(load(random_model, temperature=temperature), questions[1:]) == alone[1:]


def test_a_greedy_answer_of_a_trained_model_does_not_depend_on_its_batch(questions: list[Question]) -> None:
    alone, together = (
        texts(load_local_model("hf:small", Decoding(max_new_tokens=40), batch_size=size), questions) for size in (1, 3)
    )
    assert alone == together
    assert all(alone)


def test_answers_come_in_order_although_the_longest_prompt_is_asked_first(
    random_model: Path, questions: list[Question]
) -> None:
    long = replace(questions[1], messages=[{"role": "user", "content": "long " * 60}])
    mixed = [questions[0], long, questions[2]]
    model = load(random_model, batch_size=1)
    assert next(number for number, _ in model.replies(mixed)) == 1
    assert list(model.answers(mixed)) == texts(model, mixed)


def test_sampling_follows_its_seed(random_model: Path, questions: list[Question]) -> None:
    first, again, other = (texts(load(random_model, temperature=1.0, seed=seed), questions) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first != texts(load(random_model), questions)


def test_samples_of_one_task_differ(random_model: Path, questions: list[Question]) -> None:
    same_task = [replace(questions[0], sample=sample) for sample in range(4)]
    assert len(set(texts(load(random_model, temperature=1.0), same_task))) > 1


def test_top_k_of_one_is_the_likeliest_token(random_model: Path, questions: list[Question]) -> None:
    greedy = texts(load(random_model), questions)
    assert texts(load(random_model, temperature=1.0, top_k=1), questions) == greedy
    assert texts(load(random_model, temperature=1.0, top_p=1e-6), questions) == greedy


def test_tokens_are_drawn_with_the_probabilities_of_the_model() -> None:
    from atomworld_env.policies.token_batches import RowStreams

    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    streams = RowStreams(range(4000), Decoding(temperature=1.0), "cpu")
    drawn = streams(None, probabilities.log().expand(4000, 4)).argmax(dim=1)
    frequencies = torch.bincount(drawn, minlength=4) / 4000
    # Four standard errors of a frequency at most 0.5 among 4000 draws.
    assert (frequencies - probabilities).abs().max() < 4 * (0.25 / 4000) ** 0.5


def test_a_reply_counts_tokens_and_knows_whether_it_was_cut_off(random_model: Path, questions: list[Question]) -> None:
    model = load(random_model)
    for question, reply in zip(questions, replies(model, questions), strict=True):
        prompt = model.tokenizer.apply_chat_template(question.messages, add_generation_prompt=True)["input_ids"]
        assert reply.prompt_tokens == len(prompt)
        assert reply.completion_tokens == 8
        assert reply.truncated is True
        assert reply.seconds is not None
        assert reply.seconds > 0


def test_an_answer_that_ends_is_not_truncated(
    random_model: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(random_model, temperature=1.0)
    said = []
    generate = model.network.generate
    monkeypatch.setattr(model.network, "generate", lambda **given: said.append(generate(**given)) or said[-1])
    (whole,) = replies(model, questions[:1])
    model.network.generation_config.eos_token_id = int(said[0][0, -6])  # the third of eight tokens now ends the answer
    (reply,) = replies(model, questions[:1])
    assert (whole.truncated, whole.completion_tokens) == (True, 8)
    assert (reply.truncated, reply.completion_tokens) == (False, 3)


def test_a_stop_string_ends_an_answer_and_is_no_part_of_it(random_model: Path, questions: list[Question]) -> None:
    whole = texts(load(random_model, max_new_tokens=30, temperature=1.0), questions)
    stop = max(re.findall(r"[A-Za-z]+", whole[0][1:]), key=len)
    cut = replies(load(random_model, max_new_tokens=30, temperature=1.0, stop=(stop,)), questions)
    assert cut[0].text == whole[0][: whole[0].index(stop)]
    assert cut[0].truncated is False
    assert cut[0].completion_tokens is not None
    assert cut[0].completion_tokens < 30
    for before, reply in zip(whole, cut, strict=True):
        assert reply.text == before.partition(stop)[0]
        assert reply.truncated == (stop not in before)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_open_thought_is_closed_and_the_answer_does_not_depend_on_its_batch(
    random_model: Path, questions: list[Question], temperature: float
) -> None:
    together = load(random_model, max_new_tokens=40, thinking_budget=10, temperature=temperature)
    together.tokenizer.chat_template = "{{ messages[0]['content'] }}<think>\n"
    alone = replace(together, batch_size=1)
    for reply, same in zip(replies(together, questions), replies(alone, questions), strict=True):
        assert reply.text == same.text
        assert reply.text.startswith("<think>\n")
        assert "</think>" in reply.text  # at the budget if not before
        assert reply.completion_tokens == same.completion_tokens
        assert reply.completion_tokens is not None
        assert 10 < reply.completion_tokens <= 40
    assert any("\n</think>\n" in reply.text for reply in replies(together, questions))


def test_too_little_memory_halves_the_batch_and_loses_nothing(
    random_model: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(random_model, batch_size=8)
    asked = [replace(question, sample=sample) for question in questions for sample in range(4)]
    expected = texts(model, asked)
    sizes = []
    generate = model.network.generate

    def memory_for_three(**arguments: Any) -> Any:
        sizes.append(len(arguments["input_ids"]))
        if sizes[-1] > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return generate(**arguments)

    monkeypatch.setattr(model.network, "generate", memory_for_three)
    assert texts(model, asked) == expected
    assert sizes[:3] == [8, 4, 2]
    assert max(sizes[2:]) == 2


@pytest.mark.parametrize("words", ["CUDA out of memory.", "DefaultCPUAllocator: can't allocate memory"])
def test_a_question_that_fits_no_memory_fails_and_the_others_are_asked(
    random_model: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    model = load(random_model)
    long = replace(questions[0], messages=[{"role": "user", "content": "x" * 300}])
    generate = model.network.generate

    def memory_for_short_ones(**arguments: Any) -> Any:
        if arguments["input_ids"].shape[1] > 200:
            raise RuntimeError(words)
        return generate(**arguments)

    monkeypatch.setattr(model.network, "generate", memory_for_short_ones)
    found = dict(model.replies([questions[1], long, questions[2]]))
    failure = found[1]
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.OUT_OF_MEMORY
    assert isinstance(found[0], Reply)
    assert isinstance(found[2], Reply)
    with pytest.raises(MemoryError):
        list(model.answers([questions[1], long]))


def test_an_error_that_is_not_about_memory_is_raised(
    random_model: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(random_model)
    monkeypatch.setattr(model.network, "generate", lambda **arguments: (_ for _ in ()).throw(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        list(model.replies(questions))


def test_the_name_tells_how_answers_were_drawn(random_model: Path) -> None:
    assert load_local_model(f"hf:{random_model}").name == f"hf:{random_model}"
    assert load(random_model, temperature=0.5).name == f"hf:{random_model} temperature=0.5 max_new_tokens=8"


def test_the_settings_hold_what_decides_an_answer_and_not_the_size_of_batches(random_model: Path) -> None:
    model = load(random_model, batch_size=4, temperature=0.5, stop=("END",), thinking=False)
    assert isinstance(model, ModelPolicy)
    settings = settings_of(model)
    assert settings["model"] == str(random_model)
    assert (settings["temperature"], settings["stop"], settings["thinking"]) == (0.5, ["END"], False)
    assert settings["dtype"] == "float32"
    assert settings == settings_of(load(random_model, batch_size=8, temperature=0.5, stop=("END",), thinking=False))


def test_a_prompt_that_fills_the_context_still_gets_an_answer(random_model: Path, questions: list[Question]) -> None:
    long = replace(questions[0], messages=[{"role": "user", "content": "x" * 500}])
    assert len(texts(load(random_model, max_new_tokens=400), [long])) == 1


def test_a_folder_without_a_model_is_a_mistake_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^cannot load the model [^\n]*$"):
        policy_by_name(f"hf:{tmp_path}/nothing")


def test_an_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown policy .magic.; choose from oracle, .*hf:PATH.*openai:MODEL"):
        policy_by_name("magic")


@pytest.mark.parametrize(
    "options",
    [{"top_p": 0.0}, {"top_k": -1}, {"stop": ("",)}, {"thinking_budget": 8, "max_new_tokens": 8}, {"temperature": -1}],
)
def test_a_way_of_drawing_that_cannot_be_is_a_mistake(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Decoding(**options)


def test_the_command_evaluates_a_model(random_model: Path, small_suite_folder: Path, tmp_path: Path) -> None:
    arguments = [
        "evaluate", "--policy", f"hf:{random_model}", "--prompt", "short", "--suite", str(small_suite_folder),
        "--actions", "remove", "--per-action", "2", "--max-new-tokens", "4", "--profile", "strict",
        "--samples", "2", "--temperature", "1", "--out", str(tmp_path / "run"), "--workers", "1", "--json",
    ]  # fmt: skip
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    config = read_manifest(tmp_path / "run")["config"]
    assert config["policy"] == f"hf:{random_model} temperature=1 max_new_tokens=4"
    assert config["settings"]["max_new_tokens"] == 4
    records = stored_results(tmp_path / "run")
    assert [(record["index"], record["sample"]) for record in records] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [record["verdict_strict"] for record in records] == ["no_cif"] * 4
    assert {record["completion_tokens"] for record in records} == {1}  # the prompt fills the context


@pytest.mark.slow
def test_continuous_batching_gives_the_same_answers(random_model: Path, questions: list[Question]) -> None:
    plain = load(random_model)
    continuous = replace(plain, continuous_batching=True)
    asked = [replace(question, sample=sample) for question in questions for sample in range(2)]
    assert texts(continuous, asked) == texts(plain, asked)
    sampled = replace(continuous, decoding=replace(plain.decoding, temperature=1.0, top_p=0.9))
    assert len(set(texts(sampled, asked))) > 1


@pytest.mark.slow
def test_continuous_batching_ends_when_nobody_wants_its_answers(random_model: Path, questions: list[Question]) -> None:
    model = replace(load(random_model, max_new_tokens=400), continuous_batching=True)
    found = model.replies([replace(question, sample=sample) for question in questions for sample in range(500)])
    next(found)
    begun = time.monotonic()
    found.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 15
    assert all(thread is threading.main_thread() or thread.daemon for thread in threading.enumerate())


def test_continuous_batching_is_refused_what_it_cannot_do(random_model: Path) -> None:
    with pytest.raises(ValueError, match="no stop strings"):
        replace(load(random_model, stop=("END",)), continuous_batching=True)
