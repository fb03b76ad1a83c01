"""Three wrong methods that give the right answer on easy cells.

They show why results are split into orthogonal and oblique cells: a model may have learnt one of these. Each does the
edits it does not concern exactly, so that its score says what the shortcut alone costs.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from atomworld_env.actions import ACTIONS
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task


def cartesian_by_lengths(task: Task) -> Crystal:
    """Treats every cell as orthogonal: Cartesian numbers are divided by a, b and c."""
    crystal = task.crystal
    if not ACTIONS[task.action].cartesian:
        return task.target_crystal
    a, b, c = crystal.cell[:3]
    upright = Crystal((a, b, c, 90.0, 90.0, 90.0), crystal.species, crystal.frac)
    edited = ACTIONS[task.action].apply(upright, task.params)
    return Crystal(crystal.cell, edited.species, edited.frac)


def listed_copy(task: Task) -> Crystal:
    """Goes from site i to site j as listed in the cell, not to its nearest image (`insert_between`, `move_towards`)."""
    crystal, params = task.crystal, task.params
    if task.action not in ("insert_between", "move_towards"):
        return task.target_crystal
    start = crystal.frac[params["index"]]
    vector = (crystal.frac[params["towards"]] - start) @ crystal.matrix
    point = start + (params["distance"] / np.linalg.norm(vector)) * vector @ crystal.inverse
    if task.action == "insert_between":
        return crystal.replaced(species=(*crystal.species, params["element"]), frac=np.vstack([crystal.frac, point]))
    frac = crystal.frac.copy()
    frac[params["index"]] = point
    return crystal.replaced(frac=frac)


def in_cell_neighbours(task: Task) -> Crystal:
    """Turns only the neighbours that lie inside the cell as listed, missing images across a face (`rotate_around`)."""
    crystal, params = task.crystal, task.params
    if task.action != "rotate_around":
        return task.target_crystal
    centre = crystal.frac[params["index"]]
    vectors = (crystal.frac - centre) @ crystal.matrix
    near = np.linalg.norm(vectors, axis=1) < params["radius"]
    rotation = Rotation.from_rotvec(np.radians(params["angle"]) * np.array(params["axis"], dtype=float))
    frac = crystal.frac.copy()
    frac[near] = centre + rotation.apply(vectors[near]) @ crystal.inverse
    return crystal.replaced(frac=frac)
