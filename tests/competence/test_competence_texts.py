"""The shipped texts, and how they are cut into sentences."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from atomworld_env.competence import texts
from atomworld_env.competence.texts import (
    MOST_CHARACTERS,
    OPENINGS,
    TEXTS,
    elements_of_sites,
    fault_of,
    sentences,
    stored_descriptions,
)
from atomworld_env.structures.pool import default_pool

TEXT = (
    "CuS is Covellite structured and crystallizes in the hexagonal P6_3/mmc space group. There are two inequivalent Cu "
    "sites. In the first Cu site, Cu(1) is bonded in a trigonal planar geometry to three equivalent S(1) atoms. All "
    "Cu(1)-S(1) bond lengths are 2.30 Å. In the second Cu site, Cu(2) is bonded to one S(1) and three equivalent S(2) "
    "atoms to form CuS4 tetrahedra. The Cu(2)-S(1) bond length is 2.34 Å. There are two shorter (2.05 Å) and two "
    "longer (2.12 Å) Cu(2)-S(2) bond lengths. S(1,1) is bonded in a linear geometry to two equivalent Cu(1) atoms."
)


def test_a_text_is_cut_at_its_full_stops() -> None:
    found = sentences(TEXT)
    assert [(sentence.kind, sentence.opening) for sentence in found] == [
        (None, None),
        (None, None),
        ("bonding", "first site"),
        ("lengths", "all"),
        ("bonding", "second site"),
        ("lengths", "one"),
        ("lengths", "shorter and longer"),
        ("bonding", "only site"),
    ]
    assert " ".join(sentence.text for sentence in found) == TEXT
    assert all(TEXT[sentence.start : sentence.end] == sentence.text for sentence in found)


def test_the_elements_of_sites() -> None:
    assert elements_of_sites(TEXT) == {"Cu", "S"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (TEXT, None),
        (TEXT * 4, "longer than"),
        ("A. B. C.", "fewer than"),
        (TEXT.replace("Cu(1) is", "Cu(1)  is"), "a slip"),
        ("A. There are b. There are c. There are d.", "no sentence"),
    ],
)
def test_faults(text: str, fault: str | None) -> None:
    found = fault_of(text)
    assert found is None if fault is None else str(found).startswith(fault)


def test_there_are_600_texts_without_a_fault() -> None:
    stored = stored_descriptions()
    assert len(stored) == TEXTS == 600
    assert [fault_of(description.text) for description in stored] == [None] * TEXTS
    assert max(len(description.text) for description in stored) <= MOST_CHARACTERS
    assert len({description.text for description in stored}) == TEXTS


def test_the_crystals_are_those_of_the_pool_and_varied() -> None:
    stored = stored_descriptions()
    entries = [default_pool().entry(description.structure_id) for description in stored]
    assert [(entry.family, entry.split) for entry in entries] == [(each.family, each.split) for each in stored]
    per_family = Counter(entry.family for entry in entries)
    assert len(per_family) >= 150
    assert max(per_family.values()) <= 6
    assert len({element for entry in entries for element in entry.elements}) >= 70


def test_each_text_names_the_elements_of_its_crystal_and_no_others() -> None:
    """Against the pool, and not the text: the describer was given the right crystal."""
    for description in stored_descriptions():
        elements = set(default_pool().entry(description.structure_id).elements)
        formula = description.text.split(" ")[0]
        assert set(re.findall(r"[A-Z][a-z]?", formula)) == elements
        assert elements_of_sites(description.text) <= elements


def test_sentences_of_all_openings_occur() -> None:
    found = Counter(
        (sentence.kind, sentence.opening)
        for description in stored_descriptions()
        for sentence in sentences(description.text)
    )
    for kind, openings in OPENINGS.items():
        for opening in openings:
            assert found[kind, opening] >= 50, (kind, opening)


@pytest.mark.parametrize("content", [None, b"", b"no gzip"])
def test_a_broken_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "texts.jsonl.gz"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(texts, "TEXTS_FILE", path)
    with pytest.raises(ValueError, match=r"texts\.jsonl\.gz cannot be read [^\n]+build_texts`$"):
        stored_descriptions.__wrapped__()
