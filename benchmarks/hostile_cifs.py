"""What a hostile answer may do to the CIF itself: numbers, sites, symbols, columns, symmetry, characters.

Each attack takes the CIF as a sheet and a source of random numbers, and gives the text. The tables say what
the truth may earn after the attack: everything (``RIGHT``), nothing (``NOTHING``), or what it deserves (``OPEN``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from cif_sheet import CELL_TAGS, FRACT, LABEL, OCCUPANCY, SYMBOL, Sheet

CifAttack = Callable[[Sheet, Random], str]

_NO_NUMBERS = (
    "nan NaN inf -inf Infinity 1e400 1e999999999 -1e308 1e7 1_0 0x1F 1/2 ? . - + --1 1e e5 1,5 (1) 0.1.2 None 0.1f "
    "½ ² ٣ １ 0.２5 −0.25 ‒0.25 0.2\x005 0.\ud8002 0.2\udfff 1e٣ 1e9999999999999999999 0.1% 1j True"
)
_NO_LENGTHS = "0 0.0 -0.0 nan inf -inf 1e308 1e-400 1e9 ? . x 5..5 1_0 ５.０ 1e400 -1e-300 1001"
_NO_ANGLES = "0 180 -90 360 450 nan inf ? . x 1e308 180.0000001 -0.0 ９0 1e-400"
_NO_OCCUPANCIES = "0 0.0 0.5 1e-9 -1 2 nan inf . 1.001 0.999 x 1e-400 0.5(5) 1e9"
_NO_ELEMENTS = "X Xx Vac Q R Zz ? * Du M1 E Nａ Сl О Ｏ Na\x00 \ud800 1 - OH2x Uue Na/Cl"
_ONES = "1 1. 1.0 1.000 +1 1e0 1.0E+00 01 1(0) 1.00(5) ? 1.0000001"
_CHARGES = "+ 2+ 1- 2- 0+"
_OPEN_ANGLES = (("10", "20", "170"), ("150", "150", "150"), ("60", "60", "120.1"))


def _one_word(tags: tuple[str, ...], words: str) -> CifAttack:
    return lambda sheet, rng: sheet.one(rng, tags, rng.choice(words.split(" "))).text()


def _cell_word(tags: tuple[str, ...], words: str) -> CifAttack:
    def attack(sheet: Sheet, rng: Random) -> str:
        return sheet.cell(lambda _tag, _value: rng.choice(words.split(" ")), (rng.choice(tags),)).text()

    return attack


def _negative(sheet: Sheet, rng: Random) -> str:
    tags = tuple(rng.sample(CELL_TAGS[:3], rng.randint(1, 3)))
    return sheet.cell(lambda _tag, value: f"{-value:.4f}", tags).text()


def _open_angles(sheet: Sheet, rng: Random) -> str:
    angles = dict(zip(CELL_TAGS[3:], rng.choice(_OPEN_ANGLES), strict=True))
    return sheet.cell(lambda tag, _value: angles[tag], CELL_TAGS[3:]).text()


def _occupancies(words: str, everywhere: bool) -> CifAttack:
    def attack(sheet: Sheet, rng: Random) -> str:
        sheet = sheet.with_occupancy()
        if everywhere:
            return sheet.mapped((OCCUPANCY,), lambda _: rng.choice(words.split(" "))).text()
        return sheet.one(rng, (OCCUPANCY,), rng.choice(words.split(" "))).text()

    return attack


def _shifted(word: str, shift: float) -> str:
    return f"{float(word) + shift:.8f}"


def _row_again(least: float, most: float) -> CifAttack:
    """One site a second time, that far away (fractional) and in another image."""

    def attack(sheet: Sheet, rng: Random) -> str:
        row, shift = rng.choice(sheet.rows), rng.uniform(least, most)
        again = replace(sheet, rows=(row,)).mapped(FRACT, lambda word: _shifted(word, shift + rng.randint(-2, 2)))
        place = rng.randrange(len(sheet.rows) + 1)
        return replace(sheet, rows=(*sheet.rows[:place], *again.rows, *sheet.rows[place:])).text()

    return attack


def _without_column(sheet: Sheet, rng: Random) -> str:
    gone = sheet.columns.index(rng.choice((*FRACT, LABEL)))
    kept = [k for k in range(len(sheet.columns)) if k != gone]
    return replace(
        sheet,
        columns=tuple(sheet.columns[k] for k in kept),
        rows=tuple(tuple(row[k] for k in kept) for row in sheet.rows),
    ).text()


def _value_missing(sheet: Sheet, rng: Random) -> str:
    n = rng.randrange(len(sheet.rows))
    row = list(sheet.rows[n])
    del row[rng.randrange(len(row))]
    return replace(sheet, rows=(*sheet.rows[:n], tuple(row), *sheet.rows[n + 1 :])).text()


def _two_blocks(sheet: Sheet, rng: Random) -> str:
    other = sheet.mapped(FRACT, lambda word: _shifted(word, 0.25))
    first, second = rng.sample([sheet.text(), other.text()], 2)
    return first + (second if rng.random() < 0.5 else second.replace("data_", "data_other_"))


def _isotopes(sheet: Sheet, rng: Random) -> str:
    return sheet.mapped((SYMBOL,), lambda word: rng.choice("DT") if word == "H" else word).text()


def _deuterium(sheet: Sheet, rng: Random) -> str:
    return sheet.one(rng, (SYMBOL,), rng.choice(["D", "T", "H", "D+", "H1-", "2H"])).text()


def _permuted(sheet: Sheet, rng: Random) -> str:
    return replace(sheet, rows=tuple(rng.sample(sheet.rows, len(sheet.rows)))).text()


def _columns_permuted(sheet: Sheet, rng: Random) -> str:
    order = rng.sample(range(len(sheet.columns)), len(sheet.columns))
    return replace(
        sheet,
        columns=tuple(sheet.columns[k] for k in order),
        rows=tuple(tuple(row[k] for k in order) for row in sheet.rows),
    ).text()


def _numbers(write: Callable[[str, Random], str]) -> CifAttack:
    return lambda sheet, rng: sheet.mapped(FRACT, lambda word: write(word, rng)).text()


def _labels(sheet: Sheet, rng: Random) -> str:
    style = rng.choice(("{symbol}", "{symbol}{n}", "{symbol}x{n}", "A{n}"))
    if SYMBOL not in sheet.columns:
        return sheet.text()
    symbols = iter([row[sheet.columns.index(SYMBOL)] for row in sheet.rows])
    return sheet.mapped((LABEL,), lambda _: style.format(symbol=next(symbols), n=rng.randrange(10**6))).text()


def _charges(sheet: Sheet, rng: Random) -> str:
    charge: dict[str, str] = {}
    return sheet.mapped(
        (SYMBOL,), lambda word: word + charge.setdefault(word, rng.choice(("+", "2+", "1-", "2-", "0+")))
    ).text()


def _upper_case_tags(sheet: Sheet, rng: Random) -> str:
    change = rng.choice((str.upper, str.title, str.swapcase))
    head = tuple(change(line) if line.startswith("_cell_") else line for line in sheet.head)
    return replace(sheet, head=head, columns=tuple(change(tag) for tag in sheet.columns)).text()


def _line_ends(sheet: Sheet, rng: Random) -> str:
    return (
        sheet.text()
        .replace("\n", rng.choice(("\r\n", "\n\n", " \n", "\n\t", "\n\n\n")))
        .replace(" ", rng.choice((" ", "\t", "   ")))
    )


def _comments(sheet: Sheet, rng: Random) -> str:
    note = rng.choice(("# site", "# the cell is Å wide", "#", "# data_ loop_ _cell_length_a 3"))
    return "\n".join(line + (f" {note}" if rng.random() < 0.3 else "") for line in sheet.text().split("\n"))


def _unrelated(sheet: Sheet, rng: Random) -> str:
    extra = ("_chemical_name 'α-quartz'", "_note\n;\nlong\n;", "_publ_author 'Å. B.'", "loop_\n_publ_name\nA\nB")
    return replace(sheet, head=(sheet.head[0], rng.choice(extra), *sheet.head[1:])).text()


def _cell_within(sheet: Sheet, rng: Random) -> str:
    def change(tag: str, value: float) -> str:
        return (
            f"{value * rng.uniform(0.9951, 1.0049):.6f}"
            if "length" in tag
            else f"{value + rng.uniform(-0.49, 0.49):.6f}"
        )

    return sheet.cell(change).text()


def _cell_beyond(sheet: Sheet, rng: Random) -> str:
    factor = rng.choice((0.5, 0.99, 1.006, 1.05, 2.0, 10.0))
    return sheet.cell(lambda _tag, value: f"{value * factor:.6f}", CELL_TAGS[:3]).text()


def _character_inside(characters: str) -> CifAttack:
    def attack(sheet: Sheet, rng: Random) -> str:
        text = sheet.text()
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(characters) + text[place:]
        return text

    return attack


NOTHING: Mapping[str, CifAttack] = {
    "coordinate that is no number": _one_word(FRACT, _NO_NUMBERS),
    "length that is no length": _cell_word(CELL_TAGS[:3], _NO_LENGTHS),
    "negative lengths": _negative,
    "angle that is none": _cell_word(CELL_TAGS[3:], _NO_ANGLES),
    "angles that do not close": _open_angles,
    "one occupancy": _occupancies(_NO_OCCUPANCIES, everywhere=False),
    "all occupancies": _occupancies(_NO_OCCUPANCIES, everywhere=True),
    "duplicate site": _row_again(0.0, 5e-5),
    "dummy element": _one_word((SYMBOL,), _NO_ELEMENTS),
    "column missing": _without_column,
    "value missing": _value_missing,
    "no rows": lambda sheet, rng: replace(sheet, rows=()).text(),
    "two blocks": _two_blocks,
}
RIGHT: Mapping[str, CifAttack] = {
    "rows permuted": _permuted,
    "columns permuted": _columns_permuted,
    "other images": _numbers(lambda word, rng: _shifted(word, rng.choice((-1, 0, 1, 2, 17, -999)))),
    "exponents": _numbers(lambda word, rng: f"{float(word):.{rng.choice((8, 12))}{rng.choice('eE')}}"),
    "uncertainties": _numbers(lambda word, rng: f"{word}({rng.randrange(1, 100)})"),
    "signs and zeros": _numbers(
        lambda word, rng: rng.choice(("+", "0", "000", "+0")) + word + "0" * rng.choice((0, 1, 40, 300))
    ),
    "no leading zero": _numbers(lambda word, rng: word.replace("0.", ".", 1)),
    "labels renamed": _labels,
    "charges": _charges,
    "occupancy one": _occupancies(_ONES, everywhere=True),
    "isotopes": _isotopes,
    "tags in other case": _upper_case_tags,
    "line ends and spaces": _line_ends,
    "comments": _comments,
    "unrelated items": _unrelated,
    "cell within tolerance": _cell_within,
}
OPEN: Mapping[str, CifAttack] = {
    "site nearly twice": _row_again(2e-4, 2e-2),
    "one symbol deuterium": _deuterium,
    "cell beyond tolerance": _cell_beyond,
    "control characters": _character_inside("\0\x01\x07\x08\x0b\x0c\x1a\x1b\x1c\x1f\x7f\x85\u2028\r"),
    "lone surrogates": _character_inside("\ud800\udbff\udc00\udfff"),
    "odd characters": _character_inside("\u202e\u0301\u3000\U0001f4a5\u200b\ufeff\u00a0−⁰Å"),
    "syntax characters": _character_inside("#;'\"_[]{}$\\<>`\n\t ?.,()"),
}
