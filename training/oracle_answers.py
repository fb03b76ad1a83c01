"""Right answers as text: what supervised training imitates."""

from __future__ import annotations

from collections.abc import Sequence

from atomworld_env.structures.cif import CifStyle, write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.tasks.task import Task

EDITED_NAME = "edited"
"""Name of the data block of a compact answer. It is no formula: working one out is not part of any edit, and a copied
one would be wrong."""


def oracle_answer(task: Task, *, style: CifStyle = "compact", decimals: int = 4) -> str:
    """The ground truth of a task between ``<cif>`` tags.

    Args:
        style: ``full`` as pymatgen writes it, or ``compact``, in which every row that the edit leaves alone repeats the
            input's row to the letter.
        decimals: of the fractional coordinates.
    """
    target = task.target_crystal
    if style == "full":
        printed = Crystal.printed(target.cell, target.species, target.frac, decimals)
        return f"<cif>\n{write_cif(printed, style=style, decimals=decimals)}</cif>"
    return compact_answer(target, kept_sites(task.crystal, target), decimals=decimals)


def compact_answer(target: Crystal, labels: Sequence[int], *, decimals: int = 4) -> str:
    """A compact CIF between ``<cif>`` tags.

    Args:
        target: the edited crystal.
        labels: the number in the label of each of its sites.
        decimals: of the fractional coordinates; cell parameters have four.
    """
    printed = Crystal.printed(target.cell, target.species, target.frac, decimals)
    tags = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    columns = ("label", "type_symbol", "fract_x", "fract_y", "fract_z")
    rows = (
        f"{symbol}{label} {symbol} " + " ".join(f"{value:.{decimals}f}" for value in place)
        for symbol, label, place in zip(printed.species, labels, printed.frac.tolist(), strict=True)
    )
    return "\n".join(
        (
            "<cif>",
            f"data_{EDITED_NAME}",
            *(f"_cell_{tag} {value:.4f}" for tag, value in zip(tags, printed.cell, strict=True)),
            "loop_",
            *(f"_atom_site_{column}" for column in columns),
            *rows,
            "</cif>",
        )
    )


def kept_sites(crystal: Crystal, target: Crystal) -> list[int]:
    """For each site of a target, the number of the input's site it continues; added sites are counted on.

    Sites that were deleted leave a gap, so that the rows which remain keep their labels.
    """
    if len(target) >= len(crystal):
        return list(range(len(target)))
    kept, place = [], 0
    for number, symbol in enumerate(crystal.species):
        if place == len(target):
            break
        same_site = abs(crystal.frac[number] - target.frac[place]).max() < 1e-6
        if symbol == target.species[place] and same_site:
            kept.append(number)
            place += 1
    # An edit that both deletes and moves sites (none of the ten does) has no such reading.
    return kept if place == len(target) else list(range(len(target)))
