"""The picture: every edit and every odd crystal draws, the same input gives the same bytes, and changes show."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from atomworld_env.actions import ACTIONS
from atomworld_env.envs.marks import Box, MarkKind, marks_after, marks_before, marks_of_answer, place_labels
from atomworld_env.envs.picture import render_picture, write_png
from atomworld_env.envs.site_diff import diff_sites
from atomworld_env.structures.crystal import Crystal

CUBE = (6.0, 6.0, 6.0, 90.0, 90.0, 90.0)
SALT = Crystal(CUBE, ("Na", "Na", "Cl", "Cl"), np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0], [0, 0.5, 0]]))
MOVED = ACTIONS["move"].apply(SALT, {"index": 0, "displacement": [-0.6, 0.0, 0.9]})


def random_crystal(n: int, cell=(20.0, 20.0, 20.0, 90.0, 90.0, 90.0)) -> Crystal:
    rng = np.random.default_rng(n)
    return Crystal(cell, tuple(("Na", "Cl", "O")[k % 3] for k in range(n)), rng.random((n, 3)))


def panels(picture: np.ndarray) -> list[np.ndarray]:
    """Inner parts of the three panels, all of one shape, without captions and legend."""
    return [picture[80:385, 400 * k + 15 : 400 * k + 385] for k in range(3)]


@pytest.mark.parametrize("action", list(ACTIONS))
def test_every_edit_draws(small_tasks, action):
    task = small_tasks[action]
    picture = render_picture(task.crystal, task.target_crystal, task.crystal, title=task.prompt)
    assert picture.shape == (450, 1200, 3)
    assert picture.dtype == np.uint8
    before, target, answer = panels(picture)
    assert (before != target).any()
    assert (target != answer).any()


def test_equal_input_gives_equal_bytes():
    first, second = (render_picture(SALT, MOVED, SALT, title="Move it.").tobytes() for _ in range(2))
    assert first == second


def test_the_panels_of_equal_crystals_are_equal():
    before, target, answer = panels(render_picture(SALT, SALT, SALT, title="Nothing."))
    assert (before == target).all()
    assert (before == answer).all()


def test_a_right_answer_looks_like_the_target():
    _, target, answer = panels(render_picture(SALT, MOVED, MOVED, title="Move it."))
    assert (target == answer).all()


def test_an_unreadable_answer_shows_why_in_its_panel():
    captions = ["4 sites", "4 sites", "the CIF has no atom sites"]
    told = render_picture(SALT, MOVED, None, title="Move it.", captions=captions)
    other = render_picture(SALT, MOVED, None, title="Move it.")
    assert (told[:, :800] == other[:, :800]).mean() > 0.99
    assert (panels(told)[2] != panels(other)[2]).any()


@pytest.mark.parametrize(
    "crystal",
    [
        pytest.param(random_crystal(1), id="one-site"),
        pytest.param(random_crystal(400), id="400-sites"),
        pytest.param(random_crystal(12, (4.0, 4.0, 60.0, 90.0, 90.0, 90.0)), id="long"),
        pytest.param(random_crystal(12, (20.0, 20.0, 2.0, 90.0, 90.0, 60.0)), id="flat"),
        pytest.param(random_crystal(18, (9.0, 10.0, 11.0, 45.0, 50.0, 40.0)), id="oblique"),
    ],
)
def test_crystals_of_any_shape_draw(crystal):
    target = ACTIONS["change"].apply(crystal, {"index": 0, "element": "K"})
    for panel in panels(render_picture(crystal, target, crystal, title="Change it.")):
        assert (panel < 250).any(axis=2).mean() > 0.005


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Crystal(CUBE, (), np.empty((0, 3))), id="empty"),
        pytest.param(random_crystal(3, (1e5, 2e5, 3.0, 90.0, 90.0, 90.0)), id="huge-cell"),
        pytest.param(random_crystal(3, (0.01, 0.01, 0.01, 60.0, 60.0, 60.0)), id="tiny-cell"),
        pytest.param(random_crystal(1500, CUBE), id="too-many-to-pair"),
        pytest.param(SALT.replaced(frac=np.zeros((4, 3))), id="all-on-one-place"),
        pytest.param(SALT.replaced(species=("X", "Og", "D", "Ds")), id="elements-without-colours"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_strange_answers_draw(answer):
    picture = render_picture(SALT, MOVED, answer, title="Costs $5_x$ \x00 \n 日本 " + "word " * 200)
    assert picture.shape == (450, 1200, 3)


def test_size_can_be_chosen_within_reason():
    assert render_picture(SALT, MOVED, None, title="", size=(800, 300)).shape == (300, 800, 3)
    with pytest.raises(ValueError, match="at least 600 x 300"):
        render_picture(SALT, MOVED, None, title="", size=(100, 100))


def test_marks_say_what_happened_where():
    edit = diff_sites(SALT, MOVED)
    (before,), (after,) = marks_before(edit, SALT), marks_after(edit, MOVED)
    assert (before.kind, before.site, before.label) == (MarkKind.MOVED, 0, "Na0")
    assert (after.kind, after.label) == (MarkKind.MOVED, "Na0  1.08 Å")
    np.testing.assert_allclose(after.point - after.other, [-0.6, 0.0, 0.9], atol=1e-6)


def test_a_wrong_answer_is_marked_where_it_is_wrong_only():
    def marks(answer: Crystal) -> list[tuple[MarkKind, int | None]]:
        found = marks_of_answer(diff_sites(SALT, answer), diff_sites(MOVED, answer), answer)
        return [(mark.kind, mark.site) for mark in found]

    assert marks(MOVED) == [(MarkKind.MOVED, 0)]
    assert marks(SALT) == [(MarkKind.WRONG, 0)]
    assert marks(ACTIONS["remove"].apply(SALT, {"index": 3})) == [(MarkKind.WRONG, 0), (MarkKind.MISSING, None)]


def test_labels_do_not_cover_each_other():
    anchors = [(100.0 + 12 * k, 100.0, 8.0) for k in range(6)]
    boxes = place_labels(anchors, [(30.0, 13.0)] * 6, [], Box(200, 150, 200, 150))
    placed = [box for box in boxes if box is not None]
    assert len(placed) == 6
    assert max(a.overlap(b) for a in placed for b in placed if a is not b) < 0.2


def test_a_picture_of_100_sites_is_quick():
    crystal = random_crystal(100)
    target = ACTIONS["move"].apply(crystal, {"index": 7, "displacement": [1.0, -2.0, 0.5]})
    seconds = []
    for _ in range(4):
        start = time.process_time()
        render_picture(crystal, target, crystal, title="Move it.")
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.7


def test_pyplot_is_not_imported_and_matplotlib_only_to_draw():
    code = (
        "import sys, numpy as np\n"
        "import atomworld_env.envs.picture as picture\n"
        "from atomworld_env.structures.crystal import Crystal\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"one = Crystal({CUBE}, ('Na',), np.zeros((1, 3)))\n"
        "picture.render_picture(one, one, None, title='')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_picture_can_be_written(tmp_path):
    from matplotlib.image import imread

    picture = render_picture(SALT, MOVED, SALT, title="Move it.")
    write_png(picture, tmp_path / "edit.png")
    np.testing.assert_array_equal((imread(tmp_path / "edit.png")[..., :3] * 255).round().astype(np.uint8), picture)
