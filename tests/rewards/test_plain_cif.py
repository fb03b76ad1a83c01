"""Which texts the fast reader takes, and that pymatgen reads those the same."""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from ase.data import chemical_symbols
from crystal_texts import CELL, FRAC, SPECIES, cif, cif_of, prototypes, tagged

from atomworld_env.structures.cif import CIF_STYLES, write_cif
from atomworld_env.tasks.suite import Suite
from rewards import limits, prepare_target, verify
from rewards.cif_reading import read_cif
from rewards.plain_cif import PlainReading, read_plain, why_handed_over

FUZZER = Path(__file__).parents[2] / "benchmarks" / "fuzz_reader.py"
CUBIC = (4.0, 4.0, 4.0, 90, 90, 90)


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    """`benchmarks/fuzz_reader.py`, whose comparison with the reference the tests share."""
    spec = importlib.util.spec_from_file_location("fuzz_reader", FUZZER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FUZZER.parent)  # its texts are in a module beside it
        spec.loader.exec_module(module)
    return module


Difference = Callable[[str, PlainReading], str | None]


@pytest.fixture(scope="module")
def difference(fuzzer: ModuleType) -> Difference:
    found: Difference = fuzzer.difference
    return found


def label_only() -> str:
    rows = [f"{symbol}{index} {x} {y} {z}" for index, (symbol, (x, y, z)) in enumerate(zip(SPECIES, FRAC, strict=True))]
    tags = [f"_atom_site_{tag}" for tag in ("label", "fract_x", "fract_y", "fract_z")]
    return "\n".join([cif().partition("loop_")[0] + "loop_", *tags, *rows])


def with_loop(*lines: str) -> str:
    return cif(extra="\n".join(["loop_", *lines]))


def with_x(value: str) -> str:
    return cif(frac=[(value, 0.1, 0.2), *FRAC[1:]])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(cif(), id="as-it-comes"),
        pytest.param("Here is the crystal in Å:\n" + cif(), id="prose-before"),
        pytest.param("# generated using pymatgen\n" + cif(), id="comment-before"),
        pytest.param(cif(extra="# moved by 1 Å"), id="comment-line"),
        pytest.param(cif().replace(" 5.1\n", " 5.1 # b\n"), id="comment-after-a-value"),
        pytest.param(cif().replace("\n", "\r\n"), id="dos-line-ends"),
        pytest.param(cif().replace(" ", "\t"), id="tabs"),
        pytest.param(cif().replace("\n", "\n\n"), id="blank-lines"),
        pytest.param(cif(extra="_symmetry_space_group_name_H-M 'P 1'"), id="p1-by-name"),
        pytest.param(cif(extra="_space_group_name_H-M_alt P1"), id="p1-by-new-name"),
        pytest.param(cif(extra="_space_group_name_Hall 'P 1'"), id="p1-by-hall-symbol"),
        pytest.param(cif(extra="_symmetry_Int_Tables_number 1"), id="p1-by-number"),
        pytest.param(cif(operators=["x, y, z"]), id="identity"),
        pytest.param(cif(extra="_symmetry_equiv_pos_as_xyz x,y,z"), id="identity-outside-a-loop"),
        pytest.param(cif(operators=["x,y,z"], extra="_space_group_IT_number 225"), id="operators-outrank-the-number"),
        pytest.param(with_loop("_space_group_symop_id", "_space_group_symop_operation_xyz", "1 x,y,z"), id="new-names"),
        pytest.param(cif(extra="_chemical_formula_sum 'Na7 Cl'"), id="wrong-formula-sum"),
        pytest.param(cif(extra="_audit_creation_method 'by hand'"), id="tag-that-nobody-reads"),
        pytest.param(cif(frac=[FRAC[0], (1.31, -0.48, 2.13), *FRAC[2:]]), id="other-images"),
        pytest.param(cif(frac=[("0.", "-.0", "+1.0"), *FRAC[1:]]), id="ways-to-write-zero"),
        pytest.param(cif(frac=[("-0.00000000000000001", 0, 0), *FRAC[1:]]), id="wraps-to-one"),
        pytest.param(cif(CUBIC, ["Mg"], [("0.3333", "0.6667", "-0.3333")]), id="thirds"),
        pytest.param(cif(CUBIC, ["Mg"], [("0.33330", "0.33337", "0.66673")]), id="edges-of-thirds"),
        pytest.param(cif(CUBIC, ["Mg"], [("0.33329", "0.33338", "0.66661")]), id="beyond-the-edges-of-thirds"),
        pytest.param(cif(frac=[FRAC[0], (0.0002, 0.0, 0.0), *FRAC[2:]]), id="near-but-apart"),
        pytest.param(cif(occupancy=["1.0", "1", "1.000", "1"]), id="occupancy-one"),
        pytest.param(label_only(), id="label-without-symbol"),
        pytest.param(cif(species=["Og", "No", "Co", "H"]), id="symbols-that-look-like-others"),
        pytest.param(cif(species=["He", "Ne", "Ar", "Kr"]), id="noble-gases"),
    ],
)
def test_taken_and_read_as_pymatgen_reads(text: str, difference: Difference) -> None:
    assert why_handed_over(text) is None
    plain = read_plain(text)
    assert plain is not None
    assert difference(text, plain) is None


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        pytest.param("", "data_", id="empty"),
        pytest.param("x " + cif(), "data_", id="data-within-a-line"),
        pytest.param("data_a\n_b 1\n" + cif(), "more than one block", id="two-blocks"),
        pytest.param(cif().replace("data_crystal", "data_powder_pattern"), "skips", id="block-that-pymatgen-skips"),
        pytest.param(cif(extra="_x\n;\nlong\n;"), "text field", id="text-field"),
        pytest.param(cif(extra="_x a#b"), "inside a word", id="hash-in-a-word"),
        pytest.param(cif(extra="save_x"), "save_", id="save-frame"),
        pytest.param(cif() + "stop_", "stop_", id="stop"),
        pytest.param(cif(extra="_x 'an Å'"), "ASCII", id="outside-ascii"),
        pytest.param(cif(frac=[("−0.1", 0, 0), *FRAC[1:]]), "ASCII", id="minus-outside-ascii"),
        pytest.param(cif().replace("4.2", "4.2\f"), "printable", id="form-feed"),
        pytest.param(cif().replace("\n", "\r"), "data_|printable", id="mac-line-ends"),
        pytest.param(cif() + "That is all I changed.", "", id="prose-after"),
        pytest.param(cif().replace("loop_", "LOOP_"), "stands for something else", id="loop-in-capitals"),
        pytest.param(cif(extra="_x 'loop_ '"), "", id="loop-in-quotes"),
        pytest.param(cif(extra="_x '\n_cell_length_a 3'"), "", id="quote-over-two-lines"),
        pytest.param(cif(extra="_x ' _cell_length_a 3'"), "may hold a tag", id="tag-in-quotes"),
        pytest.param(cif().replace("_cell_length_a", "_Cell_length_a"), "_Cell_length_a", id="tag-in-capitals"),
        pytest.param(cif(extra="_cell_length_a 4.2"), "duplicate", id="tag-twice"),
        pytest.param(cif(extra="_eof 1"), "_eof", id="tag-that-ends-the-block"),
        pytest.param(cif(extra="_space_group_magn.number_BNS 1.1"), "magn", id="magnetic-group"),
        pytest.param(cif(extra="_atom_site_calc_flag d"), "outside a loop", id="column-outside-a-loop"),
        pytest.param(cif().replace("_cell_length_b 5.1\n", ""), "missing", id="length-missing"),
        pytest.param(cif(("4.2(1)", *CELL[1:])), "decimals", id="length-with-uncertainty"),
        pytest.param(cif((-4.2, *CELL[1:])), "length", id="negative-length"),
        pytest.param(cif((1001, *CELL[1:])), "length", id="absurd-length"),
        pytest.param(cif((*CELL[:5], 5)), "angle", id="sharp-angle"),
        pytest.param(cif((4, 4, 4, 90, 150, 30)), "flat", id="angles-do-not-close"),
        pytest.param(cif((4, 4, 4, 119.999, 119.999, 119.999)), "flat", id="nearly-flat"),
        pytest.param(cif(operators=["x, y, z", "-x, -y, -z"]), "identity", id="operators"),
        pytest.param(cif(operators=["-x, -y, -z"]), "identity", id="inversion"),
        pytest.param(cif(operators=["X, Y, Z"]), "identity", id="operator-in-capitals"),
        pytest.param(cif(operators=["x," + " " * 90 + "y, z"]), "identity", id="bound-on-operators"),
        pytest.param(cif(extra="_symmetry_space_group_name_H-M 'P -1'"), "not P 1", id="another-group-by-name"),
        pytest.param(cif(extra="_space_group_IT_number 2"), "not P 1", id="another-group-by-number"),
        pytest.param(with_loop("_symmetry_equiv_pos_site_id", "1"), "neither", id="operator-loop-without-operators"),
        pytest.param(with_loop("_atom_type_symbol", "Na"), "neither", id="another-loop"),
        pytest.param(with_loop("_atom_site_calc_flag", "d"), "two loops", id="two-site-loops"),
        pytest.param(cif(species=[], frac=[]), "rows|parse|loop", id="empty-loop"),
        pytest.param("data_x\n_cell_length_a 4\n", "no loop of sites", id="no-sites"),
        pytest.param(cif().replace("_atom_site_occupancy", "_atom_site_fract_x"), "duplicate", id="column-twice"),
        pytest.param(cif().replace("_occupancy", "_attached_hydrogens"), "may read", id="column-that-pymatgen-reads"),
        pytest.param(cif().replace("_site_label", "_site_calc_flag"), "missing", id="no-labels"),
        pytest.param(cif().replace("Na0", "'Na0'"), "quote", id="quoted-label"),
        pytest.param(cif(species=["Na+", "Na", "Cl", "O"]), "symbol", id="charge"),
        pytest.param(cif(species=["NA", "Na", "Cl", "O"]), "symbol", id="symbol-in-capitals"),
        pytest.param(cif(species=["D", "Na", "Cl", "O"]), "symbol", id="isotope"),
        pytest.param(cif(species=["Xx", "Na", "Cl", "O"]), "symbol", id="unknown-element"),
        pytest.param(label_only().replace("O3", "OH3"), "label", id="label-of-a-molecule"),
        pytest.param(label_only().replace("O3", "Ow"), "symbol", id="label-of-water"),
        pytest.param(cif(occupancy=[1, 0.5, 1, 1]), "occupancy", id="occupancy-half"),
        pytest.param(cif(occupancy=[1, "?", 1, 1]), "decimals", id="occupancy-unknown"),
        pytest.param(with_x("0.1(2)"), "decimals", id="coordinate-with-uncertainty"),
        pytest.param(with_x("1e-1"), "decimals", id="coordinate-with-exponent"),
        pytest.param(with_x("."), "float", id="coordinate-dot"),
        pytest.param(with_x("?"), "decimals", id="coordinate-unknown"),
        pytest.param(with_x("nan"), "decimals", id="coordinate-nan"),
        pytest.param(with_x("1_0"), "decimals", id="coordinate-underscore"),
        pytest.param(with_x("1-2"), "float", id="coordinate-sum"),
        pytest.param(with_x("99999"), "far outside", id="coordinate-large"),
        pytest.param(with_x("9" * 400), "far outside", id="coordinate-infinite"),
        pytest.param(cif(frac=[*FRAC[:3], FRAC[0]]), "one place", id="same-place"),
        pytest.param(cif(frac=[*FRAC[:3], (0.99995, 1.00005, 0)]), "one place", id="nearly-the-same-place"),
        pytest.param(cif(frac=[*FRAC[:3], (-2, 3, 1)]), "one place", id="same-place-in-another-cell"),
        pytest.param("data_x" + " " * 401 + "\n" + cif().partition("\n")[2], "blank", id="bound-on-blank-space"),
        pytest.param(cif() + "O O 0 0 0 1\n" * limits.MAX_ROWS, "rows", id="bound-on-rows"),
        pytest.param("x" * limits.MAX_CHARACTERS + "\n" + cif(), "characters", id="bound-on-length"),
    ],
)
def test_handed_over(text: str, clause: str) -> None:
    reason = why_handed_over(text)
    assert reason is not None
    assert any(part in reason for part in clause.split("|"))
    assert read_plain(text) is None


@pytest.mark.parametrize("start", range(1, 119, 30))
def test_every_element_comes_in_its_place(start: int, difference: Difference) -> None:
    symbols = chemical_symbols[start : start + 30]
    text = cif(species=symbols, frac=[(f"{k / 31:.4f}", 0.1, 0.2) for k in range(len(symbols))])
    plain = read_plain(text)
    assert plain is not None
    assert difference(text, plain) is None


@pytest.mark.parametrize("style", CIF_STYLES)
def test_all_that_a_prompt_shows_is_taken(style: str, small_suite: Suite, difference: Difference) -> None:
    for task in small_suite.tasks:
        text = write_cif(task.target_crystal, style=style)  # type: ignore[arg-type]
        assert why_handed_over(text) is None
        assert why_handed_over(task.target) is None
    plain = read_plain(text)
    assert plain is not None
    assert difference(text, plain) is None


@pytest.mark.parametrize("structure", prototypes(4, 24)[::12], ids=lambda structure: structure.formula.replace(" ", ""))
def test_crystals_are_read_as_pymatgen_reads(structure: object, difference: Difference) -> None:
    text = cif_of(structure)  # type: ignore[arg-type]
    plain = read_plain(text)
    assert plain is not None
    assert difference(text, plain) is None


def test_verdicts_of_both_engines(small_suite: Suite) -> None:
    for task in small_suite.tasks[::2]:
        for answer in (tagged(task.target), tagged(task.structure), task.structure.replace("P 1", "P -1")):
            fast = verify(answer, task.target, structure=task.structure)
            reference = verify(answer, task.target, structure=task.structure, engine="reference")
            assert fast.stage is reference.stage
            assert fast.max_displacement == pytest.approx(reference.max_displacement, abs=1e-9)
            assert fast.sum_displacement == pytest.approx(reference.sum_displacement, abs=1e-9)
            assert fast.length_scale == pytest.approx(reference.length_scale)


def test_the_structure_is_built_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from pymatgen.core.structure import Structure

    def fail(*args: object, **options: object) -> None:
        raise AssertionError("a structure was built")

    monkeypatch.setattr(Structure, "__init__", fail)
    target = prepare_target(cif())
    assert verify(tagged(cif()), target, structure=cif()).success_strict
    with pytest.raises(AssertionError, match="was built"):
        _ = target.structure


def test_engines_by_name() -> None:
    assert isinstance(read_cif(cif()), PlainReading)
    assert not isinstance(read_cif(cif(), engine="reference"), PlainReading)
    with pytest.raises(ValueError, match="choose one of fast, reference"):
        prepare_target(cif(), engine="quick")


def test_a_reading_can_be_pickled() -> None:
    plain = read_plain(cif())
    copy = pickle.loads(pickle.dumps(plain))
    assert copy.species == SPECIES
    assert copy.paper == copy.paper


def test_few_mutated_texts(fuzzer: ModuleType) -> None:
    assert _read_differently(fuzzer, 400, seed=7) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_mutated_texts(fuzzer: ModuleType, seed: int) -> None:
    assert _read_differently(fuzzer, 10_000, seed) == []


def _read_differently(fuzzer: ModuleType, texts: int, seed: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    counts = fuzzer.fuzz(texts, seed, lambda problem, text: found.append((problem, text)))
    print(dict(counts))
    assert counts["taken though mutated"] > texts / 20
    return found
