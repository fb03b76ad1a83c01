"""The crystals and known solutions of StructProp that ship with the package, as tasks."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.families.action_names import PROPERTY_CHANGES
from atomworld_env.families.structprop_elements import allowed_elements
from atomworld_env.properties.by_name import NOISE
from atomworld_env.structures.cif import read_p1_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS
from atomworld_env.structures.pool import version_of
from atomworld_env.tasks.difficulty import LEVELS
from atomworld_env.tasks.task import Task
from rewards import Baseline, Stage

STORED_FILE = Path(__file__).parent / "data" / "structprop.jsonl.gz"
"""Made by `python -m atomworld_env.families.build_structprop`."""

GENERATOR_VERSION = "structprop-1"
"""Moves when the same records give other tasks."""

IN_WORDS = {"bulk_modulus": "bulk modulus", "band_gap": "band gap"}

UNCHANGED_INPUT = Baseline(
    stage=Stage.UNCHANGED, max_displacement=None, sum_displacement=None, composition_difference=0
)
"""How the unchanged input scores, always: it is no answer."""


def parts_of(action: str) -> tuple[str, str]:
    """Direction and property of a kind of task: ``raise_bulk_modulus`` is (raise, bulk_modulus)."""
    direction, _, name = action.partition("_")
    return direction, name


def instruction(params: Mapping[str, Any]) -> str:
    """The question in words.

    Raises:
        KeyError: if a parameter is missing.
    """
    way = {"raise": "higher", "lower": "lower"}[params["direction"]]
    name, unit = IN_WORDS[params["property"]], params["unit"]
    decimals = 1 if unit == "GPa" else 2
    return (
        f"Change this crystal so that its {name} becomes {way} by more than {params['threshold']:.{decimals}f} {unit}. "
        f"The {name} of the crystal shown is {params['value']:.{decimals}f} {unit}. "
        f"No other elements than these may occur: {', '.join(params['elements'])}."
    )


@cache
def stored_tasks(split: str | None) -> Mapping[str, Sequence[Task]]:
    """Every stored task of a split (None: of all), by kind, always in the same order.

    Raises:
        UsageError: if the file of the records is missing or broken.
    """
    found: dict[str, list[Task]] = {action: [] for action in PROPERTY_CHANGES}
    for task in tasks_of_records(_stored()):
        if split is None or task.split == split:
            found[task.action].append(task)
    return {action: tuple(tasks) for action, tasks in found.items()}


def tasks_of_records(records: Sequence[Mapping[str, Any]]) -> list[Task]:
    """A task for each solution of records as `build_structprop` makes them.

    The version of a task is of all records of its split; those of other splits do not move it.

    Raises:
        KeyError, TypeError: if a record is not complete.
    """
    lines: dict[str, list[bytes]] = {}
    for record in records:
        lines.setdefault(record["split"], []).append(json.dumps(record, sort_keys=True).encode())
    versions = {split: f"{GENERATOR_VERSION}+{version_of(each)}" for split, each in lines.items()}
    return [
        _task(record, direction, versions[record["split"]]) for record in records for direction in record["solutions"]
    ]


@cache
def _stored() -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in gzip.decompress(STORED_FILE.read_bytes()).splitlines()]
    except (OSError, EOFError, ValueError) as error:
        mend = "make it with `python -m atomworld_env.families.build_structprop`"
        raise UsageError(f"{STORED_FILE} holds no records ({error}); {mend}") from None


def _task(record: Mapping[str, Any], direction: str, version: str) -> Task:
    solution = record["solutions"][direction]
    action = f"{direction}_{record['property']}"
    params = {
        "direction": direction,
        "elements": list(allowed_elements(read_p1_cif(record["structure"]).species, record["property"])),
        "energy": record["energy"],
        "oracle": record["oracle"],
        "property": record["property"],
        "solution": solution["value"],
        # As many digits as the prompt shows.
        "threshold": round(NOISE[record["property"]].at(record["value"]), 1 if record["unit"] == "GPa" else 2),
        "unit": record["unit"],
        "value": record["value"],
    }
    structure, target = record["structure"], solution["target"]
    digest = hashlib.sha256(json.dumps([action, structure, params, version], sort_keys=True).encode()).hexdigest()
    # How few of the substitutions by similar elements that were tried go the right way.
    score = round(1.0 - solution["ways"] / (record["tried"] + 1), TARGET_DECIMALS)
    return Task(
        task_id=f"{action}-{digest[:12]}",
        action=action,
        params=params,
        prompt=instruction(params),
        structure=structure,
        target=target,
        structure_id=record["structure_id"],
        n_sites=record["n_sites"],
        difficulty={"score": score, "level": float(min(LEVELS, int(score * LEVELS) + 1))},
        seed=0,
        suite="",
        split=record["split"],
        version=version,
        baseline=UNCHANGED_INPUT,
    )
