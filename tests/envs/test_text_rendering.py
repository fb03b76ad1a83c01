"""The text rendering: what changed can be read from it, whatever was answered."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.text_rendering import MAX_ROWS, render_text
from atomworld_env.structures.crystal import Crystal

SALT = Crystal(
    (6.0, 6.0, 6.0, 90.0, 90.0, 90.0),
    ("Na", "Na", "Cl", "Cl"),
    np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0], [0, 0.5, 0]]),
)
WRONG = SimpleNamespace(
    verdict_strict="structure_mismatch", message="the largest displacement is 1.2 Å", max_displacement=1.2
)


def plain(target: Crystal, answer: Crystal | None, before: Crystal = SALT, **more) -> str:
    return render_text(before, target, answer, instruction="Do it.", colour=False, **more)


def test_the_instruction_comes_first():
    assert plain(SALT, SALT).splitlines()[0] == "Do it."


@pytest.mark.parametrize(
    ("edit", "params", "rows"),
    [
        pytest.param(
            "change",
            {"index": 1, "element": "K"},
            ["-   1 Na (0.5000, 0.5000, 0.0000)", "+   1 K  (0.5000, 0.5000, 0.0000)"],
            id="change",
        ),
        pytest.param("remove", {"index": 2}, ["-   2 Cl (0.5000, 0.0000, 0.0000)"], id="remove"),
        pytest.param(
            "add", {"element": "K", "position": [3.0, 3.0, 3.0]}, ["+   4 K  (0.5000, 0.5000, 0.5000)"], id="add"
        ),
        pytest.param(
            "swap",
            {"index": 0, "other": 3},
            ["~   0 Na (0.0000, 0.0000, 0.0000) and 3 Cl (0.0000, 0.5000, 0.0000) swap places"],
            id="swap",
        ),
        pytest.param(
            "move",
            {"index": 0, "displacement": [0.0, 0.0, -0.6]},
            ["~   0 Na (0.0000, 0.0000, 0.0000) moved 0.60 Å to (0.0000, 0.0000, 0.9000)"],
            id="move",
        ),
        pytest.param(
            "super_cell",
            {"factors": [1, 1, 2]},
            ["the cell is repeated 1 × 1 × 2, 4 → 8 sites", "~ c 6.0000 → 12.0000 Å", "~ Na 2 → 4 sites"],
            id="super_cell",
        ),
    ],
)
def test_each_edit_shows_its_sites(edit, params, rows):
    text = plain(ACTIONS[edit].apply(SALT, params), None)
    for row in rows:
        assert row in text
    assert "not given yet" in text


def test_unchanged_sites_are_counted_only():
    text = plain(ACTIONS["remove"].apply(SALT, {"index": 0}), None)
    assert "3 of 4 sites unchanged" in text
    assert "(0.5000, 0.5000, 0.0000)" not in text


def test_a_right_answer_is_said_to_be_right():
    target = ACTIONS["remove"].apply(SALT, {"index": 0})
    verdict = SimpleNamespace(verdict_strict="correct", message="", max_displacement=0.0)
    text = plain(target, target, verdict=verdict, reward=1.0)
    assert "Answer: does this, every site within 0.1 Å" in text
    assert "Verdict: right. Reward 1.000." in text
    assert "!" not in text


def test_a_wrong_answer_shows_what_it_did_and_what_is_wrong():
    target = ACTIONS["change"].apply(SALT, {"index": 1, "element": "K"})
    answer = ACTIONS["move"].apply(SALT, {"index": 0, "displacement": [0.6, 0.0, 0.0]})
    text = plain(target, answer, verdict=WRONG, reward=0.05)
    assert "~   0 Na (0.0000, 0.0000, 0.0000) moved 0.60 Å to (0.1000, 0.0000, 0.0000)" in text
    assert "!   0 Na (0.1000, 0.0000, 0.0000) is 0.60 Å away from (0.0000, 0.0000, 0.0000)" in text
    assert "!   1 Na (0.5000, 0.5000, 0.0000) should be K" in text
    assert "Verdict: wrong structure, the largest displacement is 1.2 Å. Reward 0.050." in text


def test_missing_and_superfluous_sites_are_named():
    text = plain(ACTIONS["remove"].apply(SALT, {"index": 0}), ACTIONS["remove"].apply(SALT, {"index": 2}))
    assert "!   - Cl (0.5000, 0.0000, 0.0000) is missing" in text
    assert "!   0 Na (0.0000, 0.0000, 0.0000) should not be there" in text


def test_an_answer_that_could_not_be_read_says_why():
    verdict = SimpleNamespace(verdict_strict="no_cif", message="there is no CIF", max_displacement=None)
    assert "Verdict: no CIF, there is no CIF." in plain(SALT, None, verdict=verdict)


def test_long_diffs_are_cut_and_counted():
    many = Crystal((30.0,) * 3 + (90.0,) * 3, ("Na",) * 60, np.random.default_rng(0).random((60, 3)))
    target, answer = many.replaced(species=("K",) * 60), many.replaced(frac=many.frac + 0.03)
    text = plain(target, answer, before=many)
    rows = [line for line in text.splitlines() if line[:4] in ("  + ", "  - ", "  ~ ", "  ! ")]
    assert len(rows) == MAX_ROWS
    assert "… and " in text


def test_plain_text_has_no_escape_codes_and_colour_changes_nothing_else(small_tasks):
    for task in small_tasks.values():
        arguments = (task.crystal, task.target_crystal, task.crystal)
        without = render_text(*arguments, instruction="x\x1b[31m\n\x07", verdict=WRONG, colour=False)
        coloured = render_text(*arguments, instruction="x\x1b[31m\n\x07", verdict=WRONG)
        assert "\x1b" not in without
        assert "\x07" not in coloured
        assert len(coloured.splitlines()) == len(without.splitlines())
        assert "\x1b[" in coloured
        assert coloured == render_text(*arguments, instruction="x\x1b[31m\n\x07", verdict=WRONG)
