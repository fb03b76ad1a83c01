"""The published instructions are read by their wording, in both layouts."""

from __future__ import annotations

import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.tasks.published_wording import PUBLISHED_NAMES, action_of_name, read_wording


@pytest.mark.parametrize("action", ACTIONS)
def test_a_name_is_known_in_every_spelling(action: str) -> None:
    published = PUBLISHED_NAMES[action]
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in published).lstrip("_")
    assert {action_of_name(name) for name in (action, published, snake)} == {action}


@pytest.mark.parametrize(
    "name", ["DeleteAroundAtomAction", "RotateMotifAction", "MoveSelectedAtomsAction", "train", ""]
)
def test_other_names_are_no_edit_of_ours(name: str) -> None:
    assert action_of_name(name) is None


@pytest.mark.parametrize(
    ("prompt", "action", "params"),
    [
        pytest.param(
            "Add one Ba atom at the Cartesian coordinate [6.5465 4.7379 3.9022] to the cif file.",
            "add",
            {"element": "Ba", "position": [6.5465, 4.7379, 3.9022]},
            id="add",
        ),
        pytest.param(
            "Change the atom at index 77 into Pu in the cif file. The indices of atoms are started from 0.",
            "change",
            {"index": 77, "element": "Pu"},
            id="change",
        ),
        pytest.param("Remove the atom at index 0 from the cif file.", "remove", {"index": 0}, id="remove"),
        pytest.param(
            "Move the atom at index 69 by [ 1.15526691 -1.06878244 -0.22478065] angstrom in the cif file.",
            "move",
            {"index": 69, "displacement": [1.15526691, -1.06878244, -0.22478065]},
            id="move with numpy's spaces",
        ),
        pytest.param(
            "Move the atom at index 0 by [2. 0. -1.5] angstrom in the cif file.",
            "move",
            {"index": 0, "displacement": [2.0, 0.0, -1.5]},
            id="move with numpy's bare points",
        ),
        pytest.param(
            "Move the atom at index 62 towards the atom at index 7 by 1.1264 angstrom in the cif file.",
            "move_towards",
            {"index": 62, "towards": 7, "distance": 1.1264},
            id="move_towards",
        ),
        pytest.param(
            "Insert Fe between atoms at indices 47 and 22 that are 1.8800 angstrom from 47 in the cif file.",
            "insert_between",
            {"index": 47, "towards": 22, "element": "Fe", "distance": 1.88},
            id="insert_between",
        ),
        pytest.param(
            "Insert a Fe atom in the line between atoms at indices 47 and 22, and the inserted atom must be 1.88 "
            "angstrom from atom at 22 in the cif file.",
            "insert_between",
            {"index": 22, "towards": 47, "element": "Fe", "distance": 1.88},
            id="insert_between counted from the second site",
        ),
        pytest.param(
            "Swap the spatial positions of atoms at indices 52 and 6 in the cif file.",
            "swap",
            {"index": 52, "other": 6},
            id="swap",
        ),
        pytest.param("Swap atoms at indices 5 and 0 in the cif file.", "swap", {"index": 5, "other": 0}, id="old swap"),
        pytest.param(
            "Delete all atoms whose z coordinate is lower than the atom at index 13 in the cif file. Including itself "
            "and atoms with the same z coordinate.",
            "delete_below",
            {"index": 13, "include_level": True},
            id="delete_below including itself",
        ),
        pytest.param(
            "Delete all atoms whose z coordinate is lower than the atom at index 39 in the cif file. Excluding itself "
            "and atoms with the same z coordinate.",
            "delete_below",
            {"index": 39, "include_level": False},
            id="delete_below excluding itself",
        ),
        pytest.param(
            "Rotate all surrounding atoms within 2.5475 angstrom of the center atom at index 2 by 94.3835 degree "
            "around the axis [-1.  0.  0.] in the cif file. The rotation should following the right-hand rule.",
            "rotate_around",
            {"index": 2, "radius": 2.5475, "angle": 94.3835, "axis": [-1.0, 0.0, 0.0]},
            id="rotate_around",
        ),
        *(
            pytest.param(
                f"Create a supercell with the size 1{sign}2{sign}4.",
                "super_cell",
                {"factors": [1, 2, 4]},
                id=f"x is {sign}",
            )
            for sign in ("x", "X", "*", "×", " by ")
        ),
    ],
)  # fmt: skip
def test_the_parameters_are_in_the_words(prompt: str, action: str, params: dict[str, object]) -> None:
    assert read_wording(prompt) == (action, params)
    assert ACTIONS[action].instruction(params)  # as usable as those of our own tasks


@pytest.mark.parametrize(
    "prompt",
    [
        "Turn everything upside down.",
        "Move the atom at index 3 by [1 2] angstrom",
        "Insert Fe between atoms at indices 1 and 2 that are 1.0 angstrom from 3 in the cif file.",
        "",
    ],
)
def test_other_words_are_not_guessed_at(prompt: str) -> None:
    assert read_wording(prompt) is None
