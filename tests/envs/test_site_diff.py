"""The diff of sites: each kind of change, images across faces, oblique cells, swaps, supercells."""

from __future__ import annotations

import time

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.site_diff import PAIRED_SITES, ChangeKind, SiteDiff, diff_sites
from atomworld_env.structures.crystal import Crystal
from rewards import Arrangement, compare_strict

CUBE = (6.0, 6.0, 6.0, 90.0, 90.0, 90.0)
OBLIQUE = (6.0, 7.0, 8.0, 50.0, 60.0, 100.0)
SALT = (("Na", (0.0, 0.0, 0.0)), ("Na", (0.5, 0.5, 0.0)), ("Cl", (0.5, 0.0, 0.0)), ("Cl", (0.0, 0.5, 0.0)))


def crystal(*sites: tuple[str, tuple[float, float, float]], cell=CUBE) -> Crystal:
    return Crystal(cell, tuple(symbol for symbol, _ in sites), np.array([place for _, place in sites]).reshape(-1, 3))


def found(diff: SiteDiff) -> list[tuple[str, int | None, int | None]]:
    return [(str(change.kind), change.first, change.second) for change in diff.changes]


def test_a_crystal_does_not_differ_from_itself():
    diff = diff_sites(crystal(*SALT), crystal(*SALT))
    assert diff.empty
    assert diff.unchanged == 4


def test_order_and_image_do_not_matter():
    shuffled = crystal(SALT[2], SALT[0], ("Cl", (1.0, 0.5, 0.9999)), SALT[1])
    assert diff_sites(crystal(*SALT), shuffled).empty


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param((*SALT, ("K", (0.5, 0.5, 0.5))), [("added", None, 4)], id="added"),
        pytest.param(SALT[1:], [("removed", 0, None)], id="removed"),
        pytest.param((("K", SALT[0][1]), *SALT[1:]), [("changed", 0, 0)], id="changed"),
        pytest.param((("Na", (0.2, 0.0, 0.0)), *SALT[1:]), [("moved", 0, 0)], id="moved"),
        pytest.param((("K", (0.2, 0.2, 0.2)), *SALT[1:]), [("removed", 0, None), ("added", None, 0)], id="replaced"),
        pytest.param((), [("removed", k, None) for k in range(4)], id="emptied"),
        pytest.param((*SALT, SALT[0]), [("added", None, 4)], id="doubled-site"),
    ],
)  # fmt: skip
def test_each_kind_of_change(second, expected):
    assert found(diff_sites(crystal(*SALT), crystal(*second))) == expected


def test_nothing_becomes_something():
    assert found(diff_sites(crystal(), crystal(SALT[0]))) == [("added", None, 0)]


def test_a_swap_names_both_sites():
    swapped = ACTIONS["swap"].apply(crystal(*SALT), {"index": 0, "other": 3})
    first, second = diff_sites(crystal(*SALT), swapped).changes
    assert first.kind is second.kind is ChangeKind.SWAPPED
    assert (first.first, first.partner, second.first, second.partner) == (0, 3, 3, 0)
    assert (first.species, first.new_species) == ("Na", "Cl")


def test_three_elements_in_a_ring_are_no_swap():
    ring = [("Na", (0.0, 0, 0)), ("Cl", (0.3, 0, 0)), ("K", (0.6, 0, 0))]
    turned = [("Cl", (0.0, 0, 0)), ("K", (0.3, 0, 0)), ("Na", (0.6, 0, 0))]
    assert {change.kind for change in diff_sites(crystal(*ring), crystal(*turned)).changes} == {ChangeKind.CHANGED}


def test_a_move_across_a_face_is_short():
    moved = crystal(("Na", (0.9, 0.0, 0.95)), *SALT[1:])
    (change,) = diff_sites(crystal(*SALT), moved).changes
    np.testing.assert_allclose(change.vector, (-0.6, 0.0, -0.3))
    assert change.distance == pytest.approx(0.6708, abs=1e-4)


def test_distances_in_an_oblique_cell_are_those_of_the_nearest_image():
    rng = np.random.default_rng(0)
    first = Crystal(OBLIQUE, ("Na",), rng.random((1, 3)))
    shifts = np.array(np.meshgrid(*[range(-4, 5)] * 3)).reshape(3, -1).T
    for _ in range(50):
        second = first.replaced(frac=rng.random((1, 3)))
        explicit = np.linalg.norm((second.frac - first.frac + shifts) @ first.matrix, axis=1).min()
        (change,) = diff_sites(first, second, tolerance=0.0).changes
        assert change.distance == pytest.approx(explicit, abs=1e-9)
        assert np.linalg.norm(change.vector) == pytest.approx(explicit, abs=1e-9)


def test_deuterium_is_hydrogen():
    assert diff_sites(crystal(("H", (0, 0, 0))), crystal(("D", (0, 0, 0)))).empty


def test_a_supercell_is_counted_and_its_factors_named():
    diff = diff_sites(crystal(*SALT), ACTIONS["super_cell"].apply(crystal(*SALT), {"factors": [2, 1, 3]}))
    assert (diff.same_cell, diff.paired, diff.factors) == (False, False, (2, 1, 3))
    assert (diff.counts["Na"], diff.new_counts["Na"]) == (2, 12)
    assert diff.sites == ()
    assert not diff.empty


def test_another_cell_is_no_supercell():
    diff = diff_sites(crystal(*SALT), crystal(*SALT, cell=(6.0, 6.0, 9.0, 90.0, 90.0, 90.0)))
    assert (diff.same_cell, diff.factors) == (False, None)


def test_too_many_sites_are_counted():
    crowd = Crystal(CUBE, ("Na",) * (PAIRED_SITES + 1), np.random.default_rng(0).random((PAIRED_SITES + 1, 3)))
    diff = diff_sites(crystal(*SALT), crowd)
    assert diff.same_cell
    assert not diff.paired


def test_by_index_tells_the_edit_and_else_how_far_two_crystals_are():
    first = crystal(("Na", (0.0, 0.0, 0.0)), ("Na", (0.3, 0.0, 0.0)))
    crossed = crystal(("Na", (0.3, 0.1, 0.0)), ("Na", (0.0, 0.1, 0.0)))
    edit, difference = diff_sites(first, crossed, by_index=True), diff_sites(first, crossed)
    assert [change.distance for change in edit.changes] == pytest.approx([1.897, 1.897], abs=1e-3)
    assert [change.distance for change in difference.changes] == pytest.approx([0.6, 0.6])


def test_the_diff_of_a_task_is_empty_exactly_when_the_strict_profile_says_right(small_tasks):
    for task in small_tasks.values():
        for answer in (task.crystal, task.target_crystal):
            pair = (Arrangement(each.cell, each.species, each.frac) for each in (answer, task.target_crystal))
            right = compare_strict(*pair).stage == "correct"
            assert diff_sites(task.target_crystal, answer).empty is right


@pytest.mark.parametrize("cell", [(15.0, 15.0, 15.0, 90.0, 90.0, 90.0), (15.0, 18.0, 20.0, 70.0, 60.0, 110.0)])
def test_four_hundred_sites_are_quick(cell):
    rng = np.random.default_rng(0)
    first = Crystal(cell, ("Na", "Cl") * 200, rng.random((400, 3)))
    second = first.replaced(frac=rng.random((400, 3)))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        diff_sites(first, second)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.3
