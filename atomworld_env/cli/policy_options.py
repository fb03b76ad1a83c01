"""The options of `atomworld evaluate` that say how a policy is asked, grouped by the kind of policy they concern."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from atomworld_env.errors import UsageError

SAMPLING = "How a model draws its answers (hf, vllm, openai)"
LOCAL = "Models on this machine (hf, vllm)"
SERVER = "Models behind a server (openai)"
PROGRAM = "Agent programs (command)"

SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the policy.")]
TemperatureOption = Annotated[
    float, typer.Option(min=0.0, help="0 takes the likeliest token each time.", rich_help_panel=SAMPLING)
]
TopPOption = Annotated[
    float, typer.Option("--top-p", help="Sample from the likeliest tokens that hold this probability together.",
                        rich_help_panel=SAMPLING)
]  # fmt: skip
TopKOption = Annotated[
    int, typer.Option("--top-k", min=0, help="Sample from so many of the likeliest tokens; 0 for all.",
                      rich_help_panel=SAMPLING)
]  # fmt: skip
MaxNewTokensOption = Annotated[
    int, typer.Option(min=1, help="Longest answer, thought included.", rich_help_panel=SAMPLING)
]
StopOption = Annotated[
    list[str] | None, typer.Option("--stop", help="A text that ends an answer; may be repeated.",
                                   rich_help_panel=SAMPLING)
]  # fmt: skip
ThinkingOption = Annotated[
    bool | None, typer.Option("--thinking/--no-thinking", help="Ask the chat template for thought, or for none.",
                              rich_help_panel=SAMPLING)
]  # fmt: skip
ThinkingBudgetOption = Annotated[
    int | None, typer.Option(min=1, help="Tokens after which a thought that is still open is closed.",
                             rich_help_panel=SAMPLING)
]  # fmt: skip
BatchSizeOption = Annotated[
    int, typer.Option(min=1, help="hf: questions answered together; halved when the memory is too small.",
                      rich_help_panel=LOCAL)
]  # fmt: skip
ContinuousBatchingOption = Annotated[
    bool, typer.Option("--continuous-batching", help="hf: a question enters as soon as another leaves; for GPUs.",
                       rich_help_panel=LOCAL)
]  # fmt: skip
VllmOptionsOption = Annotated[
    str | None, typer.Option("--vllm-options", help='vllm: arguments of vllm.LLM as JSON, {"max_model_len": 16384}.',
                             rich_help_panel=LOCAL)
]  # fmt: skip
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Address of the API, http://localhost:8000/v1; OpenAI's own when not given.",
                             rich_help_panel=SERVER)
]  # fmt: skip
ApiKeyEnvOption = Annotated[
    str, typer.Option(help="Environment variable with the key; a key is read from nowhere else.",
                      rich_help_panel=SERVER)
]  # fmt: skip
ConcurrencyOption = Annotated[
    int | None, typer.Option(min=1, help="Requests (8) or programs (1) at once.", rich_help_panel=SERVER)
]
RequestsPerMinuteOption = Annotated[
    float | None, typer.Option(help="Most requests in a minute; no limit when not given.", rich_help_panel=SERVER)
]
RequestTimeoutOption = Annotated[
    float, typer.Option(help="Seconds for one request, to the last byte.", rich_help_panel=SERVER)
]
RetriesOption = Annotated[
    int, typer.Option(min=0, help="Requests after the first, for one answer.", rich_help_panel=SERVER)
]
MaxTokensFieldOption = Annotated[
    str, typer.Option(help="max_completion_tokens, or max_tokens for older servers.", rich_help_panel=SERVER)
]
ReasoningEffortOption = Annotated[
    str | None, typer.Option(help="low, medium, high, …, as the model takes it.", rich_help_panel=SERVER)
]
ExtraBodyOption = Annotated[
    str | None, typer.Option(help='More fields of the request as JSON; null leaves one out: {"temperature": null}.',
                             rich_help_panel=SERVER)
]  # fmt: skip
PriceInOption = Annotated[
    float | None, typer.Option(min=0.0, help="USD for a million tokens of prompt.", rich_help_panel=SERVER)
]
PriceOutOption = Annotated[
    float | None, typer.Option(min=0.0, help="USD for a million tokens of answer.", rich_help_panel=SERVER)
]
CommandTimeoutOption = Annotated[
    float, typer.Option(help="Seconds for one task; then all its processes are killed.", rich_help_panel=PROGRAM)
]
CommandEnvOption = Annotated[
    list[str] | None, typer.Option(help="Name of a variable that the program sees, too; may be repeated.",
                                   rich_help_panel=PROGRAM)
]  # fmt: skip


def json_object(text: str | None, option: str) -> dict[str, Any]:
    """The JSON object that an option holds; empty where it is not given.

    Raises:
        UsageError: if it is none.
    """
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is not JSON: {error}; quote it, as in '{{\"top_k\": 20}}'") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} must be a JSON object, as in '{{\"top_k\": 20}}'")
    return value
