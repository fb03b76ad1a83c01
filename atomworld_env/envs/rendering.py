"""The two render modes: what an episode looks like as text and as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from atomworld_env.structures.cif import read_p1_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards import Arrangement, Verdict, extract_cif
from rewards.cif_reading import read_for_strict

MOST_SITES_SHOWN = 2000
"""An answer with more sites is named, not drawn."""


def render_ansi(task: Task, answer: str | None, verdict: Verdict | None, reward: float) -> str:
    """The edit, the answer and what is wrong with it, as a diff of sites in ANSI colours."""
    from atomworld_env.envs.text_rendering import render_text

    return render_text(
        task.crystal,
        task.target_crystal,
        answered_crystal(answer, verdict),
        instruction=task.prompt,
        verdict=verdict,
        reward=None if verdict is None else reward,
    )


def render_rgb_array(
    task: Task, answer: str | None, verdict: Verdict | None, reward: float
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Before, target and answer side by side, uint8 of shape (450, 1200, 3)."""
    from atomworld_env.envs.picture import render_picture

    crystal = answered_crystal(answer, verdict)
    if verdict is None:
        remark = "not given yet"
    elif crystal is None:
        remark = verdict.message
    else:
        remark = f"{str(verdict.verdict_strict).replace('_', ' ')}, reward {reward:.2f}"
    captions = [f"{len(task.crystal)} sites", f"{len(task.target_crystal)} sites", remark]
    return render_picture(task.crystal, task.target_crystal, crystal, title=task.prompt, captions=captions)


def answered_crystal(answer: str | None, verdict: Verdict | None) -> Crystal | None:
    """The crystal of an answer that could be read, sites in file order where it is a plain P 1 file; else None."""
    if answer is None or verdict is None or not verdict.parsable:
        return None
    cif = extract_cif(answer).cif
    if cif is None:
        return None
    arrangement = read_for_strict(cif)
    if not isinstance(arrangement, Arrangement) or len(arrangement.species) > MOST_SITES_SHOWN:
        return None
    # Verification does not care about the order of sites; a person who reads the diff does.
    try:
        listed = read_p1_cif(cif)
    except ValueError:
        listed = None
    if listed is not None and sorted(listed.species) == sorted(arrangement.species):
        return listed
    a, b, c, alpha, beta, gamma = (float(value) for value in arrangement.cell)
    return Crystal((a, b, c, alpha, beta, gamma), tuple(arrangement.species), np.mod(arrangement.frac, 1.0))
