"""Continuous batching by transformers: a text enters the batch as soon as another has left it.

transformers is imported when texts are continued, never with this module. It is made for GPUs with flash attention; on
a CPU it works and is slower than plain batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

from atomworld_env.policies.policy import Failure, FailureKind
from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.thinking import Continuation
from atomworld_env.policies.token_batches import end_tokens

SHARE_OF_MEMORY = 0.05
"""Of the machine, for the cache of keys and values on a CPU; a GPU's memory is the engine's own to share out."""

PATIENCE = 10.0
"""Seconds to wait for the engine's thread when it is asked to end."""


def continue_continuously(
    network: Any,
    tokenizer: Any,
    texts: Sequence[list[int]],
    limits: Sequence[int],
    order: Sequence[int],
    decoding: Decoding,
) -> Iterator[tuple[int, Continuation | Failure, float]]:
    """Continue each text; its number, what came of it and the seconds since it was given in, as soon as it is known.

    Sampled answers depend on what else is in the batch, unlike those of plain batches.

    Args:
        limits: tokens that each may get.
        order: in which they are given in.
    """
    if not texts:
        return
    from transformers import ContinuousBatchingConfig, GenerationConfig
    from transformers.generation.continuous_batching.requests import RequestStatus

    ends = end_tokens(network, tokenizer)
    sampling = {
        "do_sample": True,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "top_k": decoding.top_k,
    }
    settings = GenerationConfig(
        max_new_tokens=max(limits),
        eos_token_id=ends,
        pad_token_id=tokenizer.pad_token_id,
        **(sampling if decoding.sampled else {"do_sample": False}),
    )
    waiting = set(order)
    begun = perf_counter()
    memory = SHARE_OF_MEMORY if network.device.type == "cpu" else None
    engine = network.init_continuous_batching(settings, ContinuousBatchingConfig(max_memory_percent=memory))
    engine.start()
    try:
        for number in order:
            engine.add_request(texts[number], request_id=str(number), max_new_tokens=limits[number], eos_token_id=ends)
        while waiting:
            ended = engine.get_result(timeout=1.0)
            if ended is None:
                if engine.is_running():
                    continue
                break
            if not ended.is_finished() or int(ended.request_id) not in waiting:
                continue
            number = int(ended.request_id)
            waiting.remove(number)
            seconds = perf_counter() - begun
            if ended.status == RequestStatus.FAILED:
                yield number, _failure(str(ended.error), seconds), seconds
                continue
            tokens = list(ended.generated_tokens)
            yield number, Continuation(tokens, bool(tokens) and tokens[-1] in ends), seconds
    finally:
        engine.stop(timeout=PATIENCE, hard_stop=bool(waiting))  # a soft stop would answer all that is left first
        engine.destroy()
    for number in sorted(waiting):
        yield number, _failure("the engine ended before this question was answered", perf_counter() - begun), 0.0


def _failure(words: str, seconds: float) -> Failure:
    kind = FailureKind.OUT_OF_MEMORY if "out of memory" in words.lower() else FailureKind.CRASHED
    return Failure(kind, words.splitlines()[0] if words else "no reason is given", seconds)
