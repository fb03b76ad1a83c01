"""What a hostile answer may do around the CIF: tags, fences, thoughts, drafts, echoes, and answers that are no text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from atomworld_env.prompts.prompt import default_template
from atomworld_env.tasks.task import Task

Markup = Callable[[str, str, Random], object]
"""From the right CIF, the input and a source of random numbers to an answer."""

_LOOKALIKES = (
    "＜cif＞",
    "<сif>",
    "<cıf>",
    "<cif\u200b >",
    "‹cif›",
    "< cif>",
    "&lt;cif&gt;",
    "<CİF>",
    "[cif]",
    "<cif/>",
)
_PIECES = "<cif> </cif> <think> </think> <CIF> </Cif> ``` ```cif\n data_ loop_ <answer> </ci < > \n \n\n \0 \ud800 İ"
_PROSE = "The sites move along the axis of the cell and nothing else changes.\n"


def tagged(cif: str) -> str:
    """A CIF between tags."""
    return f"<cif>\n{cif}</cif>"


def whole_answer(cif: str, rng: Random) -> str:
    """A usual answer, thoughts and prose in front, up to the closing tag."""
    front = rng.choice(("", f"Here it is.\n\n{_PROSE}", f"<think>{_PROSE * 3}</think>\n"))
    return front + tagged(cif)


class HostileText(str):
    """A text of which no method works."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("hostile")

    __len__ = __eq__ = __hash__ = __iter__ = __contains__ = __getitem__ = __reduce__ = __str__  # type: ignore[assignment]
    find = rfind = isascii = replace = split = strip = encode = lower = count = startswith = __str__  # type: ignore[assignment]


class _LiesAboutItsClass:
    """Says that it is a text, and is none."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


def _no_text(cif: str, given: str, rng: Random) -> object:
    things: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: rng.randrange(-9, 10**30),
        lambda: float("nan"),
        lambda: tagged(cif).encode("utf-8", "replace"),
        lambda: bytearray(tagged(cif).encode("utf-8", "replace")),
        lambda: [tagged(cif)],
        lambda: {"content": tagged(cif)},
        lambda: {"role": "assistant", "content": [{"type": "text", "text": tagged(cif)}]},
        lambda: _LiesAboutItsClass(),
        lambda: object(),
        lambda: str,
        lambda: iter(tagged(cif)),
        lambda: NotImplemented,
    )
    return rng.choice(things)()


def _tag_soup(cif: str, given: str, rng: Random) -> str:
    pieces = [rng.choice((*_PIECES.split(" "), cif, given)) for _ in range(rng.randint(2, 12))]
    return "".join(pieces)


def _lookalike_tags(cif: str, given: str, rng: Random) -> str:
    opening = rng.choice(_LOOKALIKES)
    closing = opening.replace("cif", "/cif").replace("сif", "/сif")
    front = f"<cif>\n{given}</cif>\n" if rng.random() < 0.5 else ""
    return f"{front}{opening}\n{cif}{closing}\n"


def _nested(cif: str, given: str, rng: Random) -> str:
    depth = rng.choice((1, 2, 10, 1000))
    return "<cif>" * depth + "\n" + cif + "</cif>" * rng.choice((1, depth))


def _fences(cif: str, given: str, rng: Random) -> str:
    language = rng.choice(("", "cif", "text", " CIF "))
    fenced = f"```{language}\n{cif}```\n"
    return rng.choice((fenced, f"```python\nprint()\n```\n{fenced}That is it.", f"<cif>\n{fenced}</cif>", fenced[:-4]))


def _closing_tag_lost(cif: str, given: str, rng: Random) -> str:
    end = rng.choice(("", "\n<|im_end|>", "<", "</", "</c", "</ci", "</cif", "\n\nDone: the site has moved.", "```"))
    return f"<cif>\n{cif.rstrip() if end.startswith('<') else cif}{end}"


def _with_thoughts(cif: str, given: str, rng: Random) -> str:
    thought = rng.choice(
        (tagged(given), given, f"```\n{given}```", "<cif>", _PROSE, "</cif>", "<think>", "``` <cif> data_")
    )
    opened = rng.choice(("<think>", "<THINK>", ""))
    return f"{opened}{thought}\n</think>\n{rng.choice(('', _PROSE))}{tagged(cif)}"


def _drafts(cif: str, given: str, rng: Random) -> str:
    drafts = "".join(f"Draft:\n{tagged(given)}\n" for _ in range(rng.randint(1, 5)))
    return f"{drafts}Final answer:\n{tagged(cif)}\n" + rng.choice(("", "I used the <cif></cif> tags.", "<cif>"))


def _soft_spaces(cif: str, given: str, rng: Random) -> str:
    text = tagged(cif)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len("<cif>"), len(text) - len("</cif>"))
        text = text[:place] + rng.choice("\u200b\ufeff\u2060") + text[place:]
    return text.replace(" ", rng.choice((" ", "\u00a0", "\u202f", "\u2009")))


def _long_prose(cif: str, given: str, rng: Random) -> str:
    words = rng.choice((_PROSE, "x", "<", "`", "\n", "<cif", "</think", "Å", "\ud800", "data_ "))
    return words * (10**6 // len(words)) + "\n" + tagged(cif) + "\n" + words * (10**5 // len(words))


RIGHT: Mapping[str, Markup] = {
    "plain": lambda cif, given, rng: tagged(cif),
    "tags in other case": lambda cif, given, rng: rng.choice(("<CIF>\n{}</CIF>", "<Cif>\n{}</ciF>")).format(cif),
    "fences": _fences,
    "closing tag lost": _closing_tag_lost,
    "nested openings": _nested,
    "thoughts before": _with_thoughts,
    "drafts before": _drafts,
    "spaces that do not break": _soft_spaces,
    "text with hostile methods": lambda cif, given, rng: HostileText(tagged(cif)),
}
RIGHT_AT_LENGTH: Mapping[str, Markup] = {
    "a megabyte of prose": _long_prose,
    "ten thousand nested tags": lambda cif, given, rng: "<cif>" * 10_000 + cif + "</cif>" * 10_000,
    "ten thousand drafts": lambda cif, given, rng: f"<cif>\n{given[:200]}</cif>\n" * 10_000 + tagged(cif),
}
NOTHING: Mapping[str, Markup] = {
    "only inside thoughts": lambda cif, given, rng: (
        f"<think>\n{whole_answer(cif, rng)}\n</think>\n" + rng.choice(("", "Done.", "See above."))
    ),
    "thoughts never closed": lambda cif, given, rng: f"<think>{rng.choice(('', _PROSE))}{tagged(cif)}",
    "thoughts opened again": lambda cif, given, rng: f"<think>a</think><think>{tagged(cif)}",
    "two CIFs in one pair": lambda cif, given, rng: tagged("".join(rng.sample((cif, given), 2))),
    "nothing but blank tags": lambda cif, given, rng: f"{cif}\n<cif>{' ' * rng.randrange(9)}</cif>",
    "no text": _no_text,
    "prose": lambda cif, given, rng: rng.choice(("", " ", "I cannot.", "\0", "\ud800", "None", _PROSE)),
}
OPEN: Mapping[str, Markup] = {
    "tag soup": _tag_soup,
    "look-alike tags": _lookalike_tags,
    "bytes in the wrong code": lambda cif, given, rng: (
        tagged(cif).encode(rng.choice(("utf-16", "utf-8-sig", "utf-7", "utf-32")), "replace").decode("latin-1")
    ),
    "backwards": lambda cif, given, rng: rng.choice((tagged(cif)[::-1], tagged(cif[::-1]))),
    "escaped": lambda cif, given, rng: repr(tagged(cif)),
}
IGNORANT: Mapping[str, Markup] = {
    "copy": lambda cif, given, rng: tagged(given),
    "truth first, copy last": lambda cif, given, rng: f"{tagged(cif)}\n{tagged(given)}",
    "truth in thoughts, copy after": lambda cif, given, rng: f"<think>{tagged(cif)}</think>{tagged(given)}",
    "copy in a fence": lambda cif, given, rng: f"```\n{cif}```\n<cif>\n```\n{given}```\n</cif>",
}


def prompt_echo(task: Task, rng: Random) -> str:
    """The prompt, whole or in part, as it is or between tags."""
    prompt = default_template().render(task.structure, task.prompt)
    start, end = rng.choice((0, rng.randrange(len(prompt)))), rng.choice((len(prompt), rng.randrange(len(prompt))))
    return rng.choice(("{}", "<cif>{}</cif>", "<think>{}</think>", "{0}\n{0}")).format(prompt[start:end])
