"""Batches of token sequences continued by a transformers model; each row as if it were alone.

torch and transformers are imported when a batch is made, never with this module.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from atomworld_env.policies.sampling import Decoding
from atomworld_env.policies.thinking import Continuation


class RowStreams:
    """Draws the next token of each row of a batch from a stream of random numbers of its own.

    To a transformers model it is a logits processor: after temperature, top-k and top-p it adds Gumbel noise, so that
    the likeliest token is a draw from the distribution (Gumbel 1954, "Gumbel-max trick"). What is drawn for a row does
    not depend on the other rows, nor on how questions fall into batches.
    """

    def __init__(self, seeds: Sequence[int], decoding: Decoding, device: Any) -> None:
        import torch
        from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

        self._streams = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._rows: Sequence[int] = range(len(seeds))
        self._warpers = LogitsProcessorList([TemperatureLogitsWarper(decoding.temperature)])
        if decoding.top_k > 0:
            self._warpers.append(TopKLogitsWarper(decoding.top_k))
        if decoding.top_p < 1:
            self._warpers.append(TopPLogitsWarper(decoding.top_p))

    def of_rows(self, rows: Sequence[int]) -> RowStreams:
        """Set which of the rows the next batch holds."""
        self._rows = rows
        return self

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        noise = torch.stack(
            [
                torch.empty(scores.shape[1], device=scores.device).exponential_(generator=self._streams[row])
                for row in self._rows
            ]
        )
        return self._warpers(input_ids, scores.float()) - noise.clamp_min(torch.finfo(noise.dtype).tiny).log()


def continue_batch(
    network: Any,
    tokenizer: Any,
    texts: Sequence[list[int]],
    limits: Sequence[int],
    stop: Sequence[str] = (),
    streams: RowStreams | None = None,
) -> list[Continuation]:
    """Continue each text until its end, a stop string, or its limit of tokens.

    Args:
        streams: draw tokens from these; the likeliest token each time without them.
    """
    import torch
    from transformers import GenerationConfig, LogitsProcessorList

    batch = tokenizer.pad(
        {"input_ids": list(texts)},
        padding_side="left",  # the answer continues the text, so the texts end together
        return_tensors="pt",
    ).to(network.device)
    ends = end_tokens(network, tokenizer)
    settings = GenerationConfig(
        max_new_tokens=max(limits),
        do_sample=False,
        # Named, so that none comes unseen from the model's folder: transformers' defaults, which do nothing here.
        temperature=1.0,
        top_p=1.0,
        top_k=50,
        repetition_penalty=1.0,
        eos_token_id=ends,
        pad_token_id=tokenizer.pad_token_id,
        stop_strings=list(stop) or None,
    )
    with torch.inference_mode():
        rows = network.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            generation_config=settings,
            logits_processor=LogitsProcessorList([] if streams is None else [streams]),
            **({"tokenizer": tokenizer} if stop else {}),
        )
    new = rows[:, batch["input_ids"].shape[1] :].tolist()
    return [_until_end(tokenizer, row, limit, ends, stop) for row, limit in zip(new, limits, strict=True)]


def _until_end(tokenizer: Any, row: list[int], limit: int, ends: Sequence[int], stop: Sequence[str]) -> Continuation:
    row = row[:limit]
    for place, token in enumerate(row):
        if token in ends:
            return Continuation(row[: place + 1], ended=True)
    text = tokenizer.decode(row, skip_special_tokens=True) if stop else ""
    if any(each in text for each in stop):
        while row and row[-1] == tokenizer.pad_token_id:
            row.pop()
        return Continuation(row, ended=True)
    return Continuation(row, ended=False)


def end_tokens(network: Any, tokenizer: Any) -> list[int]:
    """Every token that ends an answer, by the network's settings or the tokenizer's."""
    known = network.generation_config.eos_token_id
    listed = list(known) if isinstance(known, list | tuple) else [known]
    return sorted({token for token in (*listed, tokenizer.eos_token_id) if token is not None})


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether a batch was too large for the memory of the device or of the machine."""
    import torch

    words = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in words or "can't allocate memory" in words


def release_memory() -> None:
    """Give back what a batch that failed has left."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
