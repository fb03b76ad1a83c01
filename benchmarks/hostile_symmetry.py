"""The same crystal by its symmetry: operators of the cell as it is and one row an orbit, in many notations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import spglib
from cif_sheet import CELL_TAGS, FRACT, LABEL, SYMBOL
from hostile_markup import tagged

from atomworld_env.structures.crystal import Crystal

_SYMPREC = 1e-5  # Å; what is symmetric only within the printed digits is left as it is
_MOST_OPERATORS = 192
_TWELFTHS = tuple(Fraction(k, 12) for k in range(13))


@dataclass(frozen=True)
class Operator:
    """One symmetry operator of a cell: rotation, shape (3, 3) of whole numbers, and translation in [0, 1)."""

    rotation: tuple[tuple[int, ...], ...]
    translation: tuple[float, ...]

    def text(self, rng: Random, *, images: bool) -> str:
        """In the notation x,y,z; with `images`, moved by lattice vectors."""
        parts = []
        for row, shift in zip(self.rotation, self.translation, strict=True):
            letters = "".join(_term(factor, axis) for factor, axis in zip(row, "xyz", strict=True) if factor)
            shift += rng.choice((-1, 0, 1)) if images else 0
            near = min(_TWELFTHS, key=lambda value: abs(value - shift % 1))
            exact = str(near + round(shift - float(near))) if abs(float(near) - shift % 1) < 1e-5 else f"{shift:.8f}"
            end = "" if exact == "0" else exact if exact.startswith("-") else f"+{exact}"
            parts.append(letters.removeprefix("+") + end)
        return ",".join(parts)


def _term(factor: int, axis: str) -> str:
    return f"{'+' if factor > 0 else '-'}{'' if abs(factor) == 1 else abs(factor)}{axis}"


def symmetric(crystal: Crystal, rng: Random) -> str:
    """The crystal under all operators of its cell, in any order and image, at times each of them twice: right."""
    operators, sites = _symmetry(crystal)
    operators = rng.sample(operators, len(operators))
    if rng.random() < 0.3:
        operators = (operators * 2)[:_MOST_OPERATORS]
    images = rng.random() < 0.5
    text = _text(crystal, [operator.text(rng, images=images) for operator in operators], sites)
    return tagged(text)


def one_operator_missing(crystal: Crystal, rng: Random) -> str:
    """The same without one of the operators: right only where no atom needs it."""
    operators, sites = _symmetry(crystal)
    kept = rng.sample(operators, max(1, len(operators) - 1))
    return tagged(_text(crystal, [operator.text(rng, images=False) for operator in kept], sites))


def one_operator_more(crystal: Crystal, rng: Random) -> str:
    """All sites of the crystal under an operator that is hardly its own."""
    extra = rng.choice(("-x,-y,-z", "y,x,z", "x+1/2,y,z", "-x,y+1/2,-z", "z,x,y", "x+0.01,y,z", "x,y,z+1/3"))
    return tagged(_text(crystal, ["x,y,z", extra], range(len(crystal))))


def _symmetry(crystal: Crystal) -> tuple[list[Operator], list[int]]:
    """The operators of the cell as it is, and one site of each orbit."""
    kinds = sorted(set(crystal.species))
    numbers = [kinds.index(symbol) for symbol in crystal.species]
    found = spglib.get_symmetry_dataset((crystal.matrix.tolist(), crystal.frac.tolist(), numbers), symprec=_SYMPREC)
    if found is None or len(found.rotations) > _MOST_OPERATORS:
        return [Operator(((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0.0, 0.0, 0.0))], list(range(len(crystal)))
    operators = [
        Operator(tuple(map(tuple, rotation.tolist())), tuple((translation % 1.0).tolist()))
        for rotation, translation in zip(found.rotations, found.translations, strict=True)
    ]
    return operators, sorted(set(found.equivalent_atoms.tolist()))


def _text(crystal: Crystal, operators: Sequence[str], sites: Iterable[int]) -> str:
    lines = ["data_x", *(f"{tag} {value:.8f}" for tag, value in zip(CELL_TAGS, crystal.cell, strict=True))]
    lines += ["loop_", "_symmetry_equiv_pos_as_xyz", *(f"'{operator}'" for operator in operators)]
    lines += ["loop_", LABEL, SYMBOL, *FRACT]
    for k in sites:
        x, y, z = crystal.frac[k]
        lines.append(f"{crystal.species[k]}{k} {crystal.species[k]} {x:.8f} {y:.8f} {z:.8f}")
    return "\n".join([*lines, ""])
