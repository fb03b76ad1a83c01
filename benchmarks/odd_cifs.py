"""CIF texts for `fuzz_reader.py`: crystals of the embedded pool in many styles, and edits that spoil them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.crystal import Crystal
from atomworld_env.structures.pool import default_pool

MOST_SITES = 16  # the reference takes a millisecond for every few sites
DRAWN_SITES = 150  # crystals, evenly over the pool

_WORDS = (
    "0 1 -1 1.0 1. .5 +.25 -0.0 0.3333 0.33334 0.33337 0.3334 0.6667 0.66673 0.6666 1.3333 -0.3333 0.00005 0.99995 "
    "1.0000 0.9999999999999999 -0.00000000000000001 1e-1 1E0 1e-400 9e99 0.25(3) 0.25() (3) ? . nan inf 1_0 0x1 1/2 "
    "99999 1000001 O Na na NA D T X Xx Q OH Ow Wat H2O Na+ O2- Fe3+ Cl1- C1 C1' Na(1) Co CO No NO3 Hw Og Uue "
    "loop_ LOOP_ loop_x _ _eof _a _x.y _cell_length_a _CELL_LENGTH_A _cell_length_a_ _cell_volume _atom_site_label "
    "_atom_site_fract_x _atom_site_occupancy _atom_site_attached_hydrogens _atom_site_moment_label _atom_type_symbol "
    "_symmetry_space_group_name_H-M _space_group_name_H-M_alt _symmetry_Int_Tables_number _space_group_magn.name_BNS "
    "_symmetry_equiv_pos_as_xyz _space_group_symop_operation_xyz _atom_type_oxidation_number _cell_wave_vector_x "
    "data_ data_x DATA_x data_powder_pattern save_ save_x stop_ global_ # #x x#y ; ;x ' \" '' 'a' 'a'b 'a 'P 1' P1 P_1 "
    "'x, y, z' x,y,z '-x, -y, -z' x,y,z,+1 X,Y,Z '_cell_length_a 3' 'loop_' [ ] { } $ \\ <cif> </cif> ``` "
    "\u00a0 \u2212 \u00c5 \u2028 \x00 \x0b \x0c \x1c \x85 \r \ud800 \ufeff"
)
TOKENS = tuple(_WORDS.split(" "))
PIECES = (*TOKENS, " ", "\n", "\t", "\r\n", "\n\n", "\n;\n", "\n# note\n", " # note", "  ", "\n;text\nmore\n;\n")


def sources() -> list[Crystal]:
    """Small crystals from all over the embedded pool."""
    entries = [entry for entry in default_pool().entries() if entry.n_sites <= MOST_SITES]
    return [entry.crystal for entry in entries[:: max(1, len(entries) // DRAWN_SITES)]]


def symmetric_texts(crystals: list[Crystal]) -> list[str]:
    """The crystals as pymatgen writes them, with the space group and without."""
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure
    from pymatgen.io.cif import CifWriter

    texts = []
    for crystal in crystals:
        structure = Structure(Lattice.from_parameters(*crystal.cell), list(crystal.species), crystal.frac)
        texts += [str(CifWriter(structure, symprec=0.01)), str(CifWriter(structure))]
    return texts


def text_of(rng: Random, crystals: list[Crystal], written: list[str]) -> str:
    """One text before any mutation."""
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(written)
    crystal = rng.choice(crystals)
    decimals = rng.choice((3, 4, 4, 4, 5, 6, 8))
    if kind < 0.35:
        return write_cif(crystal, style="full", decimals=decimals)
    if kind < 0.55:
        return write_cif(crystal, style="compact", decimals=decimals)
    return loose_text(rng, crystal, decimals, oddity=rng.choice((0.0, 0.02, 0.1)))


def loose_text(rng: Random, crystal: Crystal, decimals: int, oddity: float) -> str:
    """The crystal in a style of its own; each odd thing that CIF allows comes with this probability."""

    def odd() -> bool:
        return rng.random() < oddity

    cell_tags = ["length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"]
    header = [f"_cell_{tag} {_value(rng, value, 4, odd)}" for tag, value in zip(cell_tags, crystal.cell, strict=True)]
    if rng.random() < 0.5:
        header.append(rng.choice(("_symmetry_space_group_name_H-M 'P 1'", "_space_group_name_H-M_alt 'P 1'")))
    if rng.random() < 0.5:
        header.append(rng.choice(("_symmetry_Int_Tables_number 1", "_space_group_IT_number 1")))
    if rng.random() < 0.5:
        tag = rng.choice(("_symmetry_equiv_pos_as_xyz", "_space_group_symop_operation_xyz"))
        operator = rng.choice(("'x, y, z'", "x,y,z", '"x,y,z"', "'x,y,z'")) if not odd() else rng.choice(TOKENS)
        header.append(rng.choice((f"loop_\n {tag}\n {operator}", f"{tag} {operator}")))
    if odd():
        header.append(
            rng.choice(("_chemical_name 'a # b'", "_note\n;\nlong\n;", "_symmetry_cell_setting cubic", "# x"))
        )
    if odd():
        header.append("loop_\n_atom_type_symbol\n_atom_type_oxidation_number\nNa 1\nO -2")
    rng.shuffle(header)

    columns = ["label", "type_symbol", "fract_x", "fract_y", "fract_z"]
    if rng.random() < 0.4:
        columns.append("occupancy")
    if rng.random() < 0.3:
        columns.append(rng.choice(("symmetry_multiplicity", "Wyckoff_symbol", "B_iso_or_equiv", "attached_hydrogens")))
    if rng.random() < 0.15:
        columns.remove(rng.choice(("label", "type_symbol")))
    rng.shuffle(columns)
    rows = []
    frac = crystal.frac + (rng.choice((0.0, 0.0, 1e-4, 3e-5)) if odd() else 0.0)
    for index, (symbol, place) in enumerate(zip(crystal.species, frac.tolist(), strict=True)):
        if odd():
            symbol += rng.choice(("+", "2-", "3+", "1", "x"))
        if odd():
            symbol = rng.choice(("D", "T", symbol.upper(), symbol.lower(), *TOKENS))
        words = {
            "label": f"{symbol}{index}" if not odd() else rng.choice(TOKENS),
            "type_symbol": symbol,
            "occupancy": rng.choice(("1", "1.0", "1.00")) if not odd() else rng.choice(("0.5", "0", "?", ".", "1(0)")),
        } | {f"fract_{axis}": _value(rng, value, decimals, odd) for axis, value in zip("xyz", place, strict=True)}
        rows.append(rng.choice(("", " ", "  ")) + rng.choice((" ", "  ")).join(words.get(tag, "1") for tag in columns))
    if odd():
        rows.append(rng.choice(rows))
    sites = ["loop_", *(f"_atom_site_{tag}" for tag in columns), *rows]
    parts = [*header, *sites] if rng.random() < 0.9 else [*sites, *header]
    text = "\n".join(
        [*(["# generated"] if rng.random() < 0.2 else []), "data_" + rng.choice(("x", "", "NaCl")), *parts]
    )
    for old, new in (("\n", "\r\n"), (" ", "\t"), ("_cell", "_Cell"), ("\n", "\n\n"), ("\n", " \n"), ("0.", ".")):
        if odd():
            text = text.replace(old, new)
    return text + rng.choice(("", "\n", "\n# end", "\n\n")) + (text if odd() else "")


def _value(rng: Random, value: float, decimals: int, odd: Callable[[], bool]) -> str:
    word = f"{value + (rng.choice((-2, -1, 1, 1, 7)) if odd() else 0):.{decimals}f}"
    if odd():
        word += rng.choice(("(2)", "(12)", "e0", "E-1", "+", "0000000", "00000000000000001"))
    return rng.choice(TOKENS) if odd() else word


def mutate(rng: Random, text: str, other: str) -> str:
    """Up to four edits: most texts stay nearly a CIF."""
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3, 4))):
        text = rng.choice(EDITS)(rng, text, other)
    return text


def _replace_token(rng: Random, text: str, other: str) -> str:
    start = rng.randrange(len(text) + 1)
    while start and not text[start - 1].isspace():
        start -= 1
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[:start] + rng.choice(PIECES) + text[end:]


def _insert(rng: Random, text: str, other: str) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice((*PIECES, chr(rng.randrange(128)), chr(rng.randrange(0x250)))) + text[place:]


def _delete(rng: Random, text: str, other: str) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + text[place + rng.choice((1, 1, 2, 5, 30)) :]


def _edit_digit(rng: Random, text: str, other: str) -> str:
    places = [k for k, character in enumerate(text) if character in "0123456789.-"]
    if not places:
        return text
    place = rng.choice(places)
    return text[:place] + rng.choice("00112233445566778899.-+e(") + text[place + 1 :]


def _respace(rng: Random, text: str, other: str) -> str:
    places = [k for k, character in enumerate(text) if character.isspace()]
    if not places:
        return text
    place = rng.choice(places)
    return text[:place] + rng.choice((" ", "  ", "\t", "\n", "\n\n", "\n ", " \n", "\r\n")) + text[place + 1 :]


def _edit_lines(rng: Random, text: str, other: str) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(4)
    if what == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif what == 1:
        lines.insert(second, lines[first])
    elif what == 2:
        del lines[first]
    else:
        lines.insert(second, rng.choice(other.split("\n")))
    return "\n".join(lines)


def _splice(rng: Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _change_case(rng: Random, text: str, other: str) -> str:
    start = rng.randrange(len(text) + 1)
    end = start + rng.choice((1, 1, 3, 20))
    return text[:start] + text[start:end].swapcase() + text[end:]


EDITS: tuple[Callable[[Random, str, str], str], ...] = (
    _replace_token,
    _replace_token,
    _insert,
    _insert,
    _delete,
    _edit_digit,
    _edit_digit,
    _edit_digit,
    _respace,
    _respace,
    _edit_lines,
    _edit_lines,
    _splice,
    _change_case,
)
