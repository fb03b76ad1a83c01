"""vLLM as a policy, against a stand-in for the package that keeps to its documented interface."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from atomworld_env.policies import vllm_model
from atomworld_env.policies.by_name import PolicyOptions, policy_by_name
from atomworld_env.policies.policy import Failure, FailureKind, ModelPolicy, Question, Reply, settings_of
from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.vllm_model import VllmModel

END = ord("$")


class Letters:
    """A tokenizer of characters."""

    chat_template = "a template"

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool = False) -> str:
        return "".join(chr(token) for token in tokens if not (skip_special_tokens and token == END))

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(letter) for letter in text]

    def apply_chat_template(self, messages: list[dict[str, str]], **options: Any) -> dict[str, list[int]]:
        assert options["add_generation_prompt"]
        return {"input_ids": self.encode(messages[0]["content"] + "|")}


@dataclass
class FakeEngine:
    """Answers with its prompt from the end to the start, and notes what it was asked."""

    model: str
    options: dict[str, Any]
    calls: list[tuple[list[str], list[Any]]] = field(default_factory=list)
    broken: Exception | None = None

    def __post_init__(self) -> None:
        self.llm_engine = SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=self.options.get("max_model_len", 1000))
        )

    def get_tokenizer(self) -> Letters:
        return Letters()

    def generate(self, prompts: list[dict[str, list[int]]], *, sampling_params: list[Any], use_tqdm: bool) -> list[Any]:
        if self.broken is not None:
            raise self.broken
        texts = [Letters().decode(prompt["prompt_token_ids"]) for prompt in prompts]
        self.calls.append((texts, sampling_params))
        outputs = []
        for text, parameters in zip(texts, sampling_params, strict=True):
            said = Letters().encode(text[::-1] + "$")[: parameters.max_tokens]
            reason = "stop" if said[-1] == END else "length"
            outputs.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=tuple(said), finish_reason=reason)]))
        return outputs


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[FakeEngine]:
    """Engines that were made, newest last."""
    made: list[FakeEngine] = []

    def engine(model: str, **options: Any) -> FakeEngine:
        if model == "nothing":
            raise ValueError("no such model\nand more")
        made.append(FakeEngine(model, options))
        return made[-1]

    package = ModuleType("vllm")
    package.LLM = engine  # type: ignore[attr-defined]
    package.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", package)
    monkeypatch.setattr(vllm_model, "find_spec", lambda name: True)
    return made


def load(decoding: Decoding, **options: Any) -> VllmModel:
    policy = policy_by_name("vllm:some/model", PolicyOptions(decoding, vllm_options=options))
    assert isinstance(policy, VllmModel)
    assert isinstance(policy, ModelPolicy)
    return policy


def test_answers_tokens_and_what_the_engine_is_asked(engines: list[FakeEngine], many_questions: list[Question]) -> None:
    decoding = Decoding(max_new_tokens=500, temperature=0.7, seed=3, top_p=0.9, top_k=5)
    found = dict(load(decoding, max_model_len=10**6, tensor_parallel_size=2).replies(many_questions))
    assert sorted(found) == list(range(len(many_questions)))
    for number, question in enumerate(many_questions):
        whole = question.messages[0]["content"][::-1]
        reply = found[number]
        assert isinstance(reply, Reply)
        assert reply.text == f"|{whole}"[:500]
        assert reply.prompt_tokens == len(whole) + 1
        assert reply.truncated == (len(whole) + 2 > 500)
        assert reply.completion_tokens == min(500, len(whole) + 2)
    assert engines[-1].options == {"seed": 3, "max_model_len": 10**6, "tensor_parallel_size": 2}
    ((_, parameters),) = engines[-1].calls
    assert {(each.temperature, each.top_p, each.top_k, each.stop) for each in parameters} == {(0.7, 0.9, 5, None)}
    assert len({each.seed for each in parameters}) == len(many_questions)


def test_a_chunk_after_the_other(engines: list[FakeEngine], many_questions: list[Question]) -> None:
    policy = load(Decoding(max_new_tokens=4), max_model_len=10**6)
    small = VllmModel(policy.name, policy.engine, policy.decoding, chunk=7)
    assert sorted(number for number, _ in small.replies(many_questions)) == list(range(len(many_questions)))
    assert [len(texts) for texts, _ in engines[-1].calls] == [7, 7, 7, 7, 2]


def test_a_prompt_without_room_for_an_answer_gets_an_empty_one(
    engines: list[FakeEngine], questions: list[Question]
) -> None:
    shortest = min(len(question.messages[0]["content"]) for question in questions)
    found = dict(load(Decoding(max_new_tokens=4), max_model_len=shortest + 2).replies(questions))
    empty = [reply for reply in found.values() if isinstance(reply, Reply) and reply.completion_tokens == 0]
    assert len(empty) == 2
    assert all(reply.truncated and reply.text == "" for reply in empty)
    assert len(found) == 3


def test_stop_strings_are_cut_off(engines: list[FakeEngine], questions: list[Question]) -> None:
    (_, reply), *_ = load(Decoding(max_new_tokens=400, stop=("latsyrc",)), max_model_len=10**6).replies(questions)
    assert isinstance(reply, Reply)
    assert reply.text == "|"
    assert engines[-1].calls[0][1][0].stop == ["latsyrc"]
    assert engines[-1].calls[0][1][0].include_stop_str_in_output


def test_a_thought_is_closed_at_its_budget(engines: list[FakeEngine], questions: list[Question]) -> None:
    thinking = Question(questions[0].task, [{"role": "user", "content": "thought long a >kniht<"}])
    ((_, reply),) = load(Decoding(max_new_tokens=60, thinking_budget=12), max_model_len=10**6).replies([thinking])
    assert isinstance(reply, Reply)
    assert reply.text.startswith("|<think> a g\n</think>\n")
    (first, _), (second, _) = engines[-1].calls
    assert second == [f"{first[0]}|<think> a g\n</think>\n"]
    seeds = [parameters[0].seed for _, parameters in engines[-1].calls]
    assert seeds[0] != seeds[1]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("CUDA out of memory. Tried"), FailureKind.OUT_OF_MEMORY),
        (RuntimeError("engine core died"), FailureKind.CRASHED),
        (ValueError(), FailureKind.CRASHED),
    ],
)
def test_an_engine_that_breaks_is_a_failure_of_each_question(
    engines: list[FakeEngine], questions: list[Question], error: Exception, kind: FailureKind
) -> None:
    policy = load(Decoding(max_new_tokens=4))
    engines[-1].broken = error
    found = dict(policy.replies(questions))
    assert sorted(found) == [0, 1, 2]
    assert all(isinstance(failure, Failure) and failure.kind is kind for failure in found.values())


def test_the_settings_name_model_and_engine(engines: list[FakeEngine]) -> None:
    settings = settings_of(load(Decoding(temperature=0.5), max_model_len=64))
    assert (settings["model"], settings["engine"], settings["temperature"]) == (
        "some/model",
        {"max_model_len": 64},
        0.5,
    )


def test_mistakes_are_told_in_one_line(engines: list[FakeEngine], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^vLLM cannot load 'nothing': no such model; see --vllm-options$"):
        policy_by_name("vllm:nothing")
    monkeypatch.setattr(vllm_model, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^vllm:x needs vllm; install it with [^\n]*\[vllm\]"):
        policy_by_name("vllm:x")
