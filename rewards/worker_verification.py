"""Verification as worker processes do it: warmed up beforehand, with the targets of late kept prepared."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from rewards.verdict import Verdict
from rewards.verification import prepare_target, verify

# A crystal with one site here or there: near enough for the matcher to search, too far to be right.
_WARM_UP_CIF = """data_warm_up
_cell_length_a 4
_cell_length_b 5
_cell_length_c 6
_cell_angle_alpha 80
_cell_angle_beta 85
_cell_angle_gamma 95
loop_
_atom_site_type_symbol
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na Na0 0.0 0.0 0.0
Na Na1 0.5 0.5 {}
Cl Cl2 0.2 0.5 0.7
"""

# The targets of the tasks at hand, which come again with every answer of a group.
_prepared = lru_cache(maxsize=256)(prepare_target)


def warm_up(**options: Any) -> None:
    """Import all that a verification needs, by doing one, so that no answer pays for it.

    Args:
        options: as for :func:`rewards.verify`.
    """
    for module in ("ase.geometry", "gemmi", "pymatgen.core.structure_matcher", "pymatgen.io.cif", "scipy.optimize"):
        import_module(module)
    verify_texts(_WARM_UP_CIF.format(0.3), _WARM_UP_CIF.format(0.5), None, **options)


def verify_texts(answer: str, target: str, structure: str | None, **options: Any) -> Verdict:
    """:func:`rewards.verify` of texts."""
    engine = options["engine"]
    before = None if structure is None else _prepared(structure, engine=engine)
    return verify(answer, _prepared(target, engine=engine), structure=before, **options)
