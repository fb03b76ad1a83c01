"""The page as text; what it does in a browser is tested in test_page_in_browser.py."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_pages import with_hostile_answers

from atomworld_env.errors import UsageError
from atomworld_env.report.page import Page, Section, render_page, require_report_extra
from atomworld_env.report.write_report import write_report


class Tags(HTMLParser):
    """Collects the tags of a page, the attributes of each, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:  # type: ignore[attr-defined]
            self.words += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def page_of(folders: list[Path], out: Path, **options: bool) -> str:
    return write_report(folders, out, **options).page.read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere(run_folders: dict[str, Path], tmp_path: Path) -> None:
    page = Tags(page_of([run_folders["oracle"]], tmp_path))
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert tag != "link"
        if "href" in attributes:
            assert str(attributes["href"]).startswith("#")
    (policy,) = [each["content"] for tag, each in page.tags if tag == "meta" and "http-equiv" in each]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline';")
    assert "unsafe-eval" not in policy


def test_hostile_runs_add_no_tag(
    changed_run: Callable[..., Path], run_folders: dict[str, Path], tmp_path: Path
) -> None:
    name = "</script><script>alert(1)</script>{{ 7*7 }}<b>"
    hostile = changed_run(
        with_hostile_answers, policy=name, suite="<i>suite</i>", settings={"<u>key</u>": "<script>alert(2)</script>"}
    )
    harmless = Tags(page_of([run_folders["noop"]], tmp_path / "harmless"))
    broken = Tags(page_of([hostile], tmp_path / "hostile"))
    for tag in ("script", "b", "i", "u", "img", "svg"):
        assert broken.count(tag) == harmless.count(tag)
    assert "<i>suite</i>" in broken.words
    assert "<script>alert(2)</script>" in broken.words
    assert "{{ 7*7 }}" in broken.words


def test_the_headline_table_is_readable_without_a_script(run_folders: dict[str, Path], tmp_path: Path) -> None:
    words = Tags(page_of([run_folders["oracle"], run_folders["noop"]], tmp_path)).words
    for expected in ("Claude Opus 4.6", "unchanged input (floor)", "oracle", "Run against run", "fingerprint", "100.0"):
        assert expected in words


def test_without_answers_the_page_holds_none(run_folders: dict[str, Path], tmp_path: Path) -> None:
    page = page_of([run_folders["oracle"]], tmp_path, with_answers=False)
    assert 'id="answer-data"' not in page
    assert 'id="browser"' not in page


def test_a_section_is_one_template_and_one_entry_of_a_list() -> None:
    section = Section("usage", "Tokens <and> cost", {"rows": [], "runs": []})
    page = render_page(Page("A <title>", "", [section], {"one": {"data": [], "layout": {}}}, None, {}))
    assert "<h2>Tokens &lt;and&gt; cost</h2>" in page
    assert "<title>A &lt;title&gt;</title>" in page
    found = re.search(r'id="figure-data">([^<]*)<', page)
    assert found is not None
    assert json.loads(base64.b64decode(found[1]))["figures"] == {"one": {"data": [], "layout": {}}}


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(UsageError, match=r"needs plotly; install it with pip install 'atomworld-env\[report\]'"):
        require_report_extra()
