"""Makes the texts of the suite `competence`: crystals of the pool, described by Robocrystallographer.

    python -m atomworld_env.competence.build_texts --cache runs/robocrys.jsonl

Takes the extra `ccs` and half an hour on two cores. Each description is kept in the cache as soon as it is there, so
that a second call goes on where the first was stopped; one that takes too long is killed and left out. Evaluation
reads the shipped file and needs no Robocrystallographer. (Its package wants pandas 2: install the extra into an
environment of its own, without constraints.txt.)
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from itertools import zip_longest
from math import gcd
from pathlib import Path
from typing import Any

from rich.progress import track

from atomworld_env.competence.robocrys_text import describe, warm_up
from atomworld_env.competence.texts import TEXTS, TEXTS_FILE, fault_of
from atomworld_env.evaluation.records import append_line, drop_cut_line, read_lines
from atomworld_env.structures.pool import PoolEntry, StructurePool, default_pool
from rewards.workers import NoWorkersError, Workers

MOST_SITES = 24
"""Of the smallest cell of a crystal in the pool; larger ones have texts too long for small models."""
MEMORY_LIMIT = 4 * 2**30  # bytes beyond what a warm worker has


def candidates(pool: StructurePool) -> list[PoolEntry]:
    """Every crystal of two elements or more once, in its smallest cell, the families in turn.

    Families and the crystals of each stand in the order of a hash of their names, so that neither a prototype nor an
    element is preferred.
    """
    families: dict[str, dict[tuple[tuple[str, int], ...], PoolEntry]] = {}
    for entry in pool.entries(None, 2, MOST_SITES):
        if len(entry.elements) < 2:
            continue
        counts = sorted(entry.crystal.composition.items())
        divisor = gcd(*(count for _, count in counts))
        formula = tuple((symbol, count // divisor) for symbol, count in counts)
        kept = families.setdefault(entry.family, {})
        if formula not in kept or entry.n_sites < kept[formula].n_sites:
            kept[formula] = entry
    queues = [
        sorted(members.values(), key=lambda entry: _hash(entry.structure_id))
        for _, members in sorted(families.items(), key=lambda item: _hash(item[0]))
    ]
    return [entry for turn in zip_longest(*queues) for entry in turn if entry is not None]


def _hash(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def descriptions(entries: Sequence[PoolEntry], cache: Path, workers: int, seconds: float) -> Iterator[dict[str, Any]]:
    """For each crystal, in order, its text or the reason why there is none.

    Args:
        cache: file of what is known; appended to.
        workers: processes.
        seconds: for one crystal, after which its process is killed.
    """
    drop_cut_line(cache)
    known = {line["id"]: line for line in read_lines(cache, ("id",))} if cache.exists() else {}
    if all(entry.structure_id in known for entry in entries):
        yield from (known[entry.structure_id] for entry in entries)
        return
    # Robocrystallographer lists "corner, edge, and face-sharing" in the order of a set of strings.
    os.environ["PYTHONHASHSEED"] = "0"
    team = Workers(workers, describe, warm_up=warm_up, timeout=seconds, memory_limit=MEMORY_LIMIT)
    try:
        with cache.open("a", encoding="utf-8", newline="\n") as file:
            under_way: deque[Any] = deque()
            waiting = deque(entries)
            order = deque(entries)
            tasks: dict[str, Any] = {}
            while order:
                while waiting and len(under_way) < 2 * workers:
                    entry = waiting.popleft()
                    if entry.structure_id not in known:
                        tasks[entry.structure_id] = team.submit(entry.crystal)
                        under_way.append(entry.structure_id)
                entry = order.popleft()
                if entry.structure_id not in known:
                    known[entry.structure_id] = _line(entry, team, tasks.pop(entry.structure_id))
                    under_way.remove(entry.structure_id)
                    append_line(file, known[entry.structure_id])
                yield known[entry.structure_id]
    finally:
        team.close()


def _line(entry: PoolEntry, team: Workers, task: Any) -> dict[str, Any]:
    line = {"id": entry.structure_id, "family": entry.family, "split": entry.split, "text": None, "reason": None}
    try:
        return line | {"text": team.result(task)}
    except NoWorkersError:
        raise
    except Exception as error:  # whatever the library raises; the crystal is left out
        return line | {"reason": f"{type(error).__name__} {error}".strip()[:200]}


def build(cache: Path, workers: int, seconds: float) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The first crystals whose text is usable, and how many were left out for each reason."""
    entries = candidates(default_pool())
    chosen: list[dict[str, Any]] = []
    left_out: Counter[str] = Counter()
    for line in track(descriptions(entries, cache, workers, seconds), "describing", total=len(entries)):
        reason = "cannot be described" if line["text"] is None else fault_of(line["text"])
        if reason:
            left_out[reason] += 1
            continue
        chosen.append({key: line[key] for key in ("id", "family", "split", "text")})
        if len(chosen) == TEXTS:
            break
    return chosen, left_out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="file of descriptions made so far")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--time-limit", type=float, default=180.0, help="seconds for one crystal")
    parser.add_argument("--out", type=Path, default=TEXTS_FILE, help="the file of texts")
    options = parser.parse_args(arguments)
    options.cache.parent.mkdir(parents=True, exist_ok=True)
    chosen, left_out = build(options.cache, options.workers, options.time_limit)
    header = {"texts": len(chosen), "robocrys": version("robocrys"), "pool": default_pool().version}
    lines = [json.dumps(line, ensure_ascii=False) for line in (header, *chosen)]
    options.out.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode(), 9, mtime=0))
    print(f"{len(chosen)} texts in {options.out}; left out: {dict(left_out)}")


if __name__ == "__main__":
    main()
