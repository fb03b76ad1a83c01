"""The page in a real headless Chromium: no error, no request, filters, 3-D views, narrow screens, hostile answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_pages import HOSTILE, with_hostile_answers

from atomworld_env.report.write_report import write_report

pytestmark = pytest.mark.slow

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]

# What is drawn, not what the layout says: plotly.js does not keep all copies of a camera alike.
CAMERAS = """() => [...document.querySelectorAll('.view:not(.empty)')]
    .map((view) => { const eye = view._fullLayout.scene._scene.getCamera().eye; return [eye.x, eye.y, eye.z]; })"""

SCALES = """() => [...document.querySelectorAll('.view:not(.empty)')]
    .map((view) => view._fullLayout.scene._scene.glplot.getAspectratio().x)"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page of the browser with what went wrong in it."""

    def __init__(self, chromium: Any, path: Path, width: int = 1280, **options: Any) -> None:
        self.page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self._console(message))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.resolve().as_uri()
        self.page.goto(self.address)
        self.page.wait_for_selector("#browser:not([hidden])")

    def _console(self, message: Any) -> None:
        # Chromium's advice on the speed of a canvas is no error; a violation of the policy is one.
        if message.type == "error" or "Content Security Policy" in message.text:
            self.errors.append(message.text)

    def choose(self, number: int = 0) -> None:
        """Open an answer of the list and wait for its crystals."""
        self.page.locator("#list button[data-answer]").nth(number).click()
        self.page.wait_for_function(
            "() => { const views = [...document.querySelectorAll('.view:not(.empty)')]; return views.length"
            " && views.every((view) => view.querySelector('canvas') && view._fullLayout?.scene?._scene); }"
        )
        self.page.wait_for_timeout(500)

    def check(self) -> None:
        assert self.errors == []
        outside = [url for url in self.requests if url != self.address and not url.startswith(("data:", "blob:"))]
        assert outside == []


@pytest.fixture(scope="module")
def report(run_folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders = [run_folders[name] for name in ("oracle", "cartesian_by_lengths", "noop")]
    return write_report(folders, tmp_path_factory.mktemp("report")).page


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_loads_without_an_error_or_a_request_and_fits(chromium: Any, report: Path, width: int, scheme: str) -> None:
    opened = Opened(chromium, report, width, color_scheme=scheme)
    page = opened.page
    drawn = page.locator(".figure .main-svg").count()
    assert drawn >= page.locator(".figure").count() >= 8
    opened.choose()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in page.locator(".card, .scroll, .scene, #detail, .list-box").all():
        bounds = box.bounding_box()
        assert bounds is not None
        assert bounds["x"] >= 0
        assert bounds["x"] + bounds["width"] <= width
    opened.check()
    page.close()


def test_the_three_views_turn_together(chromium: Any, report: Path) -> None:
    opened = Opened(chromium, report)
    page = opened.page
    page.select_option("#f-run", label="cartesian_by_lengths")
    page.select_option("#f-action", "move")
    opened.choose()
    before = page.evaluate(CAMERAS)
    assert len(before) == 3
    assert before[1] == pytest.approx(before[0], abs=1e-6)
    assert before[2] == pytest.approx(before[0], abs=1e-6)
    for view in (0, 2):
        box = page.locator(".view").nth(view)
        box.scroll_into_view_if_needed()
        bounds = box.bounding_box()
        x, y = bounds["x"] + bounds["width"] / 2, bounds["y"] + bounds["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 6):
            page.mouse.move(x + 12 * step, y + 5 * step)
            page.wait_for_timeout(60)
        page.mouse.up()
        page.wait_for_timeout(600)
        after = page.evaluate(CAMERAS)
        assert max(abs(new - old) for new, old in zip(after[view], before[view], strict=True)) > 0.05
        for other in after:
            assert other == pytest.approx(after[view], abs=1e-6)
        before = after
    small = page.evaluate(SCALES)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(600)
    large = page.evaluate(SCALES)
    assert large[0] > 1.02 * small[0]
    assert large == pytest.approx([large[0]] * 3)
    opened.check()
    page.close()


def test_filters_choose_answers(chromium: Any, report: Path) -> None:
    opened = Opened(chromium, report)
    page = opened.page

    def shown() -> str:
        return str(page.locator("#count").inner_text())

    assert shown() == "60 of 60 answers"
    page.select_option("#f-run", label="noop")
    assert shown() == "20 of 60 answers"
    page.select_option("#f-action", "move")
    assert shown() == "2 of 60 answers"
    page.select_option("#f-right", "right")
    assert shown() == "0 of 60 answers"
    page.locator("#f-reset").click()
    page.locator("#count", has_text="60 of 60").wait_for()
    page.select_option("#f-right", "right")
    right = int(shown().split()[0])
    assert 20 <= right < 40
    page.select_option("#f-right", "")
    page.select_option("#f-verdict", "composition_mismatch")
    assert 0 < int(shown().split()[0]) <= 20
    page.select_option("#f-verdict", "")
    page.fill("#f-high", "1")
    assert shown() == "0 of 60 answers"
    page.fill("#f-high", "")
    page.fill("#f-text", "SWAP-")
    assert shown() == "6 of 60 answers"
    opened.choose(1)
    first = page.locator("#detail h3").inner_text()
    page.locator(".step", has_text="next").click()
    assert page.locator("#detail h3").inner_text() != first
    opened.check()
    page.close()


def test_hostile_answers_are_shown_as_text(chromium: Any, changed_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = changed_run(with_hostile_answers, policy="<img src=x onerror='window.broken = true'></script>")
    opened = Opened(chromium, write_report([folder], tmp_path / "out").page)
    page = opened.page
    for number, answer in enumerate(HOSTILE):
        opened.choose(number)
        shown = page.locator("pre.answer").evaluate("(pre) => pre.textContent")
        if len(answer) > 1_000_000:
            assert f"of {len(answer):,} characters are left out here" in shown
            assert shown.endswith("the end")
            assert len(shown) < 30_000
        elif "\x00" in answer:
            assert shown == (
                "nul ⟨U+0000⟩, bell ⟨U+0007⟩, turned ⟨U+202E⟩right to left⟨U+202C⟩, lone ⟨U+D800⟩, snowman ☃ 𝄞"
            )
        else:
            assert shown == answer
        assert page.locator("#detail img, #detail script, #detail pre svg").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.locator("nav ~ img, main img").count() == 0
    opened.check()
    page.close()


def test_a_run_without_an_answer_opens(chromium: Any, changed_run: Callable[..., Path], tmp_path: Path) -> None:
    opened = Opened(chromium, write_report([changed_run(lambda lines: [])], tmp_path / "out").page)
    opened.choose()
    assert "unanswered" in opened.page.locator(".outcome").inner_text()
    assert opened.page.locator(".view.empty").count() == 1
    opened.check()
    opened.page.close()


def test_a_browser_that_cannot_unpack_says_so(chromium: Any, report: Path) -> None:
    page = chromium.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(report.resolve().as_uri())
    assert "too old to unpack" in page.locator("#answers-state").inner_text()
    assert page.locator(".figure .main-svg").count() > 0
    page.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_tasks_of_every_family_open(
    chromium: Any, skill_folders: dict[tuple[str, str], Path], tmp_path: Path, width: int
) -> None:
    page = write_report(list(skill_folders.values()), tmp_path).page
    opened = Opened(chromium, page, width)
    views = {"point_move": 0, "repair_units": 2, "generate_rutile": 2, "raise_bulk_modulus": 3}
    for action, number in views.items():
        opened.page.select_option("#f-action", action)
        opened.page.locator("#list button[data-answer]").first.click()
        opened.page.wait_for_timeout(800)
        assert opened.page.locator("#detail .view").count() == number, action
        assert (opened.page.locator("#detail canvas").count() > 0) == (number > 0), action
    assert opened.page.locator("#skills .figure canvas, #skills .figure svg").count() > 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.check()
