"""`delete_below`: cut away everything lower than one site."""

from __future__ import annotations

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw
from atomworld_env.structures.crystal import Crystal

DELETE = ACTIONS["delete_below"]


@pytest.fixture
def layers(box):
    """Heights 1, 3, 3, 3, 6 Å; sites 1 to 3 are level."""
    return box(
        ("Na", (0, 0, 1)),
        ("Cl", (0, 0, 3)),
        ("K", (3, 0, 3)),
        ("Br", (6, 0, 3)),
        ("Rb", (0, 0, 6)),
        edges=(10, 10, 10),
    )


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(DELETE, 400)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(DELETE, 4000, seed=1)
    assert found.worst == 0.0
    assert not found.broken


@pytest.mark.parametrize(
    ("index", "include_level", "left"),
    [
        pytest.param(1, False, ("Cl", "K", "Br", "Rb"), id="level sites stay"),
        pytest.param(1, True, ("Rb",), id="level sites go too"),
        pytest.param(4, False, ("Rb",), id="up to the top site"),
        pytest.param(0, True, ("Cl", "K", "Br", "Rb"), id="the lowest site alone"),
    ],
)
def test_what_remains(layers, index, include_level, left):
    params = {"index": index, "include_level": include_level}
    DELETE.check(layers, params)
    assert DELETE.apply(layers, params).species == left


@pytest.mark.parametrize(
    ("index", "include_level", "reason"),
    [
        pytest.param(0, False, "nothing lies below", id="nothing below"),
        pytest.param(4, True, "nothing would remain", id="nothing left"),
    ],
)
def test_something_goes_and_something_stays(layers, index, include_level, reason):
    with pytest.raises(RejectedDraw, match=reason):
        DELETE.check(layers, {"index": index, "include_level": include_level})


@pytest.mark.parametrize("side", [pytest.param(1, id="above"), pytest.param(-1, id="below")])
@pytest.mark.parametrize(
    ("gap", "allowed"),
    [
        pytest.param(0.0, True, id="level as printed"),
        pytest.param(0.001, False, id="one digit off level"),
        pytest.param(0.049, False, id="0.049 Å apart"),
        pytest.param(0.051, True, id="0.051 Å apart"),
    ],
)
def test_another_site_is_level_as_printed_or_clearly_not(box, gap, allowed, side):
    crystal = box(
        ("Na", (0, 0, 1)),
        ("Cl", (0, 0, 3)),
        ("K", (3, 0, 3 + side * gap)),
        ("Rb", (0, 0, 6)),
        edges=(10, 10, 10),
    )
    params = {"index": 1, "include_level": False}
    if allowed:
        DELETE.check(crystal, params)
    else:
        with pytest.raises(RejectedDraw, match="almost level"):
            DELETE.check(crystal, params)


def test_almost_level_sites_elsewhere_do_not_matter(box):
    crystal = box(("Na", (0, 0, 1)), ("Cl", (0, 0, 3)), ("K", (3, 0, 1.001)), edges=(10, 10, 10))
    DELETE.check(crystal, {"index": 1, "include_level": False})


def test_height_is_cartesian_z_of_the_oblique_cell():
    # c is 10 Å long but leans: α = 30.5°, so c_z = 10 · sin 30.5° = 5.075 Å. A step of 0.0098 along c is
    # 0.098 Å of c and 0.0497 Å of height; 0.0099 is 0.0502 Å.
    cell = (10.0, 10.0, 10.0, 30.5, 90.0, 90.0)
    for step, allowed in ((0.0098, False), (0.0099, True)):
        crystal = Crystal(cell, ("Na", "Cl", "K"), np.array([[0, 0, 0.1], [0, 0, 0.5], [0.5, 0, 0.5 + step]]))
        if allowed:
            DELETE.check(crystal, {"index": 1, "include_level": False})
        else:
            with pytest.raises(RejectedDraw, match="almost level"):
                DELETE.check(crystal, {"index": 1, "include_level": False})


def test_heights_are_those_listed_not_of_an_image(box):
    # 9.9 Å is the top of the cell here, though its image lies 0.1 Å below the bottom.
    crystal = box(("Na", (0, 0, 0)), ("Cl", (0, 0, 9.9)), ("K", (0, 0, 5)), edges=(10, 10, 10))
    target = DELETE.apply(crystal, {"index": 2, "include_level": False})
    assert target.species == ("Cl", "K")


def test_a_crystal_of_one_layer_is_unsuitable(box):
    assert DELETE.unsuitable(box(("Na", (0, 0, 3)), ("Cl", (5, 0, 3)))) == "all sites lie at one height"


@pytest.mark.parametrize(
    ("include_level", "phrase"),
    [
        pytest.param(False, "keep site 3 itself and all atoms at the same height", id="keeping the level"),
        pytest.param(True, "also delete site 3 itself and all atoms at the same height", id="with the level"),
    ],
)
def test_instruction_says_what_happens_to_level_sites(include_level, phrase, numbers_in):
    text = DELETE.instruction({"index": 3, "include_level": include_level})
    assert phrase in text
    assert "as listed" in text
    assert set(numbers_in(text)) == {"3"}


def test_both_readings_and_all_sites_are_drawn(layers, draws):
    drawn = draws(DELETE, layers, 500)
    assert 200 < sum(params["include_level"] for params in drawn) < 300
    assert np.bincount([params["index"] for params in drawn], minlength=5).min() > 60
    assert all(type(params["include_level"]) is bool for params in drawn)


def test_a_site_that_does_not_exist_is_refused_in_one_line(layers):
    with pytest.raises(ValueError, match=r"^there is no site 5: the structure has sites 0 to 4$"):
        DELETE.apply(layers, {"index": 5, "include_level": False})
