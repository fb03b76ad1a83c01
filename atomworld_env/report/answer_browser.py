"""The data of the browser of single answers: every task and answer once, crystals shared, in plain values."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from atomworld_env.envs.marks import marks_after, marks_before, marks_of_answer
from atomworld_env.envs.rendering import answered_crystal
from atomworld_env.envs.site_diff import diff_sites
from atomworld_env.evaluation.records import Record, place
from atomworld_env.families.registry import family_of
from atomworld_env.report.palette import UNANSWERED
from atomworld_env.report.site_rows import edit_rows, fault_rows, mark_rows
from atomworld_env.report.stored_run import StoredRun
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task
from rewards import Stage, Verdict, extract_cif

LONGEST_TEXT = 20_000
"""Characters of one answer that the page keeps."""

ALL_TEXTS = 24_000_000
"""Characters of all answers together that the page keeps; with more, each is cut shorter."""

SHORTEST_CUT = 400
"""Characters of an answer that are kept in any case."""

MOST_PACKED = 14_000_000
"""Bytes of the packed data, which with plotly.js make a page of less than 25 MB; texts are cut shorter above it."""

MOST_SITES_DRAWN = 800
"""An answer with more sites is named, not drawn or compared site by site."""

READABLE = (
    Stage.COMPOSITION_MISMATCH,
    Stage.STRUCTURE_MISMATCH,
    Stage.CORRECT,
    Stage.UNCHANGED,
    Stage.PROPERTY_FAILED,
    Stage.PROPERTY_MISMATCH,
)
"""Verdicts of answers that were read as a crystal."""


class _Crystals:
    """Every crystal once: many answers are equal to the target or to the input."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def number(self, crystal: Crystal) -> int:
        """The place of the crystal in the list: lattice vectors in Å, element of each site, coordinates in mÅ."""
        sites = np.round(1000 * crystal.cartesian).astype(int).ravel().tolist()
        matrix = np.round(crystal.matrix, 3).ravel().tolist()
        key = (tuple(matrix), crystal.species, tuple(sites))
        if key not in self._known:
            self._known[key] = len(self.rows)
            self.rows.append([matrix, " ".join(crystal.species), sites])
        return self._known[key]


def browser_data(runs: Sequence[StoredRun], progress: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Tasks, crystals and answers of all runs.

    An answer whose crystal equals one that was seen refers to it. Texts are cut to :data:`LONGEST_TEXT`, or shorter
    where all together would be longer than :data:`ALL_TEXTS`.

    Args:
        progress: called with the number of answers done.
    """
    limit = text_limit([len(record["answer"]) for run in runs for record in run.records])
    crystals = _Crystals()
    tasks: list[dict[str, Any]] = []
    known: dict[tuple[str, int], int] = {}
    answers: list[dict[str, Any]] = []
    for number, run in enumerate(runs):
        answered = {place(record): record for record in run.records}
        for index, task in enumerate(run.suite.tasks):
            key = (str(run.config["fingerprint"]), index)
            if key not in known:
                known[key] = len(tasks)
                tasks.append(_task(task, crystals))
            for sample in range(run.statistics.samples):
                record = answered.get((index, sample))
                entry: dict[str, Any] = {"run": number, "task": known[key], "sample": sample}
                entry |= {"verdict": UNANSWERED} if record is None else _answer(record, task, run, crystals, limit)
                answers.append(entry)
                if progress is not None and len(answers) % 100 == 0:
                    progress(len(answers))
    return {"tasks": tasks, "crystals": crystals.rows, "answers": answers, "limit": limit}


def packed(data: dict[str, Any]) -> bytes:
    """The data as gzipped JSON; where that is too large (random letters hardly shrink) the texts are cut again."""
    limit = data["limit"]
    while True:
        # ASCII, so that a lone surrogate in an answer is no error.
        text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
        pack = gzip.compress(text.encode("ascii"), 6, mtime=0)
        if len(pack) <= MOST_PACKED or limit <= SHORTEST_CUT:
            return pack
        limit = max(SHORTEST_CUT, limit // 2)
        data = {**data, "limit": limit, "answers": [_cut_again(answer, limit) for answer in data["answers"]]}


def _cut_again(answer: dict[str, Any], limit: int) -> dict[str, Any]:
    head, tail = cut_text(answer.get("text", "") + answer.get("tail", ""), limit)
    return answer | {"text": head, "tail": tail} if tail else answer


def text_limit(lengths: Sequence[int]) -> int:
    """Characters of one answer that are kept, so that all together fit."""
    limit = LONGEST_TEXT
    while limit > SHORTEST_CUT and sum(min(length, limit) for length in lengths) > ALL_TEXTS:
        limit = max(SHORTEST_CUT, limit // 2)
    return limit


def cut_text(text: str, limit: int) -> tuple[str, str]:
    """Beginning and end of a text that is longer than `limit`, three fifths of them from the end; else it and ""."""
    if len(text) <= limit:
        return text, ""
    # What a model says last is its answer.
    head = 2 * limit // 5
    return text[:head], text[-(limit - head) :]


def _task(task: Task, crystals: _Crystals) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": task.task_id,
        "action": task.action,
        "prompt": task.prompt,
        "structure": task.structure_id,
        "sites": task.n_sites,
        "marks": [[], []],
    }
    before, target = _crystals_of(task)
    if task.orthogonal is not None:
        entry["cell"] = "orthogonal cell" if task.orthogonal else "oblique cell"
    if target is None:
        entry["expected"] = task.target
    else:
        entry["target"] = crystals.number(target)
    if before is None:
        entry["shown"] = cut_text(task.structure, LONGEST_TEXT)[0]
    else:
        entry["before"] = crystals.number(before)
    if before is not None and target is not None:
        edit = diff_sites(before, target, by_index=True)
        entry["edit"] = edit_rows(edit, before, target)
        entry["marks"] = [mark_rows(marks_before(edit, before)), mark_rows(marks_after(edit, target))]
    if not has_one_answer(task):
        entry["one_of_many"] = True
    return entry


def _crystals_of(task: Task) -> tuple[Crystal | None, Crystal | None]:
    """The crystal shown and the right one; None where what stands there is no crystal."""
    place = family_of(task.action).crystal_in
    if place is None:
        return None, None
    return (task.crystal if place == "structure" else None), task.target_crystal


def has_one_answer(task: Task) -> bool:
    """Whether every right answer is the target; the stored target of a property change is one of many."""
    return family_of(task.action).stored is None


def _answer(record: Record, task: Task, run: StoredRun, crystals: _Crystals, limit: int) -> dict[str, Any]:
    head, tail = cut_text(record["answer"], limit)
    entry: dict[str, Any] = {
        "verdict": record["verdict_strict"],
        "right": bool(record["success"]),
        "paper": record["success_paper"],
        "verdict_paper": record["verdict_paper"],
        "reward": record["reward"],
        "distance": record["max_displacement"],
        "max_dist": record["max_dist"],
        "scale": record["length_scale"],
        "floor": record["floor_paper"],
        "message": record["message"],
        "truncated": bool(record["truncated"]),
        "tokens": record["completion_tokens"],
        "text": head,
        "length": len(record["answer"]),
    }
    if tail:
        entry["tail"] = tail
    crystal = None if family_of(task.action).crystal_in is None else _read(record, bool(run.config["strict_tags"]))
    if crystal is not None:
        entry |= _compared(crystal, task, crystals)
    return {key: value for key, value in entry.items() if value is not None and value is not False}


def _read(record: Record, strict_tags: bool) -> Crystal | None:
    """The crystal of an answer, wrapped into its cell; None if it could not be read or is too large."""
    verdict = record["verdict_strict"]
    if verdict not in READABLE:
        return None
    text = record["answer"]
    if strict_tags:
        text = f"<cif>{extract_cif(text, strict_tags=True).cif}</cif>"
    crystal = answered_crystal(text, Verdict(Stage(verdict), "", parsable=True))
    if crystal is None or len(crystal) > MOST_SITES_DRAWN:
        return None
    return Crystal(crystal.cell, crystal.species, np.mod(crystal.frac, 1.0))


def _compared(crystal: Crystal, task: Task, crystals: _Crystals) -> dict[str, Any]:
    number = crystals.number(crystal)
    found: dict[str, Any] = {"crystal": number}
    before, target = _crystals_of(task)
    if target is None or number == crystals.number(target):
        return found
    wrong = diff_sites(target, crystal)
    if has_one_answer(task):
        found["fault"] = fault_rows(wrong, target, crystal)
        if wrong.empty:
            return found
    found["marks"] = []  # the target's do not fit
    if before is not None:
        done = diff_sites(before, crystal, by_index=True)
        found["did"] = edit_rows(done, before, crystal)
        marks = marks_of_answer(done, wrong, crystal) if has_one_answer(task) else marks_after(done, crystal)
        found["marks"] = mark_rows(marks)
    return found
