from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_pages import HOSTILE, with_hostile_answers

from atomworld_env.report import answer_browser
from atomworld_env.report.answer_browser import ALL_TEXTS, LONGEST_TEXT, browser_data, cut_text, packed, text_limit
from atomworld_env.report.stored_run import read_runs


def test_every_task_once_and_every_answer(run_folders: dict[str, Path]) -> None:
    runs = read_runs(list(run_folders.values()))
    data = browser_data(runs)
    assert len(data["tasks"]) == 20
    assert len(data["answers"]) == 80
    assert [answer["run"] for answer in data["answers"]] == [number for number in range(4) for _ in range(20)]
    assert all(0 <= answer["crystal"] < len(data["crystals"]) for answer in data["answers"])


def test_crystals_are_shared_and_coordinates_are_those_of_the_task(run_folders: dict[str, Path]) -> None:
    oracle, noop = read_runs([run_folders["oracle"], run_folders["noop"]])
    data = browser_data([oracle, noop])
    assert len(data["crystals"]) <= 40
    for answer in data["answers"]:
        task = data["tasks"][answer["task"]]
        assert answer["crystal"] == task["target" if answer["run"] == 0 else "before"]
    matrix, species, sites = data["crystals"][data["tasks"][0]["before"]]
    crystal = oracle.suite.tasks[0].crystal
    assert species.split() == list(crystal.species)
    assert sites == [round(1000 * value) for value in crystal.cartesian.ravel().tolist()]
    assert matrix == [round(value, 3) for value in crystal.matrix.ravel().tolist()]


def test_what_is_wrong_is_told_site_by_site(run_folders: dict[str, Path]) -> None:
    data = browser_data(read_runs([run_folders["noop"]]))
    by_action = {data["tasks"][answer["task"]]["action"]: answer for answer in data["answers"]}
    move = by_action["move"]
    assert move["fault"]["summary"].startswith("1 wrong, ")
    ((kind, site, words),) = move["fault"]["rows"]
    assert kind == "wrong"
    assert site[-1].isdigit()
    assert "Å from where it belongs" in words
    assert move["marks"][0][0] == "wrong"
    assert by_action["super_cell"]["fault"]["summary"].startswith("the cell differs")
    assert [row[0] for row in by_action["remove"]["fault"]["rows"]] == ["wrong"]


def test_attempts_without_an_answer_are_listed(changed_run: Callable[..., Path]) -> None:
    data = browser_data(read_runs([changed_run(lambda lines: lines[:7])]))
    assert [answer["verdict"] for answer in data["answers"]].count("unanswered") == 13


def test_hostile_answers_are_kept_as_they_are(changed_run: Callable[..., Path]) -> None:
    data = json.loads(gzip.decompress(packed(browser_data(read_runs([changed_run(with_hostile_answers)])))))
    for answer, text in zip(data["answers"], HOSTILE[:-1], strict=False):
        assert answer["text"] == text
        assert "crystal" not in answer
    long = data["answers"][len(HOSTILE) - 1]
    assert long["length"] == len(HOSTILE[-1]) > 1_000_000
    assert len(long["text"]) + len(long["tail"]) == LONGEST_TEXT
    assert long["tail"].endswith("the end")


def test_long_texts_are_cut_so_that_all_fit() -> None:
    assert text_limit([100] * 2500) == LONGEST_TEXT
    limit = text_limit([50_000] * 2500)
    assert limit < LONGEST_TEXT
    assert 2500 * limit <= ALL_TEXTS
    assert cut_text("abcdefghij", 10) == ("abcdefghij", "")
    assert cut_text("abcdefghij", 5) == ("ab", "hij")


def test_what_hardly_shrinks_is_cut_again(changed_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    letters = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=20_000)) for _ in range(20)]
    folder = changed_run(
        lambda lines: [
            line | {"answer": text, "verdict_strict": "no_cif"} for line, text in zip(lines, letters, strict=True)
        ]
    )
    data = browser_data(read_runs([folder]))
    monkeypatch.setattr(answer_browser, "MOST_PACKED", 60_000)
    pack = packed(data)
    assert len(pack) <= 60_000
    first = json.loads(gzip.decompress(pack))["answers"][0]
    assert first["length"] == 20_000
    assert letters[0].startswith(first["text"])
    assert letters[0].endswith(first["tail"])
