"""The published protocol, written plainly: what verification is compared with."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from time import perf_counter

from pymatgen.core.structure import Structure
from pymatgen.core.structure_matcher import StructureMatcher
from pymatgen.io.cif import CifParser

_SODIUM = """data_Na
_cell_length_a 4
_cell_length_b 4
_cell_length_c 4
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na 0 0 0
"""
_TAGS = re.compile(r"<cif>(.*?)</cif>", re.DOTALL)


@dataclass(frozen=True)
class Published:
    """What the protocol says: the stage, rmsd and max_dist of what `fit` accepts, and its seconds."""

    stage: str
    rmsd: float | None
    max_dist: float | None
    seconds: float


def score(answer: str, target: str) -> Published:
    """Both texts are parsed, compositions compared, then `fit`, then `get_rms_dist` where it accepts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = perf_counter()
        stage, figures = _score(answer, target)
        rmsd, max_dist = figures if figures is not None else (None, None)
        return Published(stage, rmsd, max_dist, perf_counter() - started)


def warm_up() -> None:
    """Load what the first answer would pay for."""
    score(f"<cif>{_SODIUM}</cif>", _SODIUM)


def _score(answer: str, target: str) -> tuple[str, tuple[float, float] | None]:
    truth = _parse(target)
    found = _TAGS.findall(answer)
    if not found:
        return "no_cif", None
    try:
        structure = _parse(found[-1])
    except Exception:
        return "cif_invalid", None
    if structure.composition.as_dict() != truth.composition.as_dict():
        return "composition_mismatch", None
    matcher = StructureMatcher(primitive_cell=False, stol=0.5)
    if not matcher.fit(truth, structure):
        return "structure_mismatch", None
    return "correct", matcher.get_rms_dist(truth, structure)  # type: ignore[no-untyped-call]


def _parse(text: str) -> Structure:
    parsed = CifParser.from_str(text).parse_structures(primitive=False, check_occu=False)
    return parsed[0]
