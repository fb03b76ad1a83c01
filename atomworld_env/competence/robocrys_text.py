"""A crystal in the words of Robocrystallographer, with which the shipped texts are made.

A. M. Ganose and A. Jain, MRS Communications 9, 874 (2019). Needs the extra `ccs`, imported when it is called.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

from atomworld_env.structures.crystal import Crystal

_NUMPY_INTEGER = re.compile(r"np\.int64\((-?\d+)\)")


def describe(crystal: Crystal) -> str:
    """The description on one line, with the describer's default settings.

    Raises:
        Exception: whatever Robocrystallographer raises on a crystal that it cannot describe.
    """
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure
    from robocrys import StructureDescriber

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        structure = Structure(Lattice.from_parameters(*crystal.cell), crystal.species, crystal.frac)
        text: str = StructureDescriber().describe(_condenser().condense_structure(structure))
    # With numpy 2 it prints directions as (np.int64(0), np.int64(0), np.int64(1)).
    return _NUMPY_INTEGER.sub(r"\1", text).strip()


def warm_up() -> None:
    """Do what takes seconds before a time limit runs."""
    _condenser()


@cache
def _condenser() -> Any:
    """A condenser that asks no server, and writes the same texts in a fraction of the time.

    The library reads its molecules anew for each crystal, looks unknown ones up at PubChem, and compares a crystal
    with each of its 180 minerals where only those of its anonymous formula can be equal to it.
    """
    import robocrys.condense.condenser as condensing
    from pymatgen.core.structure import Structure
    from robocrys import StructureCondenser
    from robocrys.condense.mineral import MineralMatcher, ReducedAflowPrototypeMatcher

    class MineralsOfTheFormula(MineralMatcher):  # type: ignore[misc]  # the library has no types
        def __init__(self) -> None:
            super().__init__()
            formulas = self.mineral_db.structure.apply(lambda mineral: mineral.composition.anonymized_formula)
            self.mineral_db["anonymous"] = formulas

        def get_aflow_matches(self, structure: Structure) -> Any:
            self._set_distance_matrix(structure)
            same = self._mineral_db[self._mineral_db["anonymous"] == structure.composition.anonymized_formula]
            matcher = ReducedAflowPrototypeMatcher(
                self.initial_ltol, self.initial_stol, self.initial_angle_tol, mineral_db=same
            )
            return matcher.get_prototypes(structure)

    namer = condensing.MoleculeNamer(use_online_pubchem=False)
    condensing.MoleculeNamer = lambda: namer
    return StructureCondenser(mineral_matcher=MineralsOfTheFormula())
