from __future__ import annotations

import gymnasium
import pytest

import atomworld_env
from atomworld_env.actions import ACTIONS
from atomworld_env.families.registry import EDITS, FAMILIES, FamilyEntry, family_of


def test_the_ten_edits_are_those_of_the_package() -> None:
    assert tuple(ACTIONS) == EDITS


def test_no_two_families_share_a_kind_of_task_or_an_id() -> None:
    actions = [action for entry in FAMILIES.values() for action in entry.actions]
    assert len(actions) == len(set(actions))
    assert len({entry.env_id for entry in FAMILIES.values()}) == len(FAMILIES)
    assert all(family_of(action).name in FAMILIES for action in actions)
    assert FAMILIES["edits"].env_id == atomworld_env.ENV_ID


@pytest.mark.parametrize("entry", FAMILIES.values(), ids=FAMILIES.keys())
def test_what_an_entry_names_is_there(entry: FamilyEntry) -> None:
    env = gymnasium.make(entry.env_id)
    assert isinstance(env.unwrapped, entry.load("env"))
    assert env.unwrapped.family.name == entry.name
    assert env.unwrapped.family.actions == entry.actions
    family = entry.load("make")("train")
    task = family.sample(3, entry.actions[0])
    assert task.split == "train"
    entry.load("check")(task)
    assert family.verify(task, entry.wrap(task.target), profile="strict").success_strict


def test_an_unknown_kind_of_task_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown action 'melt'; choose from change, remove"):
        family_of("melt")
