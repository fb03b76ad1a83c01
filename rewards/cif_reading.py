"""From CIF text to a crystal, within bounds and without ever raising.

One parse serves both profiles. The paper profile takes what pymatgen returns, as the published protocol does.
The strict profile takes an :class:`Arrangement`, and only if the raw values need none of pymatgen's silent
repairs: it drops a minus sign outside ASCII, takes the absolute value of a cell length, keeps the last of two
blocks of one name, makes up species for unknown symbols and merges rows that coincide.

The engine ``fast`` puts :mod:`rewards.plain_cif` in front: it takes ordinary texts, with the same outcome, and
hands all others over to pymatgen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from rewards import limits
from rewards.arrangement import Arrangement
from rewards.cif_rules import AtomRows, StrictRuleError, check_rows, strict_arrangement
from rewards.cif_symmetry import bound_symmetry, symmetry_left_out
from rewards.cif_tags import with_usual_tags
from rewards.plain_cif import PlainReading, read_plain
from rewards.silence import silent
from rewards.stages import Stage

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

Engine = Literal["fast", "reference"]
ENGINES: tuple[str, ...] = get_args(Engine)


@dataclass(frozen=True)
class Unreadable:
    """Why a text gave no crystal: ``cif_invalid``, or ``timeout`` above a bound."""

    stage: Stage
    message: str


@dataclass(frozen=True, eq=False)
class CifReading:
    """What one text holds, for each profile, as pymatgen read it.

    Attributes:
        strict: symmetry carried out; sites in pymatgen's order (by electronegativity), not the file's.
        paper: the pymatgen structure of the published protocol.
    """

    strict: Arrangement | Unreadable
    paper: Structure | Unreadable


def read_for_strict(text: str, *, engine: str = "fast") -> Arrangement | Unreadable:
    """The arrangement of a CIF, or why there is none."""
    return read_cif(text, engine=engine, strict_only=True).strict


def read_for_paper(text: str, *, engine: str = "fast") -> Structure | Unreadable:
    """The first of ``CifParser.from_str(text).parse_structures(primitive=False, check_occu=False)``."""
    return read_cif(text, engine=engine).paper


def read_cif(text: str, *, engine: str = "fast", strict_only: bool = False) -> CifReading | PlainReading:
    """Read a CIF once for both profiles: never raises, prints nothing, bounded in time and memory.

    Args:
        strict_only: the paper profile is not asked; then what breaks a rule of the strict profile in the text
            itself is not read to the end, and the reading for the paper profile means nothing.
        engine: ``fast``, or ``reference`` to read every text with pymatgen; the outcome is the same, but for
            the order of the sites under the strict profile.
    """
    if engine == "fast" and (plain := read_plain(text)) is not None:
        return plain
    if (spelt := with_usual_tags(text)) != text:
        # For the strict profile only: to pymatgen such tags do not exist.
        strict = read_cif(spelt, engine=engine, strict_only=True).strict
        return CifReading(strict, _read(text, strict_only).paper)
    return _read(text, strict_only)


def _read(text: str, strict_only: bool) -> CifReading:
    try:
        with silent():
            return _read_with_pymatgen(text, strict_only)
    except Exception as error:
        unread = _unreadable(error)
    return CifReading(unread, unread)


def _read_with_pymatgen(text: str, strict_only: bool) -> CifReading:
    # Blank space around the text means nothing to the reader but costs it the square of its length.
    text = text.strip()
    limits.check_text(text)
    from pymatgen.io.cif import CifParser

    parser: Any = CifParser.from_str(text)
    blocks = list(parser._cif.data.values())
    limits.check(len(blocks), limits.MAX_BLOCKS, "data blocks")
    rows: AtomRows | Unreadable
    try:
        if any(warning.startswith("Pauling file") for warning in parser.warnings):
            raise StrictRuleError("a type symbol is a sum of elements")
        rows = check_rows(text, [block.data for block in blocks])
    except StrictRuleError as error:
        rows = Unreadable(Stage.CIF_INVALID, str(error))
        if strict_only:
            return CifReading(rows, rows)
    try:
        bound_symmetry(parser, blocks)
        structure = parser.parse_structures(primitive=False, check_occu=False)[0]
    except Exception as error:
        unread = _unreadable(error)
        return CifReading(rows if isinstance(rows, Unreadable) else unread, unread)
    if isinstance(rows, Unreadable):
        return CifReading(rows, structure)
    strict: Arrangement | Unreadable
    try:
        if any(symmetry_left_out(parser, block) for block in blocks):
            raise StrictRuleError("the symmetry is not read beside magnetic moments without magnetic symmetry")
        strict = strict_arrangement(rows, structure)
    except StrictRuleError as error:
        strict = Unreadable(Stage.CIF_INVALID, str(error))
    except Exception as error:
        strict = _unreadable(error)
    return CifReading(strict, structure)


def _unreadable(error: Exception) -> Unreadable:
    if isinstance(error, limits.BoundExceededError):
        return Unreadable(Stage.TIMEOUT, str(error))
    if isinstance(error, MemoryError):
        return Unreadable(Stage.TIMEOUT, "reading the CIF needs more memory than the verifier may take")
    # On malformed text the reader raises nearly everything.
    return Unreadable(Stage.CIF_INVALID, f"the CIF cannot be read: {one_line(error)}")


def one_line(error: BaseException) -> str:
    """The type and the beginning of the message of an exception, on one line."""
    words = " ".join(str(error).split())
    shortened = words if len(words) <= 160 else words[:157] + "..."
    return f"{type(error).__name__}: {shortened}" if shortened else type(error).__name__
