"""`rotate_around`: turn the neighbours of one site about an axis through it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.actions.action import RejectedDraw
from atomworld_env.structures.crystal import Crystal

ROTATE = ACTIONS["rotate_around"]


def params(radius, angle=90, axis=(0.0, 0.0, 1.0), index=0):
    return {"index": index, "radius": radius, "angle": angle, "axis": list(axis)}


def test_truth_agrees_with_an_independent_computation(compare):
    found = compare(ROTATE, 250)
    assert found.worst < 1e-6
    assert not found.broken


@pytest.mark.slow
def test_truth_agrees_on_many(compare):
    found = compare(ROTATE, 2500, seed=1)
    assert found.worst < 1e-6
    assert not found.broken


# Site 0 at (5, 5, 5), its neighbour 2 Å along one axis: right-handed, x → y → z → x.
@pytest.mark.parametrize(
    ("axis", "before", "after"),
    [
        pytest.param((0, 0, 1), (2, 0, 0), (0, 2, 0), id="+z takes x to y"),
        pytest.param((0, 0, -1), (2, 0, 0), (0, -2, 0), id="-z takes x to -y"),
        pytest.param((1, 0, 0), (0, 2, 0), (0, 0, 2), id="+x takes y to z"),
        pytest.param((-1, 0, 0), (0, 2, 0), (0, 0, -2), id="-x takes y to -z"),
        pytest.param((0, 1, 0), (0, 0, 2), (2, 0, 0), id="+y takes z to x"),
        pytest.param((0, -1, 0), (0, 0, 2), (-2, 0, 0), id="-y takes z to -x"),
        pytest.param((0, 0, 1), (0, 0, 2), (0, 0, 2), id="on the axis, stays"),
    ],
)
def test_ninety_degrees_are_right_handed(box, axis, before, after):
    crystal = box(("Na", (5, 5, 5)), ("Cl", np.add((5, 5, 5), before)), edges=(20, 20, 20))
    target = ROTATE.apply(crystal, params(2.5, axis=axis))
    assert target.cartesian[1] == pytest.approx(np.add((5, 5, 5), after), abs=1e-6)
    assert np.array_equal(target.frac[0], crystal.frac[0])


def test_sixty_degrees_worked_out_by_hand_in_a_hexagonal_cell():
    # A neighbour at 0.25 a = (1, 0, 0) turns by 60° about z to (1/2, √3/2, 0). There v = (√3/2) / 2√3 = 1/4
    # and 4u - 2v = 1/2 gives u = 1/4.
    crystal = Crystal((4.0, 4.0, 6.0, 90.0, 90.0, 120.0), ("Na", "H"), np.array([[0.0, 0.0, 0.0], [0.25, 0.0, 0.0]]))
    target = ROTATE.apply(crystal, params(1.5, angle=60))
    assert target.frac[1] == pytest.approx([0.25, 0.25, 0.0], abs=1e-8)


def test_each_neighbour_turns_on_its_own_short_lever(box):
    # Listed 9 Å away, its image is 1 Å to the left: the atom swings 1 Å around site 0, not 9 Å.
    crystal = box(("Na", (0, 0, 0)), ("Cl", (9, 0, 0)), edges=(10, 10, 10))
    target = ROTATE.apply(crystal, params(1.5))
    assert target.frac[1] == pytest.approx([0.0, 0.9, 0.0], abs=1e-8)


def test_atoms_beyond_the_radius_stay(box):
    crystal = box(("Na", (5, 5, 5)), ("Cl", (7, 5, 5)), ("K", (8, 5, 5)), edges=(20, 20, 20))
    target = ROTATE.apply(crystal, params(2.5))
    assert np.array_equal(target.frac[[0, 2]], crystal.frac[[0, 2]])
    assert ROTATE.touched(crystal, params(2.5)) == [1]
    assert ROTATE.touched(crystal, params(3.5)) == [1, 2]


def test_a_full_turn_in_parts_returns_to_the_input(box):
    crystal = box(("Na", (5, 5, 5)), ("Cl", (6, 7, 6)), ("K", (4, 5, 3)), edges=(20, 20, 20))
    turned = crystal
    for _ in range(8):
        turned = ROTATE.apply(turned, params(3.0, angle=45))
    assert turned.cartesian == pytest.approx(crystal.cartesian, abs=1e-6)


@pytest.mark.parametrize(
    ("radius", "reason"),
    [
        pytest.param(2.94, "no atom lies inside", id="0.06 Å short of the only neighbour"),
        pytest.param(2.96, "on the edge", id="0.04 Å short of it"),
        pytest.param(3.00, "on the edge", id="right on it"),
        pytest.param(3.04, "on the edge", id="0.04 Å beyond it"),
        pytest.param(3.06, None, id="0.06 Å beyond it"),
    ],
)
def test_no_atom_lies_near_the_edge_of_the_sphere(box, radius, reason):
    crystal = box(("Na", (5, 5, 5)), ("Cl", (8, 5, 5)), edges=(20, 20, 20))
    if reason is None:
        ROTATE.check(crystal, params(radius))
    else:
        with pytest.raises(RejectedDraw, match=reason):
            ROTATE.check(crystal, params(radius))


@pytest.mark.parametrize(
    ("edges", "radius", "reason"),
    [
        pytest.param((5, 20, 20), 2.94, None, id="one image of site 1 inside"),
        pytest.param((5, 20, 20), 3.06, "two images", id="site 1 inside on both sides"),
        pytest.param((5, 20, 20), 3.02, "on the edge", id="its second image on the edge"),
        pytest.param((9, 3.5, 20), 3.4, None, id="own image 0.1 Å outside"),
        pytest.param((9, 3.5, 20), 3.47, "on the edge", id="own image on the edge"),
        pytest.param((9, 3.5, 20), 3.6, "two images", id="own image inside"),
    ],
)
def test_no_site_is_twice_inside(box, edges, radius, reason):
    crystal = box(("Na", (0, 0, 0)), ("Cl", (2, 0, 0)), edges=edges)
    if reason is None:
        ROTATE.check(crystal, params(radius))
    else:
        with pytest.raises(RejectedDraw, match=reason):
            ROTATE.check(crystal, params(radius))


def test_two_sites_are_needed(box):
    assert ROTATE.unsuitable(box(("Na", (0, 0, 0)))) == "two sites are needed"


@pytest.mark.parametrize(
    ("axis", "name"),
    [
        pytest.param((sign * (k == 0), sign * (k == 1), sign * (k == 2)), f"{'+' if sign > 0 else '-'}{letter}")
        for k, letter in enumerate("xyz")
        for sign in (1.0, -1.0)
    ],
)
def test_instruction_contains_every_parameter_as_used(numbers_in, axis, name):
    text = ROTATE.instruction(params(2.5, angle=137, axis=axis, index=12))
    assert Counter(numbers_in(text)) == {"12": 3, "2.50": 1, "137": 1}
    assert f"about the Cartesian {name} axis through site 12" in text
    assert "within 2.50 Å of site 12" in text
    assert "by 137 degrees" in text
    assert "nearest periodic image of each" in text


@pytest.mark.parametrize(
    ("radius", "angle"),
    [
        pytest.param((1.0, 4.0), (45, 315), id="as published"),
        pytest.param((3.0, 3.5), (60, 62), id="narrower"),
    ],
)
def test_radius_and_angle_are_ranges_that_can_be_set(pool_crystals, draws, radius, angle):
    edit = replace(ROTATE, radius=radius, angle=angle)
    drawn = [each for crystal in pool_crystals[:20] for each in draws(edit, crystal, 40)]
    radii = np.array([each["radius"] for each in drawn])
    angles = np.array([each["angle"] for each in drawn])
    assert radius[0] <= radii.min() <= radii.max() <= radius[1]
    assert angle[0] <= angles.min() <= angles.max() <= angle[1]
    assert np.ptp(angles) > 0.9 * (angle[1] - angle[0])
    assert {angles.dtype.kind} == {"i"}
    assert all(each["radius"] == round(each["radius"], 2) for each in drawn)
    axes = Counter(tuple(each["axis"]) for each in drawn)
    assert len(axes) == 6
    assert min(axes.values()) > 80


def test_radii_that_can_be_drawn_are_those_the_rules_allow(box, draws):
    # Neighbours at 1.5 and 2 Å, the second image of site 1 at 5 - 1.5 = 3.5 Å: 1.55 … 1.95 and 2.05 … 3.45.
    crystal = box(("Na", (0, 0, 0)), ("Cl", (1.5, 0, 0)), ("K", (0, 2, 0)), edges=(5, 20, 20))
    drawn = [each["radius"] for each in draws(ROTATE, crystal, 3000) if each["index"] == 0]
    found = np.unique(np.round(drawn, 2))
    expected = np.round(np.concatenate([np.arange(155, 196), np.arange(205, 346)]) / 100, 2)
    # Whether the four ends belong is a matter of the last bit.
    assert set(expected[1:40]) | set(expected[42:-1]) <= set(found) <= set(expected)


@pytest.mark.parametrize(
    "axis",
    [
        pytest.param((0.0, 0.0, 0.0), id="zero"),
        pytest.param((0.0, 0.0, 2.0), id="not a unit vector"),
        pytest.param((0.7071, 0.7071, 0.0), id="along no coordinate axis"),
    ],
)
def test_another_axis_is_refused_in_one_line(hexagonal, axis):
    for refuse in (lambda p: ROTATE.apply(hexagonal, p), ROTATE.instruction):
        with pytest.raises(ValueError, match=r"^the axis must be a unit vector along ±x, ±y or ±z, got .*$"):
            refuse(params(2.5, axis=axis))


def test_a_site_that_does_not_exist_is_refused_in_one_line(hexagonal):
    with pytest.raises(ValueError, match=r"^there is no site 3: the structure has sites 0 to 2$"):
        ROTATE.apply(hexagonal, params(2.5, index=3))


@pytest.mark.parametrize(
    ("angle", "radians"),
    [
        pytest.param(90, np.pi / 2, id="a quarter"),
        pytest.param(180, np.pi, id="a half"),
        pytest.param(300, np.pi / 3, id="five sixths are one sixth back"),
    ],
)
def test_lever_is_the_longest_arc(box, angle, radians):
    crystal = box(("Na", (5, 5, 5)), ("Cl", (6, 5, 5)), ("K", (5, 7, 5)), edges=(20, 20, 20))
    assert ROTATE.lever(crystal, params(2.5, angle=angle)) == pytest.approx(2 * radians)


def test_rotation_keeps_distances_from_the_centre(hexagonal):
    target = ROTATE.apply(hexagonal, params(2.5, angle=77, axis=(1.0, 0.0, 0.0), index=2))
    lever = target.cartesian[1] - hexagonal.cartesian[2]
    images = lever + np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]) @ target.matrix
    # 4/√3 Å as in the input; 0.3333 instead of 1/3 costs 1e-4.
    assert np.linalg.norm(images, axis=1).min() == pytest.approx(4 / sqrt(3), abs=1e-3)
