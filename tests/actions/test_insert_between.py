"""`insert_between`: put an atom on the segment between two sites."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw
from atomworld_env.structures.images import nearest_image

INSERT = ACTIONS["insert_between"]


def params(distance, index=0, towards=1, element="H"):
    return {"index": index, "towards": towards, "element": element, "distance": distance}


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(INSERT, 400)
    assert found.worst < 1e-6
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(INSERT, 4000, seed=1)
    assert found.worst < 1e-6
    assert not found.broken


def test_point_worked_out_by_hand_in_a_hexagonal_cell(box):
    # b = (-2, 2√3, 0), so b/4 is 1 Å long; with 0.1 c on top the segment is √(1² + 0.6²) Å long.
    crystal = box(("Na", (0, 0, 0)), ("Cl", (0, 1, 0.6)), edges=(4, 4, 6))
    crystal = type(crystal)((4.0, 4.0, 6.0, 90.0, 90.0, 120.0), crystal.species, crystal.frac)
    part = 0.5 / sqrt(1**2 + 0.6**2)
    target = INSERT.apply(crystal, params(0.5))
    assert target.species == ("Na", "Cl", "H")
    assert target.frac[-1] == pytest.approx([0, part / 4, part / 10], abs=1e-8)


def test_the_nearest_image_is_used_not_the_copy_in_the_cell(box):
    # Site 1 is listed 9 Å to the right; its image 1 Å to the left is nearer.
    crystal = box(("Na", (0, 0, 0)), ("Cl", (9, 0, 0)))
    assert INSERT.apply(crystal, params(0.2)).frac[-1] == pytest.approx([0.98, 0, 0], abs=1e-8)


def test_distance_counts_from_the_first_site(box):
    crystal = box(("Na", (1, 0, 0)), ("Cl", (4, 0, 0)))
    assert INSERT.apply(crystal, params(1.0)).frac[-1] == pytest.approx([0.2, 0, 0], abs=1e-8)
    assert INSERT.apply(crystal, params(1.0, index=1, towards=0)).frac[-1] == pytest.approx([0.3, 0, 0], abs=1e-8)


# The images of site 1 in a box of 10 Å lie x to the right and 10 - x to the left.
@pytest.mark.parametrize(
    ("x", "allowed"),
    [
        pytest.param(4.974, True, id="0.052 Å nearer than the next image"),
        pytest.param(4.976, False, id="0.048 Å nearer"),
        pytest.param(5.026, True, id="0.052 Å nearer on the other side"),
        pytest.param(5.0, False, id="equally near"),
    ],
)
def test_one_image_must_be_clearly_nearest(box, x, allowed):
    crystal = box(("Na", (0, 0, 0)), ("Cl", (x, 0, 0)))
    if allowed:
        INSERT.check(crystal, params(1.0))
    else:
        with pytest.raises(RejectedDraw, match="two images of the other site are equally near"):
            INSERT.check(crystal, params(1.0))


@pytest.mark.parametrize(
    ("distance", "reason"),
    [
        pytest.param(1.84, None, id="0.32 Å before the mirrored point"),
        pytest.param(1.86, "counted from the other site", id="0.28 Å before it"),
        pytest.param(2.00, "counted from the other site", id="the middle"),
        pytest.param(2.14, "counted from the other site", id="0.28 Å behind it"),
        pytest.param(2.16, None, id="0.32 Å behind it"),
        pytest.param(0.00, "not between", id="at site i"),
        pytest.param(0.01, None, id="just beside site i, left to the contact rule"),
        pytest.param(3.99, None, id="just before site j"),
        pytest.param(4.00, "not between", id="at site j"),
        pytest.param(4.50, "not between", id="beyond site j"),
    ],
)
def test_place_on_the_segment(box, distance, reason):
    crystal = box(("Na", (0, 0, 0)), ("Cl", (4, 0, 0)))
    if reason is None:
        INSERT.check(crystal, params(distance))
    else:
        with pytest.raises(RejectedDraw, match=reason):
            INSERT.check(crystal, params(distance))


def test_two_sites_are_needed(box):
    assert INSERT.unsuitable(box(("Na", (0, 0, 0)))) == "two sites are needed"


def test_instruction_contains_every_parameter_as_used(numbers_in):
    text = INSERT.instruction(params(2.4, index=7, towards=31, element="Fe"))
    assert set(numbers_in(text)) == {"7", "31", "2.40"}
    assert " Fe " in text
    assert "nearest periodic image of site 31" in text
    assert text.endswith("2.40 Å from site 7.")


@pytest.mark.parametrize(
    "ratio", [pytest.param((0.1, 0.9), id="as published"), pytest.param((0.4, 0.45), id="narrower")]
)
def test_ratio_is_a_range_that_can_be_set(hexagonal, draws, ratio):
    edit = replace(INSERT, ratio=ratio)
    drawn = draws(edit, hexagonal, 100)
    for each in drawn:
        length = nearest_image(hexagonal, each["index"], each["towards"]).distance
        assert ratio[0] * length - 0.0051 <= each["distance"] <= ratio[1] * length + 0.0051
        assert each["index"] != each["towards"]
        assert each["distance"] == round(each["distance"], 2)
    assert len({(each["index"], each["towards"]) for each in drawn}) == 6  # every ordered pair of three sites


@pytest.mark.parametrize("key", ["index", "towards"])
def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal, key):
    with pytest.raises(ValueError, match=r"^there is no site 9: the structure has sites 0 to 2$"):
        INSERT.apply(hexagonal, params(1.0) | {key: 9})


def test_the_rest_of_the_crystal_stays(hexagonal):
    target = INSERT.apply(hexagonal, params(1.0))
    assert np.array_equal(target.frac[:3], hexagonal.frac)
    assert INSERT.touched(hexagonal, params(1.0)) == [3]
    assert INSERT.lever(hexagonal, params(1.0)) == 1.0
