"""Records of the benchmark's own files, in the layouts in which they were published.

* a list of JSON objects (one file, or a folder with a file for each edit), or JSON Lines;
* a CSV for each edit (``input_cif``, ``action_prompt``, ``output_cif``: names of CIFs), with the input CIFs in
  ``input_cifs.hdf5`` and the outputs in an HDF5 file named like the CSV: the first layout, read with h5py;
* a data set of the Hugging Face hub on disk: Parquet files, or what ``save_to_disk`` wrote.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomworld_env.errors import UsageError

KEYS = {
    "prompt": ("action_prompt", "prompt", "instruction"),
    "structure": ("input", "input_cif", "structure"),
    "target": ("output", "output_cif", "target_cif", "target"),
    "record_id": ("problem_id", "id", "task_id"),
    "structure_id": ("mp_id", "structure_id", "material_id"),
    "action": ("action_type", "action", "action_name"),
}
"""Names under which a record holds each part; the first that it has is taken."""

INPUT_CIFS = "input_cifs"
"""Stem of the HDF5 file of inputs in the first layout."""


@dataclass(frozen=True)
class PublishedRecord:
    """One record as it is stored; a part that is missing or no text is None.

    Attributes:
        place: file and number of the record, for messages.
        source: name of the file without its ending; often the name of the edit.
        params: of an edit of ours that was exported in this layout.
    """

    place: str
    source: str
    prompt: str | None
    structure: str | None
    target: str | None
    record_id: str | None
    structure_id: str | None
    action: str | None
    params: Mapping[str, Any] | None = None


def read_published(path: Path, split: str | None = None) -> Iterator[PublishedRecord]:
    """The records of a file or folder, in order.

    Args:
        split: of a data set that has several; ``bench`` is taken where it is there.

    Raises:
        UsageError: if nothing there has one of the layouts, or a file cannot be read.
    """
    if not path.exists():
        raise UsageError(f"there is no {path}; give a file or folder of the published benchmark")
    try:
        files = _files(path, split)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no data set as `save_to_disk` writes it ({error!r}); write it anew") from None
    if not files:
        raise UsageError(f"{path} holds no .json, .jsonl, .csv with .hdf5, .parquet or .arrow file of records")
    for file in files:
        try:
            yield from _READERS[file.suffix](file)
        except (OSError, KeyError, TypeError, ValueError, RecursionError, csv.Error) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UsageError(f"{file} cannot be read: {reason}") from None


def _files(path: Path, split: str | None) -> list[Path]:
    if path.is_file():
        if path.suffix not in _READERS:
            raise UsageError(f"{path} has none of the endings {', '.join(_READERS)}")
        return [path]
    if (path / "dataset_dict.json").is_file():
        names = json.loads((path / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
        return _files(path / _chosen(names, split, path), None)
    if (path / "state.json").is_file():
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        return [path / each["filename"] for each in state["_data_files"]]
    if parquet := sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")]):
        by_split: dict[str, list[Path]] = {}
        for file in parquet:
            by_split.setdefault(file.stem.split("-")[0], []).append(file)
        return by_split[_chosen(list(by_split), split, path)]
    if split is not None:
        raise UsageError(f"{path} has no splits; leave --split out")
    return next((found for ending in (".json", ".jsonl", ".csv") if (found := sorted(path.glob(f"*{ending}")))), [])


def _chosen(names: list[str], split: str | None, path: Path) -> str:
    if split is None:
        split = names[0] if len(names) == 1 else "bench" if "bench" in names else None
    if split not in names:
        raise UsageError(f"{path} has the splits {', '.join(names)}; choose one with --split")
    return split


def _from_json(file: Path) -> Iterator[PublishedRecord]:
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, list):
        raise ValueError("it is not a list of records")
    for number, row in enumerate(content):
        yield _record(file, f"record {number}", row)


def _from_jsonl(file: Path) -> Iterator[PublishedRecord]:
    # Not splitlines(): a raw U+2028 may stand inside a JSON string.
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            yield _record(file, f"line {number}", json.loads(line))


def _from_csv(file: Path) -> Iterator[PublishedRecord]:
    inputs, outputs = _stored_cifs(file.with_name(INPUT_CIFS)), _stored_cifs(file.with_suffix(""))
    with file.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines)):
            name, result = row.get("input_cif") or "", row.get("output_cif") or ""
            stem = name.removesuffix(".cif")
            whole = {
                "prompt": row.get("action_prompt"),
                "structure": inputs.get(name),
                "target": outputs.get(result),
                "id": f"{file.stem}/{stem}",
                "structure_id": stem,
            }
            yield _record(file, f"row {number}", whole)


def _stored_cifs(stem: Path) -> dict[str, str]:
    """CIF texts of an HDF5 file, by name: one scalar text for each."""
    path = next((path for end in (".hdf5", ".h5") if (path := stem.with_name(stem.name + end)).is_file()), None)
    if path is None:
        raise UsageError(f"{stem}.hdf5 is not there; the first layout keeps its CIFs in it")
    try:
        import h5py
    except ImportError:
        raise UsageError("HDF5 files need h5py: pip install 'atomworld-env[published]'") from None
    with h5py.File(path, "r") as file:
        texts = {name: file[name][()] for name in file}
    return {name: text.decode("utf-8") if isinstance(text, bytes) else str(text) for name, text in texts.items()}


def _from_parquet(file: Path) -> Iterator[PublishedRecord]:
    import pyarrow.parquet

    for number, row in enumerate(pyarrow.parquet.read_table(file).to_pylist()):
        yield _record(file, f"row {number}", row)


def _from_arrow(file: Path) -> Iterator[PublishedRecord]:
    """What ``datasets`` writes with ``save_to_disk``: an Arrow stream."""
    import pyarrow

    with pyarrow.memory_map(str(file)) as source, pyarrow.ipc.open_stream(source) as stream:
        rows = stream.read_all().to_pylist()
    for number, row in enumerate(rows):
        yield _record(file, f"row {number}", row)


_READERS = {
    ".json": _from_json,
    ".jsonl": _from_jsonl,
    ".csv": _from_csv,
    ".parquet": _from_parquet,
    ".arrow": _from_arrow,
}


def _text(value: Any) -> str:
    # JSON may hold half of a surrogate pair, which no file of ours can.
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _record(file: Path, where: str, row: Any) -> PublishedRecord:
    values = row if isinstance(row, Mapping) else {}
    parts = {part: next((values[key] for key in keys if key in values), None) for part, keys in KEYS.items()}
    texts = {part: None if value is None or value == "" else _text(value) for part, value in parts.items()}
    params = values.get("params")
    return PublishedRecord(
        place=f"{file.name}, {where}", source=file.stem, params=params if isinstance(params, Mapping) else None, **texts
    )
