"""What a model might write to break the page that shows it."""

from __future__ import annotations

from typing import Any

HOSTILE = [
    "</script><script>window.broken = true</script>",
    "<img src=x onerror='window.broken = true'>",
    "{{ 7 * 7 }} {% for x in y %} ${alert(1)}",
    "nul \x00, bell \x07, turned \u202eright to left\u202c, lone \ud800, snowman ☃ 𝄞",
    "--><!--<![CDATA[ &lt;b&gt; &amp; <svg/onload=window.broken=true>",
    "word " * 250_000 + "the end",
]
"""Answers that no page must take for anything but text; the last is longer than a megabyte."""


def with_hostile_answers(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines, the first of them with hostile answers, as a model could have given them."""
    hostile = [
        line | {"answer": answer, "verdict_strict": "no_cif", "verdict_paper": "no_cif", "success": False,
                "success_paper": False, "max_displacement": None, "reward": 0.0, "message": f"{answer[:80]}"}
        for line, answer in zip(lines, HOSTILE, strict=False)
    ]  # fmt: skip
    return hostile + lines[len(hostile) :]
