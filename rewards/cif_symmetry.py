"""The bounds on what pymatgen is about to do with the symmetry that a CIF states, and each lookup done once.

pymatgen compares every image of every row with all rows and with all sites found so far, and builds a space group
that is only named from its generators, slowly. Both are counted here before they are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rewards import limits
from rewards.arrangement import FloatArray

if TYPE_CHECKING:
    from pymatgen.core.operations import SymmOp
    from pymatgen.io.cif import CifBlock

OPERATOR_TAGS = (
    "_symmetry_equiv_pos_as_xyz",
    "_symmetry_equiv_pos_as_xyz_",
    "_space_group_symop_operation_xyz",
    "_space_group_symop_operation_xyz_",
)
NAME_TAGS = (
    *(
        f"{tag}{end}"
        for tag in (
            "_symmetry_space_group_name_H-M",
            "_symmetry_space_group_name_H_M",
            "_space_group_name_Hall",
            "_space_group_name_H-M_alt",
            "_symmetry_space_group_name_hall",
            "_symmetry_space_group_name_h-m",
            "_space_group_IT_number",
            "_symmetry_Int_Tables_number",
        )
        for end in ("", "_")
    ),
)
_MAGNETIC_OPERATORS = "_space_group_symop_magn_operation.xyz"
_MAGNETIC_CENTRINGS = "_space_group_symop_magn_centering.xyz"
_MAGNETIC_NAMES = ("_space_group_magn.name_BNS", "_space_group_magn.number_BNS")
_FRACT_TAGS = tuple(f"_atom_site_fract_{axis}" for axis in "xyz")
_SITE_STEP = 1e-4  # two images closer than this are one site to pymatgen


def bound_symmetry(parser: Any, blocks: Sequence[CifBlock]) -> None:
    """Check the work that the symmetry of all blocks makes, and let the parser look up each group but once.

    Raises:
        BoundExceededError: naming the bound.
    """
    counter = _Counter(magnetic=parser.feature_flags["magcif"])
    for block in blocks:
        counter.add(block)
    parser.get_symops = counter.operators


def symmetry_left_out(parser: Any, block: CifBlock) -> bool:
    """Whether ordinary symmetry stands beside magnetic tags without any magnetic symmetry: then P 1 is read.

    Raises:
        BoundExceededError: naming the bound.
    """
    if not parser.feature_flags["magcif"] or any(
        block.data.get(tag) for tag in (_MAGNETIC_OPERATORS, *_MAGNETIC_NAMES)
    ):
        return False
    return len(_Counter(magnetic=False).operators(block)) > 1


class _Counter:
    def __init__(self, *, magnetic: bool) -> None:
        self._magnetic = magnetic
        self._found: dict[int, list[SymmOp]] = {}
        self._names: set[tuple[tuple[str, str | tuple[str, ...]], ...]] = {()}
        self._listed = self._looked_for = self._looked_up = self._work = 0

    def add(self, block: CifBlock) -> None:
        rows = len(block.data.get("_atom_site_label", ()))
        limits.check(rows, limits.MAX_ROWS, "atom rows")
        if self._magnetic:
            images, steps = rows * self._magnetic_operators(block), limits.STEPS_PER_MAGNETIC_IMAGE
            sites = images
        else:
            operators = self.operators(block)
            images, steps = rows * len(operators), limits.STEPS_PER_IMAGE
            # A first look without comparing images keeps the second one small.
            self._check_work(images * (steps + rows))
            sites = _sites(block, operators)
        self._work += images * (steps + rows + sites)
        self._check_work(0)

    def operators(self, block: CifBlock) -> list[SymmOp]:
        """What ``CifParser.get_symops`` gives for the block."""
        if id(block) not in self._found:
            self._found[id(block)] = self._find(block)
        return self._found[id(block)]

    def _find(self, block: CifBlock) -> list[SymmOp]:
        listed = [self._operators_under(block, tag) for tag in OPERATOR_TAGS]
        if any(listed):
            found, read = _operators_of({tag: block.data[tag] for tag in OPERATOR_TAGS if tag in block.data})
            if read:
                return found
        names = tuple((tag, _hashable(block.data[tag])) for tag in NAME_TAGS if block.data.get(tag))
        if names not in self._names:
            self._names.add(names)
            self._looked_for += len(names)
            limits.check(self._looked_for, limits.MAX_NAMES, "names of space groups")
            limits.check(self._looked_up, limits.MAX_LOOKED_UP, "operators of space groups without operators")
        found = list(_of_named_group(names))
        self._looked_up += len(found) if len(found) > 1 else 0
        return found

    def _operators_under(self, block: CifBlock, tag: str) -> list[str]:
        value: Any = block.data.get(tag)
        operators: list[str] = [value] if isinstance(value, str) else list(value or ())
        limits.check(len(operators), limits.MAX_OPERATORS, "symmetry operators")
        longest = max(map(len, operators), default=0)
        limits.check(longest, limits.MAX_OPERATOR_LENGTH, "characters in one symmetry operator")
        self._listed += len(operators)
        limits.check(self._listed, limits.MAX_LISTED, "symmetry operators in all")
        return operators

    def _magnetic_operators(self, block: CifBlock) -> int:
        operators = len(self._operators_under(block, _MAGNETIC_OPERATORS))
        centrings = len(self._operators_under(block, _MAGNETIC_CENTRINGS))
        if operators or not any(block.data.get(tag) for tag in _MAGNETIC_NAMES):
            return max(1, operators) * max(1, centrings)
        limits.check(self._looked_up, limits.MAX_LOOKED_UP, "operators of space groups without operators")
        # A magnetic group has up to twice as many as an ordinary one.
        self._looked_up += 2 * limits.MAX_OPERATORS
        return 2 * limits.MAX_OPERATORS

    def _check_work(self, more: int) -> None:
        limits.check(self._work + more, limits.MAX_IMAGE_WORK, "steps of comparing images of atom rows")


@lru_cache(maxsize=256)
def _of_named_group(names: tuple[tuple[str, str | tuple[str, ...]], ...]) -> tuple[SymmOp, ...]:
    found, _ = _operators_of({tag: list(name) if isinstance(name, tuple) else name for tag, name in names})
    return tuple(found)


def _hashable(value: str | list[str]) -> str | tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else value


def _operators_of(data: dict[str, Any]) -> tuple[list[SymmOp], bool]:
    """The operators of a block with these tags, and whether they are read and not those of P 1 by default."""
    from pymatgen.io.cif import CifBlock, CifParser

    parser: Any = CifParser.from_str("data_x\n_x 1")
    found = parser.get_symops(CifBlock(data, [], "x"))
    return found, not any("Defaulting to P1" in warning for warning in parser.warnings)


def _sites(block: CifBlock, operators: Sequence[SymmOp]) -> int:
    """At least as many as the images that pymatgen compares one with: those on one place are one to it."""
    columns = [block.data.get(tag) for tag in _FRACT_TAGS]
    rows = len(block.data.get("_atom_site_label", ()))
    try:
        from pymatgen.io.cif import str2float

        places: FloatArray = np.array([[str2float(value) for value in column or ()] for column in columns]).T
        affine = np.array([operator.affine_matrix for operator in operators])
        images = np.einsum("oij,rj->roi", affine[:, :3, :3], places) + affine[None, :, :3, 3]
        if len(places) != rows or not np.isfinite(images).all():
            return rows * len(operators)
    except Exception:  # pymatgen will say what is wrong, or leave the row out
        return rows * len(operators)
    per_cell = round(1 / _SITE_STEP)
    bins = np.floor((images - np.floor(images)) * per_cell + 0.5).astype(np.int64) % per_cell
    return len(np.unique((bins[..., 0] * per_cell + bins[..., 1]) * per_cell + bins[..., 2]))
