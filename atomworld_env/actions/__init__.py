"""The ten edits of the AtomWorld task family, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from atomworld_env.actions.action import Action
from atomworld_env.actions.add import Add
from atomworld_env.actions.change import Change
from atomworld_env.actions.delete_below import DeleteBelow
from atomworld_env.actions.insert_between import InsertBetween
from atomworld_env.actions.move import Move
from atomworld_env.actions.move_towards import MoveTowards
from atomworld_env.actions.remove import Remove
from atomworld_env.actions.rotate_around import RotateAround
from atomworld_env.actions.super_cell import SuperCell
from atomworld_env.actions.swap import Swap

ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            Change(), Remove(), Add(), InsertBetween(), Swap(), DeleteBelow(), Move(), MoveTowards(), RotateAround(),
            SuperCell(),
        )
    }
)  # fmt: skip
"""Every edit with its default parameter ranges, in the order of the tables."""

__all__ = ["ACTIONS", "Action"]
