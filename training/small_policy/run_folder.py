"""Files of a pretraining run: settings, curve, resumable state, model; replaced whole, or appended by the line."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atomworld_env.errors import UsageError

SETTINGS = "settings.json"
STATE = "state.pt"
CURVE = "curve.jsonl"
MODEL = "model"


def start(folder: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
    """Write the settings of a new run, or check that a resumed one has the same.

    Raises:
        UsageError: naming what differs, or that the folder is taken, or that there is nothing to resume.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SETTINGS
    # As JSON gives it back: tuples become lists there.
    wanted = json.loads(json.dumps(settings))
    if not path.exists():
        if resume:
            raise UsageError(f"{folder} holds no run to resume (no {SETTINGS}); start one without --resume")
        replace_text(path, json.dumps(wanted, indent=2) + "\n")
        return
    if not resume:
        raise UsageError(f"{folder} already holds a run; continue it with --resume or choose another --out")
    stored = json.loads(path.read_text(encoding="utf-8"))
    keys = sorted(set(stored) | set(wanted))
    differing = [
        f"{key} was {stored.get(key)!r}, is {wanted.get(key)!r}" for key in keys if stored.get(key) != wanted.get(key)
    ]
    if differing:
        raise UsageError(f"{folder} was started differently: {'; '.join(differing)}; use the same settings")


def save_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Write weights, optimisers and position; a stop in the middle leaves the state before."""
    partial = folder / f"{STATE}.partial"
    with partial.open("wb") as file:
        torch.save(dict(state), file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / STATE)


def load_state(folder: Path) -> dict[str, Any] | None:
    """The last state written, or None if the run was stopped before the first."""
    path = folder / STATE
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def append_curve(folder: Path, line: Mapping[str, Any]) -> None:
    """Add one line to the curve."""
    with (folder / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def cut_curve(folder: Path, last_step: int) -> None:
    """Drop lines after a step, and a line cut off by a kill: the steps they tell of are about to be made again."""
    path = folder / CURVE
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            if json.loads(line)["step"] <= last_step:
                kept.append(line)
        except (ValueError, KeyError):
            continue
    replace_text(path, "".join(f"{line}\n" for line in kept))


def save_model(folder: Path, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write the model as transformers reads it, into ``model/``; an older one is there until the new one is whole."""
    fresh, old = folder / f"{MODEL}.partial", folder / f"{MODEL}.old"
    for left_over in (fresh, old):
        shutil.rmtree(left_over, ignore_errors=True)
    network.save_pretrained(fresh)
    tokenizer.save_pretrained(fresh)
    if (folder / MODEL).exists():
        (folder / MODEL).rename(old)
    fresh.rename(folder / MODEL)
    shutil.rmtree(old, ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text file in one go."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
