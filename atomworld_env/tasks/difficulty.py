"""How hard a task is, from four things that can be counted before any model has seen it.

==============  ============================================================  =====================================
component       what is counted                                               0 … 1
==============  ============================================================  =====================================
``sites``       sites the answer must list                                    log scale, 1 site … 400 sites
``obliqueness`` largest |angle - 90°| of the cell, in degrees                 0° … 60°
``lever``       longest distance that must be turned into coordinates, in Å   0 Å … 10 Å
``precision``   correct digits a new fractional coordinate needs to be within log10(longest edge / 0.1 Å), 1 … 3
                0.1 Å
==============  ============================================================  =====================================

``score`` is 0.4 · sites for an edit that needs no Cartesian coordinates (change, remove, swap, delete_below,
super_cell), since the cell's shape and size do not matter there; for the others it is 0.4 · sites + 0.2 · (obliqueness
+ lever + precision). Components are clipped to 0 … 1 first. A shortcut such as dividing Cartesian numbers by cell
lengths is right at obliqueness 0 and fails above it, by an error that grows with the lever. ``level`` is the score in
five equal steps, 1 … 5.
"""

from __future__ import annotations

from math import log, log10

from atomworld_env.actions.action import Action, Params
from atomworld_env.structures.crystal import Crystal

MOST_SITES = 400
MOST_OBLIQUE = 60.0
LONGEST_LEVER = 10.0
TOLERANCE = 0.1
LEVELS = 5


def difficulty(
    action: Action, crystal: Crystal, params: Params, target: Crystal, *, lever: float | None = None
) -> dict[str, float]:
    """The counts (`sites`, `obliqueness` in degrees, `lever` in Å, `precision` in digits), `score` and `level`.

    Args:
        lever: in Å, where the parameters are not known; else the action measures it.
    """
    sites = len(target)
    obliqueness = max(abs(angle - 90.0) for angle in crystal.cell[3:])
    if lever is None:
        lever = action.lever(crystal, params)
    precision = log10(max(target.cell[:3]) / TOLERANCE)
    score = 0.4 * _clip(log(sites) / log(MOST_SITES))
    if action.cartesian:
        score += 0.2 * (
            _clip(obliqueness / MOST_OBLIQUE) + _clip(lever / LONGEST_LEVER) + _clip((precision - 1.0) / 2.0)
        )
    return {
        "score": round(score, 4),
        "level": float(min(LEVELS, int(score * LEVELS) + 1)),
        "sites": float(sites),
        "obliqueness": round(obliqueness, 4),
        "lever": round(lever, 4),
        "precision": round(precision, 4),
    }


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
