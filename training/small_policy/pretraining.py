"""The loop that pretrains the small policy: steps, checks on unseen crystals, checkpoints, resuming."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy, linear

from atomworld_env.policies.local_model import LocalModel
from atomworld_env.policies.sampling import Decoding
from atomworld_env.prompts.prompt import load_template
from training.small_policy import run_folder
from training.small_policy.architecture import Shape, new_network
from training.small_policy.batches import IGNORED, Batch, Batches
from training.small_policy.optimisers import Schedule, make_optimisers, step_all
from training.small_policy.practice import Curriculum, Practice
from training.small_policy.progress_check import check, held_out_tasks
from training.small_policy.token_weights import TokenWeights
from training.small_policy.tokenizer import build_tokenizer

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Settings:
    """What decides the weights; a resumed run must have the same.

    Attributes:
        seed: of the first weights and of the practice.
        shape: of the network.
        curriculum: what is practised.
        schedule: of the learning rate.
        token_weights: of the loss.
        batch_tokens: tokens of a step, prompts and answers together.
        weight_decay: of the matrices.
        muon: False takes AdamW for all weights.
        bfloat16: matrix products in bfloat16 (weights stay float32).
        clip: largest norm of the gradient.
    """

    seed: int = 0
    shape: Shape = field(default_factory=Shape)
    curriculum: Curriculum = field(default_factory=Curriculum)
    schedule: Schedule = field(default_factory=Schedule)
    token_weights: TokenWeights = field(default_factory=TokenWeights)
    batch_tokens: int = 2048
    weight_decay: float = 0.05
    muon: bool = True
    bfloat16: bool = True
    clip: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Budget:
    """When a run ends, and what it does on the way; may differ when it is resumed.

    Attributes:
        minutes: of training, over all resumed parts; None for no limit.
        steps: None for no limit.
        check_every: minutes between checks on unseen crystals.
        save_every: minutes between checkpoints.
        per_action: tasks of each edit in a check.
    """

    minutes: float | None = 60.0
    steps: int | None = None
    check_every: float = 5.0
    save_every: float = 3.0
    per_action: int = 20

    def spent(self, step: int, seconds: float) -> float:
        """Share of the budget used, 0 … 1 and more."""
        shares = [0.0]
        if self.minutes is not None:
            shares.append(seconds / 60.0 / self.minutes)
        if self.steps is not None:
            shares.append(step / self.steps)
        return max(shares)


@dataclass
class Position:
    """How far a run is; with the seed it decides every batch to come."""

    step: int = 0
    window: int = 0
    batch: int = 0
    seconds: float = 0.0
    tokens: int = 0


def pretrain(folder: Path, settings: Settings, budget: Budget, *, resume: bool = False, report: Report) -> Position:
    """Train until the budget is spent, and leave settings, curve, state and model in the folder.

    Args:
        report: called with every line of the curve.

    Raises:
        UsageError: if the folder holds another run.
    """
    run_folder.start(folder, settings.to_json(), resume=resume)
    tokenizer = build_tokenizer(max_length=settings.shape.max_length)
    network = new_network(tokenizer, settings.shape, seed=settings.seed)
    optimisers = make_optimisers(network, weight_decay=settings.weight_decay, muon=settings.muon)
    practice = Practice(settings.curriculum, seed=settings.seed)
    batches = Batches(practice, tokenizer, tokens=settings.batch_tokens, weights=settings.token_weights)
    position = Position()
    state = run_folder.load_state(folder) if resume else None
    if state is not None:
        network.load_state_dict(state["network"])
        for optimiser, stored in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(stored)
        position = Position(**state["position"])
    run_folder.cut_curve(folder, position.step)
    tasks = held_out_tasks(
        "validation", sorted(settings.curriculum.shares), sites=settings.curriculum.sites, per_action=budget.per_action
    )
    longest = HEAD_TOKENS + ROW_TOKENS * (settings.curriculum.sites[1] + 1)
    policy = LocalModel("small", network, tokenizer, Decoding(max_new_tokens=longest), batch_size=len(tasks))

    def save() -> None:
        run_folder.save_model(folder, network, tokenizer)
        kept = {"network": network.state_dict(), "optimisers": [each.state_dict() for each in optimisers]}
        run_folder.save_state(folder, {**kept, "position": asdict(position)})

    def write(line: Mapping[str, Any]) -> None:
        minutes = round(position.seconds / 60.0, 2)
        whole = {"step": position.step, "minutes": minutes, "tokens": position.tokens, **line}
        run_folder.append_curve(folder, whole)
        report(whole)

    def look() -> None:
        network.eval()
        found = check(policy, tasks, load_template("short"))
        network.train()
        mean = sum(found.rates.values()) / len(found.rates)
        figures = {"reward": found.reward, "parsable": found.parsable, "copied": found.copied}
        write({"success": found.rates, "mean": mean, **figures})

    network.train()
    begun = time.monotonic() - position.seconds
    checked = saved = logged = position.seconds
    losses: list[float] = []
    for place, batch in _from(batches, position.window, position.batch):
        position.window, position.batch = place
        if budget.spent(position.step, position.seconds) >= 1.0:
            break
        rate = settings.schedule.rate(position.step, budget.spent(position.step, position.seconds))
        losses.append(_learn(network, optimisers, batch, rate, settings))
        position.step += 1
        position.tokens += batch.real_tokens
        position.seconds = time.monotonic() - begun
        if position.seconds - logged >= LOG_EVERY:
            write({"loss": sum(losses) / len(losses), "rate": rate, "most_sites": practice.most_sites(position.window)})
            losses, logged = [], position.seconds
        if position.seconds - checked >= 60.0 * budget.check_every:
            look()
            checked = position.seconds = time.monotonic() - begun
        if position.seconds - saved >= 60.0 * budget.save_every:
            # The state names the batch that comes next.
            position.batch += 1
            save()
            position.batch -= 1
            saved = position.seconds
    position.seconds = time.monotonic() - begun
    look()
    save()
    return position


HEAD_TOKENS, ROW_TOKENS = 80, 22
"""Most tokens of an answer before its first row, and of a row: an unfinished answer is cut off there in checks."""

LOG_EVERY = 20.0
"""Seconds between lines of the curve that give the loss."""


def _from(batches: Batches, window: int, first: int) -> Iterator[tuple[tuple[int, int], Batch]]:
    """Batches from batch `first` of a window on, each with its place."""
    for number in count(window):
        for place, batch in enumerate(batches.window(number)):
            if place >= first:
                yield (number, place), batch
        first = 0


def _learn(
    network: Any, optimisers: list[torch.optim.Optimizer], batch: Batch, rate: float, settings: Settings
) -> float:
    """One step; returns the weighted mean loss over the answers' tokens, in nats."""
    labels = batch.labels[:, 1:]
    answered = labels != IGNORED
    with torch.autocast("cpu", torch.bfloat16, enabled=settings.bfloat16):
        hidden = network.model(input_ids=batch.ids, use_cache=False).last_hidden_state[:, :-1]
        # Only the answers' positions are turned into logits: the rest would be half of the work there.
        logits = linear(hidden[answered], network.lm_head.weight)
    weights = batch.weights[:, 1:][answered]
    loss = (cross_entropy(logits.float(), labels[answered], reduction="none") * weights).sum() / weights.sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
    step_all(optimisers, rate)
    return float(loss.detach())
