"""Lists of points: where they are found, what is read, when they are right, and that nothing costs much."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import numpy as np
import pytest

from rewards import Baseline, Stage, reward
from rewards.point_reading import MAX_CHARACTERS, UnreadablePoints, extract_points, read_points
from rewards.points import closest_pair, compare_points, verify_points

TARGET = np.array([[1.0, 2.0, 3.0], [-4.5, 0.25, 6.0], [0.0, 0.0, -9.5]])
RIGHT = json.dumps(TARGET.tolist())


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(f"<answer>{RIGHT}</answer>", "tags", id="tags"),
        pytest.param(f"<ANSWER>\n{RIGHT}\n</Answer>", "tags", id="any case"),
        pytest.param(f"<answer>[[0,0,0]]</answer> no: <answer>{RIGHT}</answer>", "tags", id="the last pair"),
        pytest.param(f"<answer>{RIGHT}</answer> in <answer></answer> tags", "tags", id="the last that holds something"),
        pytest.param(f"<answer>{RIGHT}</answer> in <answer>…</answer> tags", "tags", id="the last that holds a digit"),
        pytest.param(f"<answer>The points are {RIGHT}.</answer>", "tags", id="prose inside the tags"),
        pytest.param(f"<answer>$$\\boxed{{{RIGHT}}}$$</answer>", "tags", id="markup inside the tags"),
        pytest.param(f'<answer>{{"points": {RIGHT}}}</answer>', "tags", id="an object inside the tags"),
        pytest.param(f"<answer>[[0, 0, 0]] or rather {RIGHT}</answer>", "tags", id="the last list inside the tags"),
        pytest.param(f"<answer><answer>{RIGHT}</answer>", "tags", id="the innermost opening"),
        pytest.param(f"<think><answer>[[0,0,0]]</answer></think><answer>{RIGHT}</answer>", "tags", id="after thought"),
        pytest.param(f"<answer>```json\n{RIGHT}\n```\n</answer>", "tags", id="fence inside the tags"),
        pytest.param(f"so [[1,2,3]]\n```json\n{RIGHT}\n```\nor [[1,2,3]]", "fence", id="fence"),
        pytest.param(f"```\n[[9,9,9]]\n```\n```python\npoints = {RIGHT}\n```\n", "fence", id="the last fence"),
        pytest.param(f"In [0, 1) and [[0, 0, 0]] it is {RIGHT}, I think [1].", "bare", id="the last list of lists"),
        pytest.param(f"It is {RIGHT}<|im_end|>", "bare", id="a token of the chat after it"),
    ],
)
def test_the_list_is_found(text: str, rule: str) -> None:
    verdict = verify_points(text, TARGET)
    assert (verdict.stage, verdict.extraction) == (Stage.CORRECT, rule)


@pytest.mark.parametrize(
    "text",
    [
        "", "no list", "[1, 2, 3]", f"<think>{RIGHT}", f"<think>{RIGHT}</think> nothing", "<answer> </answer>",
        "[[1, 2", None, 17, b"[[1,2,3]]",
    ],
)  # fmt: skip
def test_where_there_is_none(text: object) -> None:
    verdict = verify_points(text, TARGET)
    assert verdict.stage == Stage.NO_CIF
    assert not verdict.parsable
    assert verdict.message


def test_strict_tags_take_nothing_else() -> None:
    assert verify_points(f"<answer>{RIGHT}</answer>", TARGET, strict_tags=True).success_strict
    for text in (RIGHT, f"```\n{RIGHT}\n```", f"<Answer>{RIGHT}</Answer>"):
        assert verify_points(text, TARGET, strict_tags=True).stage == Stage.NO_CIF
    # By that rule thought may hold the answer.
    assert verify_points(f"<think><answer>{RIGHT}</answer></think>", TARGET, strict_tags=True).success_strict
    assert extract_points(f"<answer>{RIGHT}</answer>").tags_ok


@pytest.mark.parametrize(
    "text",
    [
        "[]", "[[]]", "[[1, 2]]", "[[1, 2, 3, 4]]", "[1, 2, 3]", "5", "null", "[[1, 2, null]]", "[[1, 2, true]]",
        '[[1, 2, "3"]]', "[[NaN, 2, 3]]", "[[1, Infinity, 3]]", "[[-Infinity, 2, 3]]",
        "[[1e400, 2, 3]]", "[[1000000, 2, 3]]", "[[1, 2, [3]]]", "[[1, 2, 3],]", "[[1 2 3]]",
        "[[01, 2, 3]]", "[(1, 2, 3)]", "[[0x1, 2, 3]]", "[[1_0, 2, 3]]", "[[1, 2, " + "1" * 65 + "]]",
    ],
)  # fmt: skip
def test_what_is_no_list_of_points(text: str) -> None:
    with pytest.raises(UnreadablePoints):
        read_points(text)
    assert verify_points(f"<answer>{text}</answer>", TARGET).stage == Stage.CIF_INVALID


@pytest.mark.parametrize("text", ['{"points": [[1, 2, 3]]}', "[[1, 2, 3]] [[4, 5, 6]]", "[[1, 2, 3]]."])
def test_more_than_a_list_is_read_for_its_last_list_unless_tags_are_strict(text: str) -> None:
    with pytest.raises(UnreadablePoints):
        read_points(text)
    assert verify_points(f"<answer>{text}</answer>", TARGET).stage == Stage.COMPOSITION_MISMATCH
    assert verify_points(f"<answer>{text}</answer>", TARGET, strict_tags=True).stage == Stage.CIF_INVALID


def test_numbers_as_json_has_them() -> None:
    assert read_points(" [[1, -2.50, 1e-3],\n[0, -0.0, 1.5E+2]] ").tolist() == [[1.0, -2.5, 1e-3], [0.0, 0.0, 150.0]]


def test_any_order_is_right_and_the_tolerance_counts() -> None:
    for order in itertools.permutations(range(3)):
        assert verify_points(json.dumps(TARGET[list(order)].tolist()), TARGET).max_displacement == 0.0
    for shift, right in ((0.0499, True), (0.0501, False)):
        moved = TARGET.copy()
        moved[1, 2] += shift
        verdict = verify_points(json.dumps(moved.tolist()), TARGET)
        assert verdict.success_strict is right
        assert verdict.max_displacement == pytest.approx(shift)
        assert verify_points(json.dumps(moved.tolist()), TARGET, tolerance=0.1).success_strict


def test_distances_are_those_of_every_pairing_tried() -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        first, second = rng.uniform(-2, 2, (2, 4, 3))
        pairings = [np.linalg.norm(first[list(order)] - second, axis=1) for order in itertools.permutations(range(4))]
        found = compare_points(first, second)
        assert found.max_displacement == pytest.approx(min(each.max() for each in pairings))
        if closest_pair(first) >= 0.25:
            assert found.sum_displacement == pytest.approx(min(each.sum() for each in pairings))


def test_the_number_of_points_comes_first() -> None:
    verdict = verify_points("[[1, 2, 3]]", TARGET)
    assert (verdict.stage, verdict.composition_difference) == (Stage.COMPOSITION_MISMATCH, 2)
    assert verdict.max_displacement is None
    assert verdict.parsable


def test_all_points_in_one_place_earn_nothing_for_it() -> None:
    turned = TARGET * [-1.0, -1.0, 1.0]
    baseline = Baseline.of(compare_points(TARGET, turned))
    middle = json.dumps([[0.0, 0.0, 0.0]] * 3)
    verdict = verify_points(middle, turned)
    assert verdict.sum_displacement is None
    assert verdict.max_displacement is not None
    assert reward(verdict, baseline=baseline) == pytest.approx(0.05)
    # The copy of the input earns as much, and what is nearer earns more.
    assert reward(verify_points(RIGHT, turned), baseline=baseline) == pytest.approx(0.05)
    near = verify_points(json.dumps((turned + np.array([0.3, 0.0, 0.0])).tolist()), turned)
    assert 0.3 < reward(near, baseline=baseline) < 0.5
    assert reward(verify_points(json.dumps(turned.tolist()), turned), baseline=baseline) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 1_000_000, id="openings"),
        pytest.param("[[" * 500_000 + "]]" * 500_000, id="deep"),
        pytest.param("<answer>" + "[" * 90_000 + "</answer>", id="openings in tags"),
        pytest.param("<answer>" + "[" * 40_000 + "]" * 40_000 + "</answer>", id="deep in tags"),
        pytest.param('<answer>["' + "]" * 30_000 + '",' + "[" * 30_000 + "</answer>", id="depth hidden in a text"),
        pytest.param("[[1]," * 200_000, id="never closed"),
        pytest.param("[[1],[" * 170_000, id="begun again and again"),
        pytest.param("[ [" + " " * 1_000_000, id="blank"),
        pytest.param("[[0,0,0]" + "\n, " * 300_000, id="commas"),
        pytest.param("[" + ",".join(["[1,2,3]"] * 120_000) + "]", id="many points"),
        pytest.param("<answer>[" + ",".join(["[1,2,3]"] * 12_000) + "]</answer>", id="many points in bounds"),
        pytest.param("<answer>[[" + "9" * 99_000 + ",1,2]]</answer>", id="long number"),
        pytest.param("<answer>" * 120_000, id="openings of tags"),
        pytest.param("<answer></answer>" * 60_000, id="empty tags"),
        pytest.param("```\n[[1,2,3]]\n" * 70_000, id="fences"),
        pytest.param("\x00\ud800[[1,2,\x00]]", id="no characters"),
    ],
)
def test_no_text_costs_much(text: str) -> None:
    begun = time.process_time()
    verdict = verify_points(text, TARGET)
    assert time.process_time() - begun < 3.0
    assert not verdict.success_strict
    assert "\n" not in verdict.message


def test_a_list_that_is_too_long_is_not_judged() -> None:
    text = "[" + ",".join(["[1,2,3]"] * (MAX_CHARACTERS // 8 + 1)) + "]"
    assert verify_points(text, TARGET).stage == Stage.TIMEOUT


def test_a_subclass_of_text_is_its_text() -> None:
    class Odd(str):
        def find(self, *_: Any) -> int:
            raise RuntimeError("never asked")

    assert verify_points(Odd(RIGHT), TARGET).success_strict
