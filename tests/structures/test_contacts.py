"""The contact rule: 0.7 of the sum of covalent radii."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.data import atomic_numbers, chemical_symbols, covalent_radii
from ase.neighborlist import neighbor_list

from atomworld_env.structures.contacts import (
    CONTACT_FACTOR,
    HEAVIEST_WITH_RADIUS,
    covalent_radius,
    room_at,
    smallest_contact_ratio,
)
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import default_pool


def box(*sites, edge=10.0):
    species, places = zip(*sites, strict=True)
    return Crystal((edge, edge, edge, 90.0, 90.0, 90.0), species, np.array(places) / edge)


def test_radii_are_those_of_ase_as_far_as_they_are_tabulated():
    assert atomic_numbers["Cm"] == HEAVIEST_WITH_RADIUS
    for number in range(1, HEAVIEST_WITH_RADIUS + 1):
        assert covalent_radius(chemical_symbols[number]) == covalent_radii[number]


@pytest.mark.parametrize(
    "symbol", [pytest.param("Bk", id="filled in by ASE"), pytest.param("X", id="dummy"), pytest.param("", id="empty")]
)
def test_an_element_without_a_radius_is_refused_in_one_line(symbol):
    with pytest.raises(ValueError, match=rf"^no covalent radius is tabulated for '{symbol}'$"):
        covalent_radius(symbol)


def test_ratio_of_a_pair_by_hand():
    # Na 1.66 + Cl 1.02 = 2.68 Å.
    ratio, first, second = smallest_contact_ratio(box(("Na", (0, 0, 0)), ("Cl", (1.34, 0, 0))))
    assert ratio == pytest.approx(0.5)
    assert {first, second} == {0, 1}


def test_an_image_across_the_boundary_counts():
    ratio, _, _ = smallest_contact_ratio(box(("Na", (0, 0, 0)), ("Cl", (8.66, 0, 0))))
    assert ratio == pytest.approx(0.5)


def test_the_own_image_counts():
    # One Na in a cube of 1.66 Å: half of 2 × 1.66 Å away from itself.
    ratio, first, second = smallest_contact_ratio(box(("Na", (0, 0, 0)), edge=1.66))
    assert (ratio, first, second) == (pytest.approx(0.5), 0, 0)


def test_two_atoms_on_one_place_have_a_ratio_of_zero():
    assert smallest_contact_ratio(box(("Na", (0, 0, 0)), ("Cl", (0, 0, 0))))[0] == 0.0


def test_only_contacts_of_the_judged_sites_count():
    crystal = box(("Na", (0, 0, 0)), ("Cl", (1, 0, 0)), ("O", (5, 5, 5)))
    assert smallest_contact_ratio(crystal, [2])[0] > CONTACT_FACTOR
    assert smallest_contact_ratio(crystal, [2, 1])[0] < CONTACT_FACTOR
    assert smallest_contact_ratio(crystal)[0] < CONTACT_FACTOR


@pytest.mark.parametrize(
    ("distance", "allowed"),
    [pytest.param(1.877, True, id="just far enough"), pytest.param(1.875, False, id="just too close")],
)
def test_edge_of_the_rule(distance, allowed):
    # 0.7 · 2.68 = 1.876 Å.
    ratio = smallest_contact_ratio(box(("Na", (0, 0, 0)), ("Cl", (distance, 0, 0))))[0]
    assert (ratio >= CONTACT_FACTOR) is allowed


def ase_ratio(crystal, sites=None):
    """The same from ASE's neighbour list."""
    atoms = Atoms(list(crystal.species), scaled_positions=crystal.frac, cell=crystal.cell, pbc=True)
    radii = covalent_radii[atoms.numbers]
    first, second, distances = neighbor_list("ijd", atoms, 2 * radii.max())
    ratios = distances / (radii[first] + radii[second])
    if sites is not None:
        ratios = ratios[np.isin(first, sites)]
    return ratios.min(initial=np.inf)


def test_ratio_against_the_neighbour_list_of_ase():
    rng = np.random.default_rng(8)
    compared = 0
    for _ in range(200):
        sites = int(rng.integers(1, 9))
        cell = (*rng.uniform(3, 8, 3), *rng.uniform(60, 115, 3))
        crystal = Crystal.printed(cell, tuple(rng.choice(["H", "O", "Na", "Cs"], sites)), rng.random((sites, 3)))
        judged = sorted(rng.choice(sites, int(rng.integers(1, sites + 1)), replace=False).tolist())
        for chosen in (None, judged):
            expected = ase_ratio(crystal, chosen)
            if expected < 1.0:  # pairs farther apart are beyond the search
                assert smallest_contact_ratio(crystal, chosen)[0] == pytest.approx(expected, abs=1e-9)
                compared += 1
            else:
                assert smallest_contact_ratio(crystal, chosen)[0] > CONTACT_FACTOR
    assert compared > 250


def test_room_by_hand():
    # 2 Å from one Na in a wide box: r with 0.7 (r + 1.66) = 2.
    crystal = box(("Na", (0, 0, 0)), edge=20.0)
    assert room_at(crystal, np.array([0.1, 0, 0])) == pytest.approx(2 / 0.7 - 1.66)


def test_room_is_negative_on_top_of_an_atom_unless_it_is_ignored():
    crystal = box(("Na", (0, 0, 0)), edge=20.0)
    assert room_at(crystal, crystal.frac[0]) < 0
    assert room_at(crystal, crystal.frac[0], ignore=0) == pytest.approx(20 / 1.4)


def test_an_atom_just_within_the_room_keeps_the_rule_and_one_just_beyond_breaks_it():
    rng = np.random.default_rng(9)
    by_radius = sorted(chemical_symbols[1 : HEAVIEST_WITH_RADIUS + 1], key=covalent_radius)
    radii = np.array([covalent_radius(symbol) for symbol in by_radius])
    entries = default_pool().entries(None, 2, 20)
    for entry in [entries[k] for k in rng.choice(len(entries), 60, replace=False)]:
        crystal, point = entry.crystal, rng.random(3)
        room = room_at(crystal, point)
        for symbol in (*by_radius[::12], *by_radius[np.searchsorted(radii, room) - 1 :][:2]):
            with_atom = Crystal(crystal.cell, (*crystal.species, symbol), np.vstack([crystal.frac, point]))
            fits = smallest_contact_ratio(with_atom, [len(crystal)])[0] >= CONTACT_FACTOR
            if abs(covalent_radius(symbol) - room) > 1e-9:
                assert fits is (covalent_radius(symbol) < room)
