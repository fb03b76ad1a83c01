"""The suites: each crystal's text and its false twin, in which one sentence is another.

What stands in for the sentences of a class is a permutation of those same sentences. So nothing that a sentence
carries by itself, neither its length nor its words nor its numbers, can tell the true texts from the false ones: over a
suite both have the same. Only how it goes with the rest of its text can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from types import MappingProxyType

import numpy as np
from scipy.optimize import linear_sum_assignment

from atomworld_env.competence.texts import Description, Sentence, elements_of_sites, sentences, stored_descriptions
from atomworld_env.errors import UsageError

SEED = 0
SUITE = "competence"
LENGTHS_SUITE = "competence-lengths"

LEAST_DIFFERENCE = 0.3
"""Å between a bond length and the false one."""
_ONE_LENGTH = re.compile(r"(?P<words>bond lengths? (?:is|are) )(?P<length>\d+\.\d\d)(?= Å\.$)")
_FORBIDDEN = 1e6  # more than all other costs together


@dataclass(frozen=True)
class Pair:
    """A true text, and the same with one sentence that is false.

    Attributes:
        pair_id: of the suite and the crystal.
        structure_id, family, split: of the crystal, as in the pool.
        kind: of the sentence.
        before, after: the text around it, the blanks included.
        sentence: the true one.
        foreign: the false one.
        source: structure_id of the crystal that it, or its number, comes from.
    """

    pair_id: str
    structure_id: str
    family: str
    split: str
    kind: str
    before: str
    sentence: str
    foreign: str
    after: str
    source: str

    def text(self, true: bool) -> str:
        """The true text or its twin."""
        return self.before + (self.sentence if true else self.foreign) + self.after

    def changed(self, true: bool) -> tuple[int, int]:
        """Where the changed sentence begins and ends in :meth:`text`, in characters."""
        return len(self.before), len(self.before) + len(self.sentence if true else self.foreign)


def make_pairs(descriptions: Sequence[Description], seed: int = SEED) -> tuple[Pair, ...]:
    """One pair for each crystal: a sentence of another one, of the same kind and opening and of like length.

    The sentence is drawn among those after the first, which names the formula and which all else depends on; half of
    them are on bonding and half on bond lengths. That the foreign one is false is certain: it names a site of an
    element that the crystal has not. It comes from another prototype family.

    Raises:
        ValueError: if there is no such permutation of the sentences.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    chosen = [_drawn(description, rng) for description in descriptions]
    own = [elements_of_sites(description.text) for description in descriptions]
    foreign = [0] * len(chosen)
    for members in _classes([(sentence.kind, sentence.opening) for sentence in chosen]).values():
        lengths = np.array([len(chosen[k].text) for k in members], dtype=float)

        def allowed(place: int, source: int, members: list[int] = members) -> bool:
            k, j = members[place], members[source]
            different = descriptions[k].family != descriptions[j].family
            return different and not elements_of_sites(chosen[j].text) <= own[k]

        for k, j in zip(members, _permutation(np.abs(lengths[:, None] - lengths), allowed, rng), strict=True):
            foreign[k] = members[j]
    return tuple(
        _pair(SUITE, description, sentence, chosen[source].text, descriptions[source])
        for description, sentence, source in zip(descriptions, chosen, foreign, strict=True)
    )


def make_length_pairs(descriptions: Sequence[Description], seed: int = SEED) -> tuple[Pair, ...]:
    """A harder control: the crystal's own sentence on one bond length, with the length of a bond of another crystal.

    No foreign element gives it away. That it is false is certain: the two lengths differ by
    :data:`LEAST_DIFFERENCE`, and the sentence speaks of all bonds between the two sites. Crystals without such a
    sentence are left out.

    Raises:
        ValueError: if there is no such permutation of the lengths.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    kept: list[tuple[Description, Sentence]] = []
    for description in descriptions:
        found = [sentence for sentence in sentences(description.text)[1:] if _ONE_LENGTH.search(sentence.text)]
        if found:
            kept.append((description, found[int(rng.integers(len(found)))]))
    numbers = [match["length"] for _, sentence in kept if (match := _ONE_LENGTH.search(sentence.text))]
    lengths = np.array([float(number) for number in numbers])

    def allowed(place: int, source: int) -> bool:
        # A hundredth is the unit: rounded, so that no machine takes 0.30 for less.
        apart = round(100 * abs(lengths[place] - lengths[source])) >= round(100 * LEAST_DIFFERENCE)
        return apart and kept[place][0].family != kept[source][0].family

    sources = _permutation(np.zeros((len(kept), len(kept))), allowed, rng)
    return tuple(
        _pair(
            LENGTHS_SUITE,
            description,
            sentence,
            _ONE_LENGTH.sub(rf"\g<words>{numbers[source]}", sentence.text),
            kept[source][0],
        )
        for (description, sentence), source in zip(kept, sources, strict=True)
    )


SUITES: Mapping[str, Callable[[Sequence[Description]], tuple[Pair, ...]]] = MappingProxyType(
    {SUITE: make_pairs, LENGTHS_SUITE: make_length_pairs}
)
"""How the pairs of each suite are made."""


@cache
def load_pairs(suite: str, per_kind: int | None = None) -> tuple[Pair, ...]:
    """The pairs of a suite, the same on every machine.

    Args:
        suite: key of :data:`SUITES`.
        per_kind: only the first so many of each kind.

    Raises:
        UsageError: if there is no such suite.
    """
    if suite not in SUITES:
        raise UsageError(f"unknown suite {suite!r}; choose one of {', '.join(SUITES)}")
    taken: dict[str, int] = {}
    kept = []
    for pair in SUITES[suite](stored_descriptions()):
        taken[pair.kind] = taken.get(pair.kind, 0) + 1
        if per_kind is None or taken[pair.kind] <= per_kind:
            kept.append(pair)
    return tuple(kept)


def pair_line(pair: Pair) -> str:
    """The pair as one line of JSON."""
    return json.dumps(asdict(pair), ensure_ascii=False)


def fingerprint(pairs: Sequence[Pair]) -> str:
    """SHA-256 over the lines of the pairs, first 16 hex digits."""
    return sha256("".join(pair_line(pair) + "\n" for pair in pairs).encode()).hexdigest()[:16]


def _drawn(description: Description, rng: np.random.Generator) -> Sentence:
    kind = ("bonding", "lengths")[int(rng.integers(2))]
    found = [sentence for sentence in sentences(description.text)[1:] if sentence.kind == kind]
    return found[int(rng.integers(len(found)))]


def _classes(keys: Sequence[tuple[str | None, str | None]]) -> dict[tuple[str | None, str | None], list[int]]:
    classes: dict[tuple[str | None, str | None], list[int]] = {}
    for number, key in enumerate(keys):
        classes.setdefault(key, []).append(number)
    return classes


def _permutation(cost: np.ndarray, allowed: Callable[[int, int], bool], rng: np.random.Generator) -> list[int]:
    """For each place its source: the allowed permutation of least cost, chance deciding between like ones."""
    size = len(cost)
    forbidden = np.array([[not allowed(place, source) for source in range(size)] for place in range(size)])
    _, sources = linear_sum_assignment(cost + 4 * rng.random((size, size)) + _FORBIDDEN * forbidden)
    if forbidden[np.arange(size), sources].any():
        raise ValueError("no permutation of the sentences makes every twin false")
    return [int(source) for source in sources]


def _pair(suite: str, description: Description, sentence: Sentence, foreign: str, source: Description) -> Pair:
    text = description.text
    return Pair(
        f"{suite}-{description.structure_id}", description.structure_id, description.family, description.split,
        str(sentence.kind), text[: sentence.start], sentence.text, foreign, text[sentence.end :], source.structure_id,
    )  # fmt: skip
