"""The policy of a name: a baseline, a model on this machine or behind a server, or an agent program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from atomworld_env import programs
from atomworld_env.errors import UsageError
from atomworld_env.policies import command, local_model, openai_server, vllm_model
from atomworld_env.policies.baselines import BASELINES, load_policy
from atomworld_env.policies.policy import AnyPolicy
from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.server_options import ServerOptions

MODEL_POLICIES: Mapping[str, str] = MappingProxyType(
    {
        "hf:PATH": "a model on this machine, by transformers; a folder or a name on the hub",
        local_model.SMALL_POLICY: "the small policy that ships with the package",
        "vllm:PATH": "a model on this machine's GPUs, by vLLM in this process",
        "openai:MODEL": "a model behind an OpenAI-compatible server (--base-url), or OpenAI's own",
        'command:"PROGRAM ARGS"': "an agent program, run once for each task in a folder of its own",
    }
)
"""How a policy with a model or a program is named, and what it answers with."""


@dataclass(frozen=True)
class PolicyOptions:
    """Everything that a user may say about a policy beside its name.

    Attributes:
        decoding: how a model draws its answers; its seed is also that of a baseline that draws random numbers.
        batch_size: questions that ``hf:`` answers together.
        continuous_batching: of ``hf:``.
        vllm_options: arguments of ``vllm.LLM``.
        server: how ``openai:`` asks.
        command: how ``command:`` is run.
    """

    decoding: Decoding = field(default_factory=Decoding)
    batch_size: int = local_model.BATCH_SIZE
    continuous_batching: bool = False
    vllm_options: Mapping[str, Any] = field(default_factory=dict)
    server: ServerOptions = field(default_factory=ServerOptions)
    command: command.CommandOptions = field(default_factory=command.CommandOptions)


def policy_by_name(name: str, options: PolicyOptions | None = None) -> AnyPolicy:
    """The policy of a name, its model loaded.

    Args:
        name: of a baseline, or one of `MODEL_POLICIES`.

    Raises:
        UsageError: if there is none, or it cannot be asked.
    """
    options = PolicyOptions() if options is None else options
    decoding = options.decoding
    if name.startswith(local_model.PREFIX):
        return local_model.load_local_model(
            name, decoding, batch_size=options.batch_size, continuous_batching=options.continuous_batching
        )
    if name.startswith(vllm_model.PREFIX):
        return vllm_model.load_vllm_model(name, decoding, options.vllm_options)
    if name.startswith(openai_server.PREFIX):
        return openai_server.load_served_model(name, decoding, options.server)
    if name.startswith(programs.PREFIX):
        return command.load_command(name, decoding.seed, options.command)
    if name not in BASELINES:
        raise UsageError(f"unknown policy {name!r}; choose from {', '.join((*BASELINES, *MODEL_POLICIES))}")
    return load_policy(name, seed=decoding.seed)
