"""Which element an added or changed atom becomes."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from atomworld_env.actions.element_choice import PLACES_PER_ELEMENT, element_then_place
from atomworld_env.structures.contacts import covalent_radius

# By covalent radius in Å: H .31, O .66, C .76, Fe 1.32, Na 1.66, Cs 2.44.
ELEMENTS = ("C", "Cs", "Fe", "H", "Na", "O")


def pairs(room, count, seed=0, elements=ELEMENTS):
    places = iter(range(10**9))
    stream = element_then_place(lambda: next(places), lambda place: room, np.random.default_rng(seed), elements)
    return list(islice(stream, count))


def test_the_first_element_is_offered_a_hundred_places():
    assert PLACES_PER_ELEMENT == 100
    first = pairs(0.8, 100)
    assert len({element for element, _ in first}) == 1
    assert [place for _, place in first] == list(range(100))


def test_the_first_element_is_drawn_evenly_whatever_fits():
    first = Counter(pairs(0.0, 1, seed)[0][0] for seed in range(1200))
    assert set(first) == set(ELEMENTS)
    assert min(first.values()) > 150


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        pytest.param(9.0, {"Fe", "Na", "Cs"}, id="all fit: the three largest"),
        pytest.param(1.7, {"C", "Fe", "Na"}, id="five fit: the three largest of them"),
        pytest.param(0.8, {"O", "C"}, id="three fit: the two largest of them"),
        pytest.param(0.7, {"O"}, id="two fit: the larger"),
        pytest.param(covalent_radius("H"), {"H"}, id="one fits exactly"),
        pytest.param(0.3, {"H"}, id="none fits: the smallest is offered and refused by the contact rule"),
        pytest.param(-0.5, {"H"}, id="no room at all"),
    ],
)
def test_then_the_place_comes_first_and_the_larger_half_of_what_fits_is_drawn(room, expected):
    later = pairs(room, 500)[PLACES_PER_ELEMENT:]
    counts = Counter(element for element, _ in later)
    assert set(counts) == expected
    assert min(counts.values()) > 0.7 * len(later) / len(expected)


def test_the_order_of_the_elements_given_does_not_matter_later():
    one = pairs(1.7, 300)[PLACES_PER_ELEMENT:]
    other = pairs(1.7, 300, elements=ELEMENTS[::-1])[PLACES_PER_ELEMENT:]
    assert one == other


def test_an_element_without_a_radius_is_named():
    with pytest.raises(ValueError, match=r"^no covalent radius is tabulated for 'Xx'$"):
        pairs(1.0, PLACES_PER_ELEMENT + 1, elements=("H", "Xx"))
