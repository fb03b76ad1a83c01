"""How far scores without a language model tell the texts of chemical competence from their twins.

    python -m benchmarks.competence_floors

Prints Cohen's d and the share of pairs with the true text preferred, for both suites.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from math import log

from ase.data import atomic_numbers, covalent_radii

from atomworld_env.competence.effect import effect_of
from atomworld_env.competence.pairs import SUITES, Pair, load_pairs
from atomworld_env.competence.summary import interval_text

_WORD = re.compile(r"[A-Z][a-z]?(?=\()|\(\d+(?:,\d+)*\)|\d+\.\d+|\w+|[^\w\s]")
_LENGTH = re.compile(r"\d+\.\d\d")
_SITE_ELEMENT = re.compile(r"\b([A-Z][a-z]?)\(\d")

Score = Callable[[Pair, bool], float]


def words(text: str) -> list[str]:
    """Words, numbers and marks; a site ``Na(1)`` is two words."""
    return _WORD.findall(text)


def shortness(pair: Pair, true: bool) -> float:
    """The shorter text is the true one."""
    return -float(len(pair.text(true)))


def no_foreign_element(pair: Pair, true: bool) -> float:
    """Elements of sites in the changed sentence that the formula, the first word of the text, has not."""
    formula = set(re.findall(r"[A-Z][a-z]?", pair.before.split(" ")[0]))
    return -float(len(set(_SITE_ELEMENT.findall(pair.sentence if true else pair.foreign)) - formula))


def word_frequency(pairs: tuple[Pair, ...], whole: bool) -> Score:
    """Mean log-likelihood of the words, by how often each occurs in the true texts of the suite."""
    counts = Counter(word for pair in pairs for word in words(pair.text(True)))
    total = sum(counts.values()) + len(counts)

    def score(pair: Pair, true: bool) -> float:
        text = pair.text(true) if whole else (pair.sentence if true else pair.foreign)
        found = [log((counts[word] + 1) / total) for word in words(text)]
        return sum(found) / len(found)

    return score


def repetition(pairs: tuple[Pair, ...], whole: bool) -> Score:
    """Mean log-likelihood of the words, by how often each has occurred in this text before, one added to all."""
    vocabulary = len({word for pair in pairs for word in words(pair.text(True))})

    def score(pair: Pair, true: bool) -> float:
        first = len(words(pair.before))
        last = first + len(words(pair.sentence if true else pair.foreign))
        seen: Counter[str] = Counter()
        found = []
        for number, word in enumerate(words(pair.text(true))):
            if whole or first <= number < last:
                found.append(log((seen[word] + 1) / (number + vocabulary)))
            seen[word] += 1
        return sum(found) / len(found)

    return score


def like_the_others(pair: Pair, true: bool) -> float:
    """How near the changed length lies to the mean of the other lengths in the text."""
    others = [float(number) for number in _LENGTH.findall(pair.before + pair.after)]
    (length,) = _LENGTH.findall(pair.sentence if true else pair.foreign)
    return -abs(float(length) - sum(others) / len(others)) if others else 0.0


def sum_of_radii(pair: Pair, true: bool) -> float:
    """How near the changed length lies to the sum of the covalent radii of its two elements."""
    sentence = pair.sentence if true else pair.foreign
    (length,) = _LENGTH.findall(sentence)
    radii = sum(float(covalent_radii[atomic_numbers[symbol]]) for symbol in _SITE_ELEMENT.findall(sentence))
    return -abs(float(length) - radii)


def floors(suite: str) -> Mapping[str, Score]:
    """The scores for a suite, by name."""
    pairs = load_pairs(suite)
    found: dict[str, Score] = {
        "shorter text": shortness,
        "no foreign element": no_foreign_element,
        "word frequency, all words": word_frequency(pairs, whole=True),
        "word frequency, changed sentence": word_frequency(pairs, whole=False),
        "words repeated, all words": repetition(pairs, whole=True),
        "words repeated, changed sentence": repetition(pairs, whole=False),
    }
    if suite == "competence-lengths":
        found |= {"a length like the others": like_the_others, "a length like the sum of radii": sum_of_radii}
    return found


def main() -> None:
    print("| suite | score | d [95 %] | true preferred |\n|---|---|---|---|")
    for suite in SUITES:
        pairs = load_pairs(suite)
        for name, score in floors(suite).items():
            true, false = ([score(pair, which) for pair in pairs] for which in (True, False))
            effect = effect_of(true, false, [pair.family for pair in pairs])
            print(f"| `{suite}`, {len(pairs)} | {name} | {interval_text(effect)} | {effect.preferred} |")


if __name__ == "__main__":
    main()
