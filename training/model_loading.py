"""How a model is loaded for training, and the room its context leaves for prompts."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, AutoTokenizer
from trl import ModelConfig

from atomworld_env.errors import UsageError
from atomworld_env.policies.local_model import SMALL, shipped_model


def model_path(model: ModelConfig) -> str:
    """Folder or hub name of the model; ``small`` is the one that ships with the package.

    Raises:
        UsageError: if none is given.
    """
    name = model.model_name_or_path
    if not name:
        raise UsageError("no model: give --model_name_or_path a folder, a hub name, or 'small'")
    return str(shipped_model()) if name == SMALL else str(name)


def load_tokenizer(path: str, model: ModelConfig) -> Any:
    """The tokenizer of a model, set to pad on the left.

    Raises:
        UsageError: if it cannot be loaded, or has no chat template.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, revision=model.model_revision, padding_side="left")
    except (OSError, ValueError, KeyError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(f"cannot load the tokenizer of {path}: {reason}; give a folder or a hub name") from None
    if tokenizer.chat_template is None:
        raise UsageError(f"the tokenizer of {path} has no chat template; use an instruction-tuned model")
    return tokenizer


def context_length(path: str) -> int:
    """Positions that a model has, for prompt and answer together.

    Raises:
        UsageError: if its configuration cannot be loaded.
    """
    try:
        return int(AutoConfig.from_pretrained(path).get_text_config().max_position_embeddings)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(f"cannot read the configuration of {path}: {reason}") from None


def model_arguments(model: ModelConfig, config: Any) -> dict[str, Any]:
    """Keyword arguments for ``from_pretrained``; what the training configuration says itself wins."""
    return {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        **(config.model_init_kwargs or {}),
    }


def prompt_room(path: str, config: Any, max_prompt_length: int | None) -> int:
    """Most tokens that a prompt may have: what the answer leaves of the context, or fewer if asked for.

    Args:
        config: a GRPOConfig.

    Raises:
        UsageError: if nothing is left.
    """
    context = context_length(path)
    served = getattr(config, "vllm_max_model_length", None) if getattr(config, "use_vllm", False) else None
    if served is not None:
        if served > context:
            raise UsageError(f"vllm_max_model_length {served} is more than the model's context of {context}")
        context = served
    room = context - int(config.max_completion_length)
    if max_prompt_length is not None and max_prompt_length <= room:
        return max_prompt_length
    if room < 1 or max_prompt_length is not None:
        raise UsageError(
            f"a context of {context} tokens has no room for prompts of {max_prompt_length or 1} and answers of "
            f"{config.max_completion_length}; lower max_completion_length or max_prompt_length"
        )
    return room
