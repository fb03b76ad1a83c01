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
from rewards.cif_rules import StrictRuleError, strict_arrangement
from rewards.plain_cif import PlainReading, read_plain
from rewards.silence import silent
from rewards.stages import Stage

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure
    from pymatgen.io.cif import CifBlock

Engine = Literal["fast", "reference"]
ENGINES: tuple[str, ...] = get_args(Engine)

_OPERATOR_TAGS = (
    "_symmetry_equiv_pos_as_xyz",
    "_symmetry_equiv_pos_as_xyz_",
    "_space_group_symop_operation_xyz",
    "_space_group_symop_operation_xyz_",
)
_MAGNETIC_OPERATORS = "_space_group_symop_magn_operation.xyz"
_MAGNETIC_CENTRINGS = "_space_group_symop_magn_centering.xyz"
_MOST_OPERATORS = 192  # of any space group in its conventional cell


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
    return read_cif(text, engine=engine).strict


def read_for_paper(text: str, *, engine: str = "fast") -> Structure | Unreadable:
    """The first of ``CifParser.from_str(text).parse_structures(primitive=False, check_occu=False)``."""
    return read_cif(text, engine=engine).paper


def read_cif(text: str, *, engine: str = "fast") -> CifReading | PlainReading:
    """Read a CIF once for both profiles: never raises, prints nothing, bounded in time and memory.

    Args:
        engine: ``fast``, or ``reference`` to read every text with pymatgen; the outcome is the same, but for
            the order of the sites under the strict profile.
    """
    if engine == "fast" and (plain := read_plain(text)) is not None:
        return plain
    try:
        with silent():
            return _read_with_pymatgen(text)
    except limits.BoundExceededError as error:
        unread = Unreadable(Stage.TIMEOUT, str(error))
    except MemoryError:
        unread = Unreadable(Stage.TIMEOUT, "reading the CIF needs more memory than the verifier may take")
    except Exception as error:  # on malformed text the reader raises nearly everything
        unread = Unreadable(Stage.CIF_INVALID, f"the CIF cannot be read: {one_line(error)}")
    return CifReading(unread, unread)


def _read_with_pymatgen(text: str) -> CifReading:
    # Blank space around the text means nothing to the reader but costs it the square of its length.
    text = text.strip()
    limits.check_text(text)
    from pymatgen.io.cif import CifParser

    parser: Any = CifParser.from_str(text)
    blocks = list(parser._cif.data.values())
    _check_blocks(parser, blocks)
    structure = parser.parse_structures(primitive=False, check_occu=False)[0]
    strict: Arrangement | Unreadable
    try:
        strict = strict_arrangement(text, [block.data for block in blocks], structure)
    except StrictRuleError as error:
        strict = Unreadable(Stage.CIF_INVALID, str(error))
    except Exception as error:
        strict = Unreadable(Stage.CIF_INVALID, f"the CIF cannot be read: {one_line(error)}")
    return CifReading(strict, structure)


def _check_blocks(parser: Any, blocks: list[CifBlock]) -> None:
    """The bounds on what the reader is about to do with the tokens it found.

    Raises:
        BoundExceededError: naming the bound.
    """
    limits.check(len(blocks), limits.MAX_BLOCKS, "data blocks")
    images = 0
    for block in blocks:
        rows = len(block.data.get("_atom_site_label", ()))
        limits.check(rows, limits.MAX_ROWS, "atom rows")
        images += rows * _operator_count(parser, block)
        limits.check(images, limits.MAX_SITES, "images of atom rows under the symmetry operators")


def _operator_count(parser: Any, block: CifBlock) -> int:
    """How many symmetry operators the reader will apply to each row."""
    if parser.feature_flags["magcif"]:
        operators = _listed(block, _MAGNETIC_OPERATORS)
        centrings = _listed(block, _MAGNETIC_CENTRINGS)
        # A magnetic group named without its operators has up to twice as many as an ordinary one.
        return (len(operators) or 2 * _MOST_OPERATORS) * max(1, len(centrings))
    listed = [_listed(block, tag) for tag in _OPERATOR_TAGS]
    if any(operators == ["x, y, z"] for operators in listed):
        return 1  # what nearly every answer has
    return len(parser.get_symops(block))


def _listed(block: CifBlock, tag: str) -> list[str]:
    """The operators under a tag, each checked for its length."""
    value: Any = block.data.get(tag)
    operators: list[str] = [value] if isinstance(value, str) else list(value or ())
    limits.check(len(operators), limits.MAX_OPERATORS, "symmetry operators")
    longest = max(map(len, operators), default=0)
    limits.check(longest, limits.MAX_OPERATOR_LENGTH, "characters in one symmetry operator")
    return operators


def one_line(error: BaseException) -> str:
    """The type and the beginning of the message of an exception, on one line."""
    words = " ".join(str(error).split())
    shortened = words if len(words) <= 160 else words[:157] + "..."
    return f"{type(error).__name__}: {shortened}" if shortened else type(error).__name__
