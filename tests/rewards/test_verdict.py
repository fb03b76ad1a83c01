"""Verdicts and baselines as records."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from crystal_texts import cif

from rewards import Baseline, Stage, Verdict, verify


@pytest.mark.parametrize(
    "baseline",
    [
        pytest.param(Baseline(Stage.STRUCTURE_MISMATCH, 1.5, 3.25, 0), id="same-composition"),
        pytest.param(Baseline(Stage.COMPOSITION_MISMATCH, None, None, 3), id="numbers-that-do-not-exist"),
    ],
)
def test_baseline_survives_json(baseline: Baseline) -> None:
    assert Baseline.from_json(json.loads(json.dumps(baseline.to_json()))) == baseline


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({}, id="empty"),
        pytest.param(
            {"stage": "right", "max_displacement": None, "sum_displacement": None, "composition_difference": 0},
            id="stage",
        ),
        pytest.param(
            {"stage": "correct", "max_displacement": "far", "sum_displacement": None, "composition_difference": 0},
            id="word",
        ),
    ],
)
def test_a_broken_baseline_is_said(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a baseline has stage"):
        Baseline.from_json(record)


def test_score_line() -> None:
    line = verify(cif(), cif()).score_line("t1")
    assert list(line) == [
        "id",
        "verdict_strict",
        "success_strict",
        "max_displacement",
        "verdict_paper",
        "success_paper",
        "rmsd",
        "max_dist",
        "seconds",
    ]
    record = json.loads(json.dumps(line))
    assert (record["id"], record["verdict_strict"], record["success_strict"]) == ("t1", "correct", True)
    assert [record[key] for key in ("verdict_paper", "success_paper", "rmsd", "max_dist")] == [None] * 4


def test_time_is_no_part_of_equality() -> None:
    verdict = Verdict(Stage.NO_CIF, "nothing", seconds=1.0)
    assert verdict == replace(verdict, seconds=2.0)


def test_a_verdict_can_be_pickled() -> None:
    verdict = verify(cif(), cif(), structure=cif(), profile="both")
    assert pickle.loads(pickle.dumps(verdict)) == verdict
