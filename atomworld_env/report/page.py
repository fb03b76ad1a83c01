"""The page of a report: one HTML file that works without a network.

Nothing that a model or a user wrote becomes markup: the template escapes what it prints, data travels in base64, and
the script puts texts on the page as text only. A content security policy forbids every request.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from atomworld_env.errors import UsageError

SCRIPTS = ("charts.js", "crystal_view.js", "answers.js")
"""In the order in which they run, after plotly.js."""

INSTALL = "pip install 'atomworld-env[report]'"


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes:
        name: of its anchor and, with ``.html``, of its template in ``templates/``.
        title: its heading, and its name in the navigation.
        context: what the template needs.
    """

    name: str
    title: str
    context: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """What is on the page.

    Attributes:
        title, subtitle: its heading.
        sections: in order.
        figures: plotly figures by name; a section shows one in a ``<div class="figure" data-figure="NAME">``.
        answers: what the browser of answers reads, gzipped JSON; None without it.
        colours: what the scripts colour by: runs, elements, marks, verdicts.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    figures: Mapping[str, Any]
    answers: bytes | None
    colours: Mapping[str, Any]


def require_report_extra() -> None:
    """Ask for what only reports need, before long work.

    Raises:
        UsageError: naming the missing package and how to install it.
    """
    try:
        import jinja2
        import plotly

        _ = jinja2, plotly
    except ImportError as error:
        raise UsageError(f"a report needs {error.name}; install it with {INSTALL}") from None


def render_page(page: Page) -> str:
    """The page as one HTML text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    plotly_js = get_plotlyjs()
    if "</script" in plotly_js.lower():
        raise RuntimeError("plotly.js cannot stand inside a page: it holds a closing script tag")
    templates = files("atomworld_env.report") / "templates"
    environment = Environment(
        loader=PackageLoader("atomworld_env.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        page=page,
        style=(templates / "page.css").read_text(encoding="utf-8"),
        scripts=[(templates / name).read_text(encoding="utf-8") for name in SCRIPTS],
        plotly_js=plotly_js,
        figures=_base64(_json({"figures": page.figures, "colours": page.colours})),
        answers=None if page.answers is None else _base64(page.answers),
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
