"""The twins: false for certain, alike in form, and their sentences the same as those of the true texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from atomworld_env.competence.pairs import (
    LENGTHS_SUITE,
    SUITE,
    Pair,
    fingerprint,
    load_pairs,
    make_length_pairs,
    make_pairs,
)
from atomworld_env.competence.texts import stored_descriptions
from atomworld_env.structures.pool import default_pool

LABEL = re.compile(r"([A-Z][a-z]?)\(\d[\d,]*\)")
"""A site, written down a second time and not taken from the module."""


@pytest.fixture(scope="module")
def pairs() -> tuple[Pair, ...]:
    return load_pairs(SUITE)


@pytest.fixture(scope="module")
def length_pairs() -> tuple[Pair, ...]:
    return load_pairs(LENGTHS_SUITE)


def opening(sentence: str) -> str:
    """The words before and after the first site, elements left out: what a reader sees of a sentence's form."""
    words = sentence.split(" ")
    return " ".join("X" if re.match(r"[A-Z][a-z]?(\(|$)", word) else word for word in words[:3])


@pytest.mark.parametrize(("suite", "expected"), [(SUITE, "3abdee5780ea1ac2"), (LENGTHS_SUITE, "6a7bae69193925c8")])
def test_the_fingerprints(suite: str, expected: str) -> None:
    assert fingerprint(load_pairs(suite)) == expected


def test_the_suite_has_one_pair_of_each_crystal(pairs: tuple[Pair, ...]) -> None:
    assert len(pairs) == 600
    assert [pair.text(True) for pair in pairs] == [description.text for description in stored_descriptions()]
    assert min(Counter(pair.kind for pair in pairs).values()) >= 250


def test_one_sentence_differs_and_never_the_first(pairs: tuple[Pair, ...], length_pairs: tuple[Pair, ...]) -> None:
    for pair in (*pairs, *length_pairs):
        true, false = pair.text(True), pair.text(False)
        assert true.split() != false.split()
        assert pair.before.endswith(". ")
        assert pair.after == "" or pair.after.startswith(" ")
        assert true.removeprefix(pair.before).removesuffix(pair.after) == pair.sentence
        assert false.removeprefix(pair.before).removesuffix(pair.after) == pair.foreign
        start, end = pair.changed(False)
        assert false[start:end] == pair.foreign


def test_the_foreign_sentence_names_an_element_that_the_crystal_has_not(pairs: tuple[Pair, ...]) -> None:
    """So it is false, whatever it says; the elements are the pool's, not the text's."""
    for pair in pairs:
        elements = set(default_pool().entry(pair.structure_id).elements)
        assert set(LABEL.findall(pair.foreign)) - elements
        assert set(LABEL.findall(pair.sentence)) <= elements


def test_the_foreign_sentence_is_a_true_one_of_another_family(pairs: tuple[Pair, ...]) -> None:
    texts = {description.structure_id: description for description in stored_descriptions()}
    for pair in pairs:
        assert pair.foreign in texts[pair.source].text
        assert texts[pair.source].family != pair.family


def test_true_and_false_sentences_are_the_same_sentences(pairs: tuple[Pair, ...]) -> None:
    """Of each kind and opening: whatever a sentence has by itself cannot tell which is false."""
    true = Counter((pair.kind, opening(pair.sentence), pair.sentence) for pair in pairs)
    false = Counter((pair.kind, opening(pair.foreign), pair.foreign) for pair in pairs)
    assert true == false


def test_a_sentence_and_its_stand_in_begin_alike_and_are_of_like_length(pairs: tuple[Pair, ...]) -> None:
    alike = [opening(pair.sentence).split(" ")[:2] == opening(pair.foreign).split(" ")[:2] for pair in pairs]
    assert sum(alike) >= 0.97 * len(pairs)  # "There is" and "There are" stand in for one another
    apart = sorted(abs(len(pair.sentence) - len(pair.foreign)) for pair in pairs)
    assert apart[len(apart) // 2] <= 3
    assert sum(apart) / len(apart) <= 6


def test_only_the_length_of_a_bond_is_changed_in_the_control(length_pairs: tuple[Pair, ...]) -> None:
    number = re.compile(r"\d+\.\d\d")
    assert len(length_pairs) >= 450
    for pair in length_pairs:
        assert number.sub("#", pair.sentence) == number.sub("#", pair.foreign)
        (true,), (false,) = number.findall(pair.sentence), number.findall(pair.foreign)
        assert abs(float(true) - float(false)) >= 0.3 - 1e-9
    lengths = [
        Counter(number.findall(sentence)[0] for sentence in column)
        for column in ([pair.sentence for pair in length_pairs], [pair.foreign for pair in length_pairs])
    ]
    assert lengths[0] == lengths[1]


def test_the_true_length_is_that_of_the_crystal(length_pairs: tuple[Pair, ...]) -> None:
    """Some two atoms of these elements are that far apart, and none is as far apart as the twin says at that place."""
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    for pair in length_pairs[:25]:
        crystal = default_pool().entry(pair.structure_id).crystal
        structure = Structure(Lattice.from_parameters(*crystal.cell), crystal.species, crystal.frac)
        (true,) = re.findall(r"\d+\.\d\d", pair.sentence)
        first, second = LABEL.findall(pair.sentence)
        centres, others, _, distances = structure.get_neighbor_list(float(true) + 0.1)
        found = [
            distance
            for centre, other, distance in zip(centres, others, distances, strict=True)
            if (crystal.species[centre], crystal.species[other]) == (first, second)
        ]
        assert min(abs(distance - float(true)) for distance in found) <= 0.011


def test_the_first_of_each_kind() -> None:
    few = load_pairs(SUITE, 5)
    assert Counter(pair.kind for pair in few) == {"bonding": 5, "lengths": 5}
    assert set(few) <= set(load_pairs(SUITE))


def test_another_seed_makes_other_twins_of_the_same_texts(pairs: tuple[Pair, ...]) -> None:
    others = make_pairs(stored_descriptions(), seed=1)
    assert [pair.text(True) for pair in others] == [pair.text(True) for pair in pairs]
    assert fingerprint(others) != fingerprint(pairs)
    assert make_pairs(stored_descriptions()) == pairs
    assert fingerprint(make_length_pairs(stored_descriptions(), seed=1)) != fingerprint(load_pairs(LENGTHS_SUITE))


def test_crystals_of_one_family_have_no_twins() -> None:
    alike = [replace(description, family="one") for description in stored_descriptions()[:20]]
    with pytest.raises(ValueError, match="no permutation"):
        make_pairs(alike)


def test_an_unknown_suite() -> None:
    with pytest.raises(ValueError, match=r"^unknown suite 'x'; choose one of competence, competence-lengths$"):
        load_pairs("x")
