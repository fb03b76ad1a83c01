"""The right kind of edit, done wrongly: random parameters, or the right parameters on the wrong site."""

from __future__ import annotations

import numpy as np

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import Params
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task


def random_edit(task: Task, rng: np.random.Generator) -> Crystal:
    """The edit with freshly drawn parameters (elements from those of the input), no rule checked."""
    edit, crystal = ACTIONS[task.action], task.crystal
    params = next(iter(edit.proposals(crystal, rng, sorted(crystal.composition))))
    return edit.apply(crystal, params)


def wrong_site(task: Task, rng: np.random.Generator) -> Crystal:
    """The edit with every parameter right but the site.

    An addition, which names no site, goes to another place of the cell; a supercell gets its factors in another
    order, or one factor more where all are equal.
    """
    crystal = task.crystal
    params: Params = dict(task.params)
    if task.action == "add":
        params["position"] = (rng.random(3) @ crystal.matrix).tolist()
    elif task.action == "super_cell":
        a, b, c = params["factors"]
        params["factors"] = [b, c, a] if not a == b == c else [a, b, c + 1]
    else:
        taken = {params["index"], params.get("towards"), params.get("other")}
        # On a crystal of two sites every other one may be taken already: then the two change places.
        free = [site for site in range(len(crystal)) if site not in taken]
        params["index"] = free[rng.integers(len(free))] if free else (params["index"] + 1) % len(crystal)
        for key in ("towards", "other"):
            if params.get(key) == params["index"]:
                params[key] = task.params["index"]
    return ACTIONS[task.action].apply(crystal, params)
