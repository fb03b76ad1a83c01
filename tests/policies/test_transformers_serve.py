"""A real OpenAI-compatible server on loopback, `transformers serve` with the small policy, evaluated end to end."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("openai")
pytest.importorskip("tenacity")
pytest.importorskip("aiolimiter")

from atomworld_env.evaluation.records import stored_results
from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.local_model import load_local_model, shipped_model
from atomworld_env.policies.openai_server import load_served_model
from atomworld_env.policies.policy import Question, Reply
from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.server_options import ServerOptions
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.sampler_config import SamplerConfig
from atomworld_env.tasks.suite import Suite, SuiteRecipe, make_suite

pytestmark = pytest.mark.slow

STARTING_TIME = 120.0
"""Seconds for the server to load its model."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small policy with a note of how its answers end.

    Without it the server reads them as those of other models of its type, whose marks the small policy does not use.
    """
    folder = tmp_path_factory.mktemp("model") / "small"
    shutil.copytree(shipped_model(), folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["response_template"] = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|assistant|>",
        "fields": {"content": {"close": ["<|end|>"], "content": "text"}},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def address(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server with the small policy."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(sys.executable).with_name("transformers")
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path_factory.mktemp("hub")),
        "OMP_NUM_THREADS": "1",
    }
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, str(script), "serve", str(model), "--host", "127.0.0.1", "--port", str(port),
             "--device", "cpu"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + STARTING_TIME
        while True:
            assert server.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as response:
                    if response.status == 200:
                        break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture(scope="module")
def suite() -> Suite:
    """Two small tasks of each of four edits, as the small policy knows them."""
    config = SamplerConfig(
        split="test", actions=("change", "remove", "swap", "add"), min_sites=2, max_sites=6, cif_style="compact"
    )
    return make_suite(SuiteRecipe("little", config, per_action=2, seed=4))


def test_the_server_answers_as_the_model_does(address: str, model: Path, suite: Suite, tmp_path: Path) -> None:
    decoding = Decoding(max_new_tokens=400)
    options = ServerOptions(address, concurrency=2, request_timeout=120.0)
    served = load_served_model(f"openai:{model}", decoding, options)
    template = load_template("short")
    records = evaluate(served, suite, tmp_path / "served", profile="strict", template=template, workers=1)
    local = load_local_model("hf:small", decoding)
    expected = evaluate(local, suite, tmp_path / "local", profile="strict", template=template, workers=1)
    assert len(records) == len(suite.tasks) == 8
    assert [record["answer"].strip() for record in records] == [record["answer"].strip() for record in expected]
    assert [record["prompt_tokens"] for record in records] == [record["prompt_tokens"] for record in expected]
    assert stored_results(tmp_path / "served") == records
    assert any(record["success"] for record in records)
    assert [record["truncated"] for record in records] == [record["truncated"] for record in expected]
    assert (
        not (tmp_path / "served" / "failures.jsonl").exists()
        or not (tmp_path / "served" / "failures.jsonl").read_text()
    )
    assert json.loads((tmp_path / "served" / "manifest.json").read_text())["config"]["settings"]["base_url"] == address


def test_the_server_cuts_an_answer_off_at_the_limit(address: str, model: Path, suite: Suite) -> None:
    served = load_served_model(f"openai:{model}", Decoding(max_new_tokens=5), ServerOptions(address))
    task = suite.tasks[0]
    question = Question(task, load_template("short").messages(task.structure, task.prompt))
    ((_, reply),) = served.replies([question])
    assert isinstance(reply, Reply)
    assert reply.truncated is True
    assert reply.completion_tokens == 5


def test_a_model_that_the_server_does_not_have_is_a_mistake(address: str, suite: Suite) -> None:
    served = load_served_model("openai:another/model", Decoding(max_new_tokens=5), ServerOptions(address))
    task = suite.tasks[0]
    question = Question(task, load_template("short").messages(task.structure, task.prompt))
    with pytest.raises(ValueError, match="another/model"):
        list(served.replies([replace(question, sample=sample) for sample in range(200)]))
