"""The task record: one structure, one instruction, one exact target; JSON Lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError
from atomworld_env.families.registry import family_of
from atomworld_env.structures.cif import read_p1_cif
from atomworld_env.structures.crystal import TARGET_DECIMALS, Crystal
from rewards import Baseline, prepare_target

PUBLISHED = "published"
"""`version` of a task that was read from the benchmark's own files: instruction and target are as stored there."""


@dataclass(frozen=True)
class Task:
    """One question with its ground truth.

    Attributes:
        task_id: name of the edit and a hash of structure, parameters and version.
        action: name of the edit.
        params: the parameters of the edit, machine readable; empty for a published task whose wording is not known.
        prompt: the instruction in plain English.
        structure: the input CIF exactly as it is shown.
        target: CIF of the ground truth, coordinates with 8 decimals.
        structure_id: the pool entry it was made from.
        n_sites: sites of the input.
        difficulty: see :mod:`atomworld_env.tasks.difficulty`.
        seed: with `structure_id` and `action`, makes the same task again.
        suite: the suite it belongs to, or "".
        split: train, validation or test.
        version: of the generator and the pool, or :data:`PUBLISHED`.
        baseline: how the unchanged input scores under the strict profile.
    """

    task_id: str
    action: str
    params: dict[str, Any]
    prompt: str
    structure: str
    target: str
    structure_id: str
    n_sites: int
    difficulty: dict[str, float]
    seed: int
    suite: str
    split: str
    version: str
    baseline: Baseline

    @cached_property
    def crystal(self) -> Crystal:
        """The input structure, sites in file order."""
        return self._read(self.structure)

    @cached_property
    def target_crystal(self) -> Crystal:
        """The ground truth, sites in file order."""
        return self._read(self.target)

    @property
    def orthogonal(self) -> bool | None:
        """Whether the cell has three right angles; None for a task without a crystal."""
        place = family_of(self.action).crystal_in
        if place is None:
            return None
        return (self.crystal if place == "structure" else self.target_crystal).is_orthogonal

    def _read(self, cif: str) -> Crystal:
        return crystal_of(cif) if self.version == PUBLISHED else read_p1_cif(cif)

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain JSON values, always with the same keys in the same order."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        # Sorted, because Parquet has one order of keys for the parameters of all edits.
        return values | {"params": dict(sorted(self.params.items())), "baseline": self.baseline.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Task:
        """The task of a record; unknown keys are ignored and null parameters dropped (Parquet fills them in).

        Raises:
            ValueError: in one line, naming the missing or wrong key.
        """
        if not isinstance(record, Mapping):
            raise ValueError("a task is a JSON object")
        missing = [field.name for field in fields(cls) if field.name not in record]
        if missing:
            raise ValueError(f"the task lacks {', '.join(missing)}")
        values = {field.name: record[field.name] for field in fields(cls)}
        for key in ("task_id", "action", "prompt", "structure", "target"):
            if not isinstance(values[key], str):
                raise ValueError(f"{key} must be text")
        for key in ("params", "difficulty", "baseline"):
            if not isinstance(values[key], Mapping):
                raise ValueError(f"{key} must be an object")
        for key in ("params", "difficulty", "baseline"):
            values[key] = {name: _as_written(value) for name, value in values[key].items()}
        values["params"] = {name: value for name, value in values["params"].items() if value is not None}
        try:
            values["baseline"] = Baseline.from_json(values["baseline"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"baseline is not complete: {error}") from None
        return cls(**values)


def crystal_of(cif: str) -> Crystal:
    """The crystal of a published CIF: sites in file order where it lists them all, symmetry carried out otherwise.

    Raises:
        TargetError: if it cannot be read as one ordered crystal.
    """
    arrangement = prepare_target(cif).arrangement
    try:
        listed = read_p1_cif(cif)
    except ValueError:
        listed = None
    if listed is not None and listed.composition == arrangement.element_counts:
        return listed
    return Crystal(arrangement.cell, arrangement.species, arrangement.frac)


def _as_written(value: Any) -> Any:
    """The value as it was before a reader of JSON or Parquet touched it.

    Some readers return arrays, and some (pyarrow's of JSON, which `datasets` uses) miss a decimal number by its last
    bit; no number of a record has more than 8 decimals.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_as_written(each) for each in value]
    return round(value, TARGET_DECIMALS) if isinstance(value, float) else value


def usable(task: Task) -> Task:
    """The task, once its kind is known and its family finds it complete.

    Raises:
        ValueError: in one line, naming what is wrong. (A ground truth that cannot be read is refused here, when it is
            loaded, and never in a step.)
    """
    family = family_of(task.action)
    if not isinstance(task.difficulty.get("level"), int | float):
        raise ValueError("difficulty lacks its level")
    family.load("check")(task)
    return task


def dump_line(task: Task) -> str:
    """The task as one line of JSON Lines, without the newline; equal tasks give equal bytes."""
    return json.dumps(task.to_json(), ensure_ascii=False, separators=(", ", ": "))


def write_jsonl(tasks: Iterable[Task], path: Path) -> None:
    """Write tasks as JSON Lines (UTF-8, one object a line)."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for task in tasks:
            file.write(dump_line(task) + "\n")


def read_jsonl(path: Path) -> Iterator[Task]:
    """Tasks of a JSON Lines file, in order.

    Raises:
        UsageError: naming file and line, for a broken line or a target that cannot be read.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                task = usable(Task.from_json(json.loads(line)))
            except (ValueError, RecursionError) as error:
                reason = str(error)
                if isinstance(error, json.JSONDecodeError | RecursionError):
                    reason = f"not JSON ({getattr(error, 'msg', 'nested too deep')})"
                raise UsageError(
                    f"{path}, line {number}: {reason}; mend or delete the line, or make the file anew with "
                    "`atomworld generate`"
                ) from None
            yield task


def write_parquet(tasks: Iterable[Task], path: Path) -> None:
    """Write tasks as one Parquet file with the same columns as the JSON Lines form."""
    import pyarrow
    import pyarrow.parquet

    rows = [task.to_json() for task in tasks]
    if rows and not any(row["params"] for row in rows):
        # Parquet knows no structure without a field; null parameters are dropped when the task is read.
        rows = [row | {"params": {"index": None}} for row in rows]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, compression="zstd")


def read_parquet(path: Path) -> Iterator[Task]:
    """Tasks of a Parquet file, in order.

    Raises:
        UsageError: naming file and row, for a row that is not a task.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise UsageError(f"{path} is not a Parquet file: {str(error).splitlines()[0]}") from None
    for number, row in enumerate(rows):
        try:
            task = usable(Task.from_json(row))
        except ValueError as error:
            raise UsageError(f"{path}, row {number}: {error}; make the file anew with `atomworld generate`") from None
        yield task
