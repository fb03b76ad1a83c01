"""Chemically plausible element replacements for a crystal, and the lattice that goes with them.

Run when the pool is built, never when tasks are sampled.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

from pymatgen.core.bond_valence import BVAnalyzer
from pymatgen.core.periodic_table import Element, Species
from pymatgen.core.structure import Structure
from pymatgen.core.structure_prediction.substitution_probability import SubstitutionProbability
from pymatgen.core.structure_prediction.volume_predictor import DLSVolumePredictor

MIN_PROBABILITY = 0.01
"""Least conditional probability (Hautier et al. 2011, doi:10.1021/ic102031h) of one ion replacing another."""

MIN_JOINT_PROBABILITY = 0.001
"""Least product over all replaced elements: the threshold of pymatgen's own substitution predictor."""

GROUP_SCORE = 0.05
"""Score of a same-group neighbour where ions tell nothing; divided by the number of steps between the two."""

MIN_ELECTRONEGATIVITY_SPREAD = 0.5
"""Oxidation states mean nothing in compounds of more alike elements (bond valences call MoB Mo3+ B3-)."""

VOLUME_TOLERANCE = 0.20
"""The volume predictor is trusted for a parent whose own volume it meets within this fraction."""

NEVER_INTRODUCED = frozenset(
    [
        "H",
        "He",
        "Ne",
        "Ar",
        "Kr",
        "Xe",
        "Rn",
        "Tc",
        "Pm",
        "Po",
        "At",
        "Fr",
        "Ra",
        "Ac",
        "Pa",
        "Np",
        "Pu",
        "Am",
        "Cm",
    ]
)
"""Elements that no replacement brings in: hydrogen, noble gases, what is too radioactive for crystals."""


@dataclass(frozen=True)
class Substitution:
    """Replace elements one for one and scale the lattice evenly.

    Attributes:
        replacements: pairs (old, new), in the order of the parent's elements.
        rule: `ion` if every replacement rests on oxidation states, else `group`.
        score: product of the conditional probabilities, or of the same-group scores.
        length_scale: factor on a, b and c.
    """

    replacements: tuple[tuple[str, str], ...]
    rule: str
    score: float
    length_scale: float

    @property
    def label(self) -> str:
        """`Ca>Sr+Ti>Zr`"""
        return "+".join(f"{old}>{new}" for old, new in self.replacements)


@cache
def _probabilities() -> SubstitutionProbability:
    return SubstitutionProbability()  # type: ignore[no-untyped-call]


def oxidation_states(structure: Structure) -> dict[str, int]:
    """The oxidation state of each element that has a single whole one, empty where no assignment is found.

    Bond valences first (they cover about half of the prototypes), charge balance over common states
    otherwise. Empty for elements and intermetallics, by :data:`MIN_ELECTRONEGATIVITY_SPREAD`.
    """
    electronegativities = [element.X for element in structure.composition]
    if not max(electronegativities) - min(electronegativities) >= MIN_ELECTRONEGATIVITY_SPREAD:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            valences = BVAnalyzer().get_valences(structure)  # type: ignore[no-untyped-call]
        except ValueError:
            guesses = structure.composition.oxi_state_guesses(max_sites=-1)
            found = {symbol: {float(state)} for symbol, state in guesses[0].items()} if guesses else {}
        else:
            found = {}
            for site, valence in zip(structure, valences, strict=True):
                found.setdefault(site.specie.symbol, set()).add(float(valence))
    single = {symbol: states.pop() for symbol, states in found.items() if len(states) == 1}
    return {symbol: int(state) for symbol, state in single.items() if state and state.is_integer()}


def ion_replacements(symbol: str, state: int) -> dict[str, float] | None:
    """Elements that replace an ion of equal charge, with their probabilities; None for an unknown ion."""
    table = _probabilities()
    ion = Species(symbol, state)
    if ion not in table.species:
        return None
    # Rounded, because the table sums over a set: the last digits differ from one process to the next.
    scores = {
        other.symbol: round(table.cond_prob(other, ion), 6)  # type: ignore[no-untyped-call]
        for other in table.species
        if other.oxi_state == state and other.symbol != symbol
    }
    return {other: score for other, score in scores.items() if score >= MIN_PROBABILITY}


def group_replacements(symbol: str) -> dict[str, float]:
    """Elements of the same group (lanthanides: the whole row), scored by how few steps lie between."""
    element = Element(symbol)
    if symbol == "H" or element.is_actinoid:
        return {}
    scores = {}
    for other in Element:
        if other is element or other.Z > 83 or other.is_lanthanoid != element.is_lanthanoid:
            continue
        if element.is_lanthanoid:
            steps = abs(other.Z - element.Z)
        elif other.group == element.group:
            steps = abs(other.row - element.row)
        else:
            continue
        score = round(GROUP_SCORE / steps, 6)
        if score >= MIN_PROBABILITY:
            scores[other.symbol] = score
    return scores


def _options(structure: Structure) -> dict[str, tuple[str, dict[str, float]]]:
    """For each element: the rule used, and what may take its place with which score."""
    states = oxidation_states(structure)
    present = {element.symbol for element in structure.composition}
    options = {}
    for symbol in sorted(present):
        by_ion = ion_replacements(symbol, states[symbol]) if symbol in states else None
        rule, scores = ("group", group_replacements(symbol)) if by_ion is None else ("ion", by_ion)
        allowed = {
            other: score
            for other, score in scores.items()
            if other not in present and other not in NEVER_INTRODUCED and Element(other).Z <= 96
        }
        options[symbol] = (rule, allowed)
    return options


def predicted_volume_ratio(structure: Structure) -> float | None:
    """Predicted over actual volume; None where no bonds are found or a limit (×0.5, ×1.5) is hit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ratio = DLSVolumePredictor().predict(structure) / structure.volume  # type: ignore[no-untyped-call]
        except ValueError:
            return None
    return float(ratio) if 0.501 < ratio < 1.499 else None


def substitutions(structure: Structure, limit: int) -> list[Substitution]:
    """The most plausible replacements for a structure, best first, at most `limit`.

    Empty where the volume predictor misses the parent's own volume by more than :data:`VOLUME_TOLERANCE`. The
    lattice is scaled by predicted volume over the parent's predicted volume, so that the predictor's error on
    the parent is not carried into its descendants.
    """
    parent_ratio = predicted_volume_ratio(structure)
    if parent_ratio is None or abs(parent_ratio - 1) > VOLUME_TOLERANCE:
        return []
    options = _options(structure)
    symbols = list(options)
    candidates = []
    for chosen in product(*({symbol: 1.0, **options[symbol][1]}.items() for symbol in symbols)):
        replaced = [(old, new, score) for old, (new, score) in zip(symbols, chosen, strict=True) if new != old]
        news = [new for _, new, _ in replaced]
        score = round(prod(score for *_, score in replaced), 9)
        if replaced and len(set(news)) == len(news) and score >= MIN_JOINT_PROBABILITY:
            rule = "ion" if all(options[old][0] == "ion" for old, *_ in replaced) else "group"
            candidates.append((-score, tuple((old, new) for old, new, _ in replaced), rule))
    found: list[Substitution] = []
    for negative_score, replacements, rule in sorted(candidates):
        if len(found) == limit:
            break
        replaced_structure = structure.copy()
        replaced_structure.replace_species(dict(replacements))
        ratio = predicted_volume_ratio(replaced_structure)
        if ratio is not None:
            found.append(Substitution(replacements, rule, -negative_score, (ratio / parent_ratio) ** (1 / 3)))
    return found
