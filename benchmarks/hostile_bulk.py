"""Answers that are to cost a verifier its time or its memory: each is dear in some reader or regular expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from cif_sheet import SYMBOL, Sheet
from hostile_markup import tagged

Bulk = Callable[[Sheet, Random], str]

_TRIPLES = ("x,y,z", "-x,-y,-z", "-y,x-y,z+1/3", "x+1/2,y,z+0.5", "z,x,y", "x/0,y,z", "x,y", "x,y,1..2", "9" * 60)


def _loop(tag: str, values: list[str]) -> str:
    return "\n".join(["loop_", tag, *values])


def _operators(count: int) -> Bulk:
    def write(sheet: Sheet, rng: Random) -> str:
        some = [f"'{rng.choice(_TRIPLES)}'" for _ in range(7)]
        listed = [some[k % 7] for k in range(count)]
        return _headed(sheet, _loop("_symmetry_equiv_pos_as_xyz", listed))

    return write


def _headed(sheet: Sheet, *lines: str) -> str:
    """The sheet with its own words about symmetry replaced by these."""
    cell = tuple(line for line in sheet.head if line.startswith("_cell_"))
    return replace(sheet, head=(sheet.head[0], *lines, *cell)).text()


def _rows(count: int) -> Bulk:
    def write(sheet: Sheet, rng: Random) -> str:
        bare = replace(sheet, rows=()).text()
        row = " ".join(sheet.rows[0]) if rng.random() < 0.5 else " ".join("0" for _ in sheet.columns)
        return bare + (row + "\n") * count

    return write


def _distinct_rows(count: int) -> Bulk:
    def write(sheet: Sheet, rng: Random) -> str:
        symbol = sheet.rows[0][sheet.columns.index(SYMBOL)]
        head = "\n".join(sheet.head[:1] + tuple(line for line in sheet.head if line.startswith("_cell_")))
        tags = "\n".join(f"_atom_site_{tag}" for tag in ("type_symbol", "label", "fract_x", "fract_y", "fract_z"))
        rows = "".join(
            f"{symbol} {symbol}{k} {rng.random():.6f} {rng.random():.6f} {rng.random():.6f}\n" for k in range(count)
        )
        return f"{head}\nloop_\n{tags}\n{rows}"

    return write


def _place(rng: Random) -> list[str]:
    return [f"{rng.random():.6f}" for _ in range(3)]


_LARGE_GROUPS = (
    "_space_group_IT_number {}",
    "_symmetry_Int_Tables_number {}",
    "_symmetry_space_group_name_H-M 'F m -3 m'",
)


def _general_positions(sheet: Sheet, rng: Random) -> str:
    group = rng.choice(
        ("_space_group_IT_number 225", "_symmetry_space_group_name_H-M 'F m -3 m'", "_space_group_IT_number 230")
    )
    count = rng.choice((4, 8, 11, 12, 13, 30))
    rows = tuple(
        tuple(
            f"{rng.random():.5f}" if "fract" in tag else word
            for tag, word in zip(sheet.columns, sheet.rows[0], strict=True)
        )
        for _ in range(count)
    )
    return _headed(replace(sheet, rows=rows), group)


def _named_groups(sheet: Sheet, rng: Random) -> str:
    names = rng.choice(
        (
            "_symmetry_space_group_name_H-M 'I a -3 d'\n_x {}",
            "_space_group_IT_number {}",
            "_symmetry_space_group_name_H-M 'Z{0}'\n_space_group_name_Hall 'Y{0}'",
            "_symmetry_equiv_pos_as_xyz 'x,y,1..2'\n_space_group_IT_number {}",
        )
    )
    return "".join(_headed(sheet, names.format(230 - k)).replace("data_", f"data_{k}", 1) for k in range(16))


def _many_lines(line: str, count: int) -> Bulk:
    return lambda sheet, rng: _headed(sheet, "\n".join(line.format(k) for k in range(count)))


def _digits(sheet: Sheet, rng: Random) -> str:
    digits = rng.choice("0123456789") * rng.choice((4_301, 50_000, 400_000))
    word = rng.choice(("0.{}", "{}", "-{}", "1e{}", "0.1({})", "{}/{}", "1e-{}")).format(digits, digits[:9])
    tags = rng.choice((("_atom_site_fract_x",), (SYMBOL,), ("_atom_site_label",), ("_atom_site_occupancy",)))
    return sheet.with_occupancy().one(rng, tags, word).text()


def _group_of_digits(sheet: Sheet, rng: Random) -> str:
    tag = rng.choice(("_space_group_IT_number", "_symmetry_Int_Tables_number", "_cell_formula_units_Z"))
    return _headed(sheet, f"{tag} {'9' * rng.choice((10, 400, 4_301, 100_000))}")


def _cells(sheet: Sheet, rng: Random) -> str:
    words = rng.choice(
        (
            "1000 0.05 0.05 90 90 90",
            "900 900 0.03 90 90 90",
            "5 5 5 119.99 119.99 119.99",
            "5 5 5 90 90 0.01",
            "999 999 999 90 90 90",
            "0.001 0.001 0.001 90 90 90",
            "1e-5 1e2 1e3 1 1 1.5",
            "7 7 7 179.9 90.05 90.05",
        )
    ).split()
    values = iter(words)
    return sheet.cell(lambda _tag, _value: next(values)).text()


def _magnetic(sheet: Sheet, rng: Random) -> str:
    many = "x,y,z,+1\n" * rng.choice((1, 100, 400))
    return _headed(
        sheet,
        rng.choice(
            (
                f"loop_\n_space_group_symop_magn_operation.xyz\n{many}loop_\n_space_group_symop_magn_centering.xyz\n{many}",
                "_space_group_magn.number_BNS 225.121",
                "_space_group_magn.name_BNS 'F d -3 m'",
            )
        ),
    )


def _blank(sheet: Sheet, rng: Random) -> str:
    blank = rng.choice(("\n", " ", "\t", " \n", "\r", "\x0c", "\u2003")) * rng.choice((390, 410, 100_000, 10**6))
    return sheet.text().replace("\nloop_", f"\n{blank}\nloop_", rng.choice((1, -1)))


def _syntax(pieces: tuple[str, ...]) -> Bulk:
    def write(sheet: Sheet, rng: Random) -> str:
        piece = rng.choice(pieces)
        return _headed(sheet, piece * (rng.choice((1_000, 100_000, 480_000, 1_500_000)) // len(piece)))

    return write


BULK: Mapping[str, Bulk] = {
    "1,000,000 rows": _rows(1_000_000),
    "2,000 equal rows": _rows(2_000),
    "1,450 distinct rows": _distinct_rows(1_450),
    "1,000 distinct rows": _distinct_rows(1_000),
    "10,000 operators": _operators(10_000),
    "900 operators": _operators(900),
    "general positions of large groups": _general_positions,
    "sixteen blocks of named groups": _named_groups,
    "digits without end": _digits,
    "group numbers of many digits": _group_of_digits,
    "extreme cells": _cells,
    "magnetic symmetry": _magnetic,
    "blank space without end": _blank,
    "40,000 tags": _many_lines("_t{} 1", 40_000),
    "40,000 blocks": _many_lines("data_{}", 40_000),
    "tags whose numbers have one hash": _many_lines("_{0}_{0}305843009213693951 {0}", 9_000),
    "quotes": _syntax(("'a", '"', "'\"", "' ' ", "\n'", "'a\n")),
    "text fields": _syntax(("\n;", "\n;\n", ";a\n", "\n;x\n;\n")),
    "loops": _syntax(("loop_\n", "loop_ _a ", "loop_\n_x\n1\n", "_", "_x ", "save_\n", "data_\n", "[", "{a ")),
    "comments": _syntax(("#", "# x\n", " #", "#'\"\n", "x#")),
    "letters": _syntax(("a", "Na", "0 ", "1e", "-", "x,", "(", "9")),
}
"""Reading any of these may take the better part of a second, by design, so that they get a share of their own."""


def bulk_answer(kind: str, sheet: Sheet, rng: Random) -> str:
    """One such answer, between tags, at times left open."""
    text = BULK[kind](sheet, rng)
    return tagged(text) if rng.random() < 0.8 else f"<cif>\n{text}"
