"""Records in the published layout, made the way the benchmark makes them: edits on ASE atoms, outputs by ASE."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.io import write

from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal

OBLIQUE = Crystal.printed(
    (6.1, 7.3, 9.4, 82.0, 97.0, 108.0),
    ("Na", "Na", "Cl", "Cl", "O"),
    np.array([[0.05, 0.1, 0.02], [0.5, 0.45, 0.3], [0.9, 0.15, 0.3], [0.3, 0.9, 0.71], [0.62, 0.3, 0.88]]),
)
"""Five sites in an oblique cell; sites 1 and 2 are level; from site 0, site 2 is nearer outside the cell."""


def as_input(crystal: Crystal) -> str:
    """The input CIF, with the line that pymatgen puts on top."""
    return "# generated using pymatgen\n" + write_cif(crystal)


def as_atoms(crystal: Crystal) -> Atoms:
    return Atoms(list(crystal.species), scaled_positions=crystal.frac, cell=crystal.matrix, pbc=True)


def as_output(atoms: Atoms) -> str:
    """The output CIF as ASE writes it: 4 decimals, labels counted by element."""
    with io.BytesIO() as buffer:
        write(buffer, atoms, format="cif")
        return buffer.getvalue().decode()


def published_edits(crystal: Crystal = OBLIQUE) -> dict[str, tuple[str, Atoms]]:
    """Instruction and result of one edit of each kind, by the benchmark's own rules: sites as listed, no images."""
    results: dict[str, tuple[str, Atoms]] = {}

    def atoms() -> Atoms:
        return as_atoms(crystal)

    added = atoms()
    added += Atoms("Ba", positions=[[2.5, 3.25, 4.125]])
    results["AddAtomAction"] = (
        "Add one Ba atom at the Cartesian coordinate [2.5000 3.2500 4.1250] to the cif file.",
        added,
    )
    changed = atoms()
    changed[3].symbol = "Ds"
    results["ChangeAtomAction"] = (
        "Change the atom at index 3 into Ds in the cif file. The indices of atoms are started from 0.",
        changed,
    )
    removed = atoms()
    del removed[1]
    results["RemoveAtomAction"] = (
        "Remove the atom at index 1 from the cif file. The indices of atoms are started from 0.",
        removed,
    )
    moved = atoms()
    moved.positions[4] += [1.1553, -1.0688, 0.2248]
    results["MoveAtomAction"] = "Move the atom at index 4 by [ 1.1553 -1.0688  0.2248] angstrom in the cif file.", moved
    towards = atoms()
    towards.positions[0] += 1.1264 * unit(towards.positions[2] - towards.positions[0])
    results["MoveTowardsAtomAction"] = (
        "Move the atom at index 0 towards the atom at index 2 by 1.1264 angstrom in the cif file.",
        towards,
    )
    inserted = atoms()
    place = inserted.positions[0] + 1.88 * unit(inserted.positions[2] - inserted.positions[0])
    inserted += Atoms("Fe", positions=[place])
    results["InsertBetweenAtomsAction"] = (
        "Insert Fe between atoms at indices 0 and 2 that are 1.8800 angstrom from 0 in the cif file.",
        inserted,
    )
    swapped = atoms()
    swapped.positions[[1, 2]] = swapped.positions[[2, 1]]
    results["SwapAtomsAction"] = (
        "Swap the spatial positions of atoms at indices 1 and 2 in the cif file. The indices of atoms are started from "
        "0.",
        swapped,
    )
    cut = atoms()
    cut = cut[[k for k in range(len(cut)) if cut.positions[k, 2] >= cut.positions[1, 2] - 1e-9]]
    results["DeleteBelowAtomAction"] = (
        "Delete all atoms whose z coordinate is lower than the atom at index 1 in the cif file. Excluding itself and "
        "atoms with the same z coordinate.",
        cut,
    )
    turned = atoms()
    near = [k for k in (1, 2, 3, 4) if turned.get_distance(0, k, mic=True) < 4.0]
    part = turned[near]
    part.rotate(94.3835, (0, 0, 1), center=turned.positions[0])
    turned.positions[near] = part.positions
    results["RotateAroundAtomAction"] = (
        "Rotate all surrounding atoms within 4.0 angstrom of the center atom at index 0 by 94.3835 degree around the "
        "axis [0. 0. 1.] in the cif file. The rotation should following the right-hand rule.",
        turned,
    )
    results["SuperCellAction"] = "Create a supercell with the size 1X2X1.", atoms() * (1, 2, 1)
    return results


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def record(action: str, prompt: str, output: Atoms | str, **other: Any) -> dict[str, Any]:
    """One record of the second layout."""
    return {
        "action_type": action,
        "problem_id": f"id-{action}",
        "mp_id": "mp-1",
        "action_prompt": prompt,
        "input": as_input(OBLIQUE),
        "output": output if isinstance(output, str) else as_output(output),
        **other,
    }


def published_records() -> list[dict[str, Any]]:
    """A record of each edit."""
    return [record(action, prompt, atoms) for action, (prompt, atoms) in published_edits().items()]


def write_json(records: list[dict[str, Any]], path: Path) -> Path:
    path.write_text(json.dumps(records, indent=2), encoding="utf-8")
    return path
