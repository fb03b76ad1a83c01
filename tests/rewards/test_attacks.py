"""Attacks on verification: one answer of every hostile kind, and properties that no answer may break.

The kinds, their bounds and the independent check are those of ``benchmarks/attack_verifier.py``, which tries a
hundred thousand answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from crystal_texts import CELL, FRAC, SPECIES, cif, tagged
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from atomworld_env.tasks.task import Task
from rewards import Arrangement, Stage, Verdict, extract_cif, prepare_target, reward, verify

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(BENCHMARKS)
    from attack_plan import Job, answer_of, last_digit
    from attack_worker import differences, wrong_rewards
    from hostile_answers import KINDS, Bound, uncut
    from independent_check import is_right

TARGET = prepare_target(cif())
REFERENCE = prepare_target(cif(), engine="reference")
MOVED = prepare_target(cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)]))
OTHER = prepare_target(cif(species=("Na", "Na", "Cl", "S")))
MATRIX = Arrangement(CELL, SPECIES, FRAC).matrix

MOST_SECONDS = 8.0  # of one verification; the dearest takes one second on an idle machine
STABLE = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.parametrize("action", ["move", "remove"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_hostile_kind(
    kind: str,
    action: str,
    small_tasks: dict[str, Task],
    capfd: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    task = small_tasks[action]
    number = last_digit(uncut(task, 0)) + 1 if kind == "cut at or after the last digit" else 40
    answer = answer_of(Job(kind, 0, number), [task], seed=1)
    recwarn.clear()  # what the writing of the answer warned of
    started = time.process_time()
    verdict = verify(answer, task.target, structure=task.structure)
    assert time.process_time() - started < MOST_SECONDS
    reference = verify(answer, task.target, structure=task.structure, engine="reference")
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
    assert differences(verdict, reference) == []
    found = extract_cif(answer).cif
    right = is_right(found, task.target) if found is not None and verdict.parsable else None
    assert wrong_rewards(verdict, KINDS[kind].bound, *earned(verdict), right) == []


@pytest.mark.parametrize(
    ("answer", "bound", "right", "reason"),
    [
        pytest.param(tagged(cif()), Bound.RIGHT, False, "independent check says wrong", id="right-by-mistake"),
        pytest.param(MOVED.cif, Bound.FAILURE, True, "independent check says right", id="refused-by-mistake"),
        pytest.param(MOVED.cif, Bound.RIGHT, None, "the truth is structure_mismatch", id="truth-refused"),
        pytest.param(MOVED.cif, Bound.NOTHING, False, "where nothing is due", id="credit-for-nothing"),
    ],
)
def test_the_attack_notices_a_wrong_reward(answer: str, bound: Bound, right: bool | None, reason: str) -> None:
    verdict = verify(answer, TARGET, structure=MOVED)
    assert any(reason in text for text in wrong_rewards(verdict, bound, *earned(verdict), right))
    inflated = [text for text in wrong_rewards(verdict, bound, 0.7, 1.0, 0.5, right) if "earns 0.7" in text]
    assert inflated


def test_the_attack_notices_engines_that_differ() -> None:
    one, other = (verify(tagged(text), TARGET) for text in (cif(), MOVED.cif))
    names = {text.split(":")[0] for _, text in differences(one, other)}
    assert {"stage", "verdict_strict", "max_displacement", "sum_displacement"} <= names
    assert differences(one, verify(tagged(cif()), TARGET)) == []


def earned(verdict: Verdict) -> tuple[float, float, float]:
    """Rewards under three schemes."""
    return reward(verdict, "shaped"), reward(verdict, "strict"), reward(verdict, "distance")


def rewarded(answer: object) -> float:
    """The shaped reward of an answer to the task that moves a site, with what is true of every answer."""
    verdict = verify(answer, TARGET, structure=MOVED)
    assert differences(verdict, verify(answer, REFERENCE, structure=MOVED, engine="reference")) == []
    credit = reward(verdict)
    assert (credit == 1) is (reward(verdict, "strict") == 1) is (verdict.stage is Stage.CORRECT)
    assert 0 <= credit <= 0.5 or credit == 1
    assert credit == 0 or verdict.parsable
    assert 0 <= reward(verdict, "distance") <= 1
    # Where the edit changes the composition the credits are others, and so is the right answer.
    assert 0 <= reward(verify(answer, OTHER, structure=TARGET)) <= 1
    return credit


def checked(answer: str) -> None:
    """The same, and what is right is so to the independent check."""
    credit = rewarded(answer)
    found = extract_cif(answer).cif
    if credit > 0:
        assert found is not None
        assert is_right(found, TARGET.cif) in (None, credit == 1)


ANYTHING = st.text(st.characters(), max_size=60)
"""Any characters at all, lone surrogates and control characters among them."""

_WORDS = (
    "loop_ data_ data_x save_ _cell_length_a _atom_site_label _atom_site_fract_x ' \" ; # \n \n;\n \r \0 \ud800 1e99 "
    "nan inf ? . -1 0.25(3) X D Na O2- <cif> </cif> <think> </think> ``` 0 1 −1 ０ x,y,z -x,-y,-z"
)
SYNTAX = st.sampled_from(_WORDS.split(" "))


@given(st.lists(SYNTAX | ANYTHING, max_size=25).map(" ".join), st.booleans())
@settings(max_examples=150, **STABLE)
@example("\ud800", True)
@example("\0", False)
def test_any_text_has_a_verdict(text: str, in_tags: bool) -> None:
    assert rewarded(tagged(text) if in_tags else text) == 0


@given(st.none() | st.integers() | st.floats() | st.binary() | st.lists(ANYTHING) | st.dictionaries(ANYTHING, ANYTHING))
@settings(max_examples=50, **STABLE)
def test_what_is_no_text_earns_nothing(answer: object) -> None:
    assert rewarded(answer) == 0


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """The text after up to four insertions, deletions, replacements, copies of lines and cuts."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from((0, 1, 1, 2, 10, 60))))
        text = text[:start] + draw(SYNTAX | ANYTHING | st.just(text[start:end] * 2)) + text[end:]
    return text


@given(mutated(tagged(cif())))
@settings(max_examples=200, **STABLE)
def test_a_right_answer_mutated(text: str) -> None:
    checked(text)


@given(mutated(tagged(MOVED.cif)))
@settings(max_examples=100, **STABLE)
def test_a_copy_mutated(text: str) -> None:
    checked(text)


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("1" * 100_000 + "/", id="digits-and-a-slash"),
        pytest.param("1" * 50_000 + "." + "1" * 50_000 + "x", id="decimals-and-a-letter"),
        pytest.param("0." + "3" * 100_000, id="decimals"),
        pytest.param("1e" + "9" * 100_000, id="exponent"),
        pytest.param("0.1(" + "5" * 100_000, id="open-uncertainty"),
        pytest.param("O" + "2" * 100_000 + "x", id="symbol"),
        pytest.param("O" + "2" * 50_000 + "+" + "2" * 50_000 + "x", id="charge"),
        pytest.param("-" * 100_000 + "1", id="signs"),
        pytest.param("(" * 100_000, id="brackets"),
    ],
)
@pytest.mark.parametrize("place", ["O ", " O3 ", " 0.23 ", " 1\n"], ids=["symbol", "label", "coordinate", "occupancy"])
def test_a_long_word_takes_no_time(word: str, place: str) -> None:
    where = cif().rindex(place, 0, -1) if place == "O " else cif().rindex(place)
    text = cif()[:where] + place.replace(place.strip(), word) + cif()[where + len(place) :]
    started = time.process_time()
    rewarded(tagged(text))
    assert time.process_time() - started < MOST_SECONDS  # patterns that try every two lengths took minutes


@pytest.mark.parametrize("front", ["", "<think>\nNa first\n</think>\n"], ids=["answer", "thoughts and answer"])
def test_cut_after_every_character(front: str) -> None:
    whole = front + tagged(cif())
    last_digit = len(whole.removesuffix("\n</cif>")) - 1
    assert [length for length in range(len(whole) + 1) if rewarded(whole[:length]) == 1] == [
        *range(last_digit + 1, len(whole) + 1)
    ]


def test_the_last_digit_of_the_last_coordinate_may_be_lost() -> None:
    without_occupancy = "\n".join(
        line.rsplit(" ", 1)[0] if line[0].isupper() else line
        for line in cif(frac=[[f"{x:.4f}" for x in row] for row in FRAC]).splitlines()
        if line != "_atom_site_occupancy"
    )
    assert rewarded(f"<cif>\n{without_occupancy[:-1]}") == 1


IMAGES = st.lists(st.tuples(*[st.integers(-20, 20)] * 3), min_size=4, max_size=4)
FORMATS = ("{:.5f}", "{:.9f}", "{:+.6f}", "{:.8e}", "{:.6E}", "{:.5f}(4)", "{:012.6f}")


@given(
    st.permutations(range(4)),
    IMAGES,
    st.sampled_from(FORMATS),
    st.booleans(),
    st.data(),
)
@settings(max_examples=150, **STABLE)
def test_a_right_answer_in_other_words_is_right(
    order: Sequence[int], images: Sequence[Sequence[int]], numbers: str, compact: bool, data: st.DataObject
) -> None:
    rows = [[numbers.format(x + shift) for x, shift in zip(FRAC[k], images[k], strict=True)] for k in order]
    text = cif(species=[SPECIES[k] for k in order], frac=rows)
    for k in range(4):
        label = data.draw(st.from_regex(r"[A-Z][a-z]?[0-9]{0,4}[A-Za-z']?", fullmatch=True))
        text = text.replace(f"\n{SPECIES[order[k]]} {SPECIES[order[k]]}{k} ", f"\n{SPECIES[order[k]]} {label} ")
    if compact:
        text = text.replace("_atom_site_occupancy\n", "").replace(" 1\n", "\n")
    verdict = verify(tagged(text), TARGET)
    assert rewarded(tagged(text)) == 1
    assert verdict.max_displacement is not None
    assert verdict.max_displacement < 1e-3


def displaced(distance: float, direction: Sequence[float], site: int = 3) -> str:
    """The truth with one site that far away in Å, with all digits."""
    step = distance * np.array(direction) / np.linalg.norm(direction) @ np.linalg.inv(MATRIX)
    rows = [list(row) for row in FRAC]
    rows[site] = [float(x) for x in np.array(rows[site]) + step]
    return tagged(cif(frac=rows))


DIRECTIONS = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)


@given(st.floats(0, 2), st.floats(0, 2), DIRECTIONS)
@settings(max_examples=100, **STABLE)
def test_nearer_earns_no_less(one: float, other: float, direction: tuple[float, float, float]) -> None:
    near, far = sorted((one, other))
    assert rewarded(displaced(near, direction)) >= rewarded(displaced(far, direction)) - 1e-12


@given(st.floats(0.1001, 2), DIRECTIONS, st.integers(2, 3))
@settings(max_examples=50, **STABLE)
def test_beyond_the_tolerance_is_not_right(distance: float, direction: tuple[float, float, float], site: int) -> None:
    assert rewarded(displaced(distance, direction, site)) <= 0.5
    assert rewarded(displaced(0.0999 * distance / 2, direction, site)) == 1


_PIECES = ("<cif>", "</cif>", "```", "```cif\n", "\n", "data_x", " ", "</ci", "\ufeff", "İ", cif())
SOUP = st.lists(st.sampled_from(_PIECES) | ANYTHING, max_size=10).map("".join)


@given(SOUP, SOUP)
@settings(max_examples=200, **STABLE)
def test_what_is_thought_does_not_matter(thought: str, answer: str) -> None:
    assume("think>" not in (thought + answer).lower())
    in_front = extract_cif(f"<think>{thought}</think>\n{answer}")
    assert (in_front.cif, in_front.rule) == (extract_cif("\n" + answer).cif, extract_cif("\n" + answer).rule)
    assert extract_cif(f"{answer}<think>{thought}").cif == extract_cif(answer).cif
    assert extract_cif(f"<think>{thought}").cif is None


@given(SOUP, SOUP)
@settings(max_examples=200, **STABLE)
def test_the_last_pair_counts_whatever_stands_around_it(before: str, after: str) -> None:
    assume("think>" not in (before + after).lower())
    assume("</cif>" not in after.lower())
    found = extract_cif(before + tagged(cif()) + after)
    assert (found.rule, found.tags_ok) == ("tags", True)
    assert found.cif is not None
    assert found.cif.strip() == cif().strip()


@given(SOUP, st.sampled_from(("{}", "<cif>{}", "```\n{}\n```", "data_\n{}")))
@settings(max_examples=300, **STABLE)
def test_what_is_found_is_found_again(text: str, form: str) -> None:
    found = extract_cif(form.format(text)).cif
    if found is not None and found.strip() and not {"<", "`"} & set(found):
        assert extract_cif(f"<cif>{found}</cif>").cif == found


@pytest.mark.slow
def test_three_thousand_hostile_answers(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "attack_verifier.py"), "--answers", "3000", "--out", "attack.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    figures = json.loads((tmp_path / "attack.json").read_text())
    assert figures["answers_verified"] >= 3000
    assert {kind for kind, count in figures["problems"].items() if count} == set()
