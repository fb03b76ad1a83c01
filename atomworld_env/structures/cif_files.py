"""The texts of CIF files in a folder or an archive: found, ordered by name, bounded in size."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

from rich.console import Console
from rich.progress import track

from atomworld_env.errors import UsageError

T = TypeVar("T")

MAX_FILE_BYTES = 5_000_000
MAX_ARCHIVE_BYTES = 500_000_000
SHOW_PROGRESS_FROM = 100
ARCHIVE_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,  # a member that needs a password
    NotImplementedError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
)


def cif_texts(path: Path) -> Iterator[tuple[str, str | None]]:
    """Name and text of every CIF file in the order of names; the text is None where a file is too large."""
    if path.is_dir():
        names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        for name in _tracked([name for name in names if _is_cif(name)]):
            yield name, _folder_text(path / name)
    elif _is_cif(path.name) and path.is_file():
        yield path.name, _folder_text(path)
    elif path.is_file():
        yield from _tracked(_archive_texts(path))
    else:
        raise UsageError(f"{path} does not exist; give a folder, .zip or .tar.gz of CIF files, or one .cif file")


def _is_cif(name: str) -> bool:
    # Archives made on a Mac carry a hidden twin of every file.
    hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
    return name.lower().endswith(".cif") and not hidden


def _tracked(items: list[T]) -> Iterable[T]:
    console = Console(stderr=True)
    quiet = len(items) < SHOW_PROGRESS_FROM or not console.is_terminal
    return track(items, description="Reading CIF files", console=console, transient=True, disable=quiet)


def _folder_text(file: Path) -> str | None:
    try:
        with file.open("rb") as stream:
            return _decoded(stream)
    except OSError:
        return ""  # no right to read it, or gone: an empty text is reported as unreadable


def _archive_texts(path: Path) -> list[tuple[str, str | None]]:
    """The CIF files in a .zip or .tar archive of any compression, by name; of equal names the last counts."""
    texts: dict[str, str | None] = {}
    room = MAX_ARCHIVE_BYTES
    try:
        for name, text in _zip_texts(path) if zipfile.is_zipfile(path) else _tar_texts(path):
            texts[name.removeprefix("./")] = text
            room -= len(text or "")
            if room < 0:
                raise UsageError(
                    f"CIF files in {path} exceed {MAX_ARCHIVE_BYTES // 1_000_000} MB; unpack them to a folder"
                )
    except ARCHIVE_ERRORS as error:
        # tarfile lists what each kind of compression said, one a line.
        cause = str(error).partition("\n")[0]
        raise UsageError(
            f"{path} is no readable .zip or .tar archive ({cause}); give a folder of CIF files instead"
        ) from None
    return sorted(texts.items())


def _zip_texts(path: Path) -> Iterator[tuple[str, str | None]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if _is_cif(info.filename) and not info.is_dir():
                with archive.open(info) as stream:
                    yield info.filename, _decoded(stream)


def _tar_texts(path: Path) -> Iterator[tuple[str, str | None]]:
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() and _is_cif(member.name) else None
            if stream is not None:
                yield member.name, _decoded(stream)


def _decoded(stream: IO[bytes]) -> str | None:
    data = stream.read(MAX_FILE_BYTES + 1)
    return None if len(data) > MAX_FILE_BYTES else data.decode("utf-8", errors="replace")
