"""From text to verdict, whatever the text."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable

import pytest
from crystal_texts import CELL, FRAC, SPECIES, cif, tagged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewards import Stage, TargetError, Verdict, prepare_target, verify
from rewards.cif_reading import ENGINES
from rewards.verification import baseline_of

TARGET = prepare_target(cif())
MOVED = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])


@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        pytest.param("I cannot.", Stage.NO_CIF, id="no-cif"),
        pytest.param(tagged("data_x"), Stage.CIF_INVALID, id="cif-invalid"),
        pytest.param(tagged(cif(species=SPECIES[:3], frac=FRAC[:3])), Stage.COMPOSITION_MISMATCH, id="composition"),
        pytest.param(
            tagged(cif((9.9, *CELL[1:]), SPECIES[:3], FRAC[:3])), Stage.COMPOSITION_MISMATCH, id="comes-before-cell"
        ),
        pytest.param(tagged(cif((9.9, *CELL[1:]))), Stage.STRUCTURE_MISMATCH, id="cell"),
        pytest.param(tagged(MOVED), Stage.STRUCTURE_MISMATCH, id="structure"),
        pytest.param(tagged(cif()), Stage.CORRECT, id="correct"),
        pytest.param(cif(), Stage.CORRECT, id="correct-without-tags"),
    ],
)
def test_the_first_test_that_fails_names_the_stage(answer: str, stage: Stage) -> None:
    verdict = verify(answer, TARGET)
    assert verdict.stage is verdict.verdict_strict is stage
    assert verdict.success_strict is (stage is Stage.CORRECT)
    assert verdict.parsable is (stage not in (Stage.NO_CIF, Stage.CIF_INVALID))
    assert verdict.message
    assert "\n" not in verdict.message


def test_which_fields_each_profile_fills() -> None:
    strict, paper, both = (verify(tagged(MOVED), TARGET, profile=profile) for profile in ("strict", "paper", "both"))
    assert (strict.verdict_paper, strict.success_paper, strict.rmsd, strict.max_dist) == (None,) * 4
    assert (paper.verdict_strict, paper.success_strict, paper.max_displacement, paper.cell_matches) == (None,) * 4
    assert paper.stage is paper.verdict_paper is Stage.CORRECT
    assert both.stage is both.verdict_strict is Stage.STRUCTURE_MISMATCH
    assert (both.max_displacement, both.rmsd) == (strict.max_displacement, paper.rmsd)


@pytest.mark.parametrize("profile", ["strict", "paper", "both"])
def test_no_cif_under_every_profile(profile: str) -> None:
    verdict = verify("", TARGET, profile=profile)
    assert verdict.verdict_strict is (None if profile == "paper" else Stage.NO_CIF)
    assert verdict.verdict_paper is (None if profile == "strict" else Stage.NO_CIF)


def test_extraction_is_recorded() -> None:
    fenced = verify(f"```\n{cif()}```", TARGET)
    assert (fenced.extraction, fenced.tags_ok, fenced.stage) == ("fence", False, Stage.CORRECT)
    plain = verify(tagged(cif()), TARGET)
    assert (plain.extraction, plain.tags_ok) == ("tags", True)
    assert verify(f"```\n{cif()}```", TARGET, strict_tags=True).stage is Stage.NO_CIF
    assert verify(tagged(cif()), TARGET, strict_tags=True).stage is Stage.CORRECT


def test_baseline_comes_with_the_input_structure() -> None:
    verdict = verify(tagged(cif()), TARGET, structure=MOVED)
    assert verdict.baseline == baseline_of(MOVED, TARGET)
    assert verdict.baseline is not None
    assert verdict.baseline.stage is Stage.STRUCTURE_MISMATCH
    assert verdict.baseline.max_displacement == pytest.approx(verify(MOVED, TARGET).max_displacement)
    assert verify(tagged(cif()), TARGET).baseline is None


def test_prepared_or_not_is_the_same() -> None:
    assert verify(tagged(MOVED), cif(), profile="both") == verify(tagged(MOVED), TARGET, profile="both")
    assert verify(tagged(MOVED), pickle.loads(pickle.dumps(TARGET))) == verify(tagged(MOVED), TARGET)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        pytest.param("", "cannot be read", id="empty"),
        pytest.param("data_x\n", "cannot be read", id="no-structure"),
        pytest.param(cif() + "```", "cannot be read", id="fence"),
        pytest.param(cif(occupancy=[1, 0.5, 1, 1]), "occupancy", id="occupancy"),
        pytest.param(None, "NoneType", id="none"),
    ],
)
def test_a_bad_truth_is_the_callers_error(target: str, reason: str) -> None:
    with pytest.raises(TargetError, match=reason) as caught:
        verify("whatever", target)
    assert "\n" not in str(caught.value)
    if target is not None:
        with pytest.raises(TargetError, match=reason):
            verify("whatever", TARGET, structure=target)


def test_a_truth_that_only_the_paper_profile_reads() -> None:
    disordered = cif(occupancy=[1, 0.5, 1, 1])
    assert verify(tagged(disordered), disordered, profile="paper").stage is Stage.CORRECT


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({"profile": "loose"}, "choose one of strict, paper, both", id="profile"),
        pytest.param({"engine": "quick"}, "choose one of fast, reference", id="engine"),
        pytest.param({"tolerance": 0.0}, "positive", id="zero-tolerance"),
        pytest.param({"tolerance": float("nan")}, "positive", id="nan-tolerance"),
    ],
)
def test_unknown_options(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        verify("", TARGET, **options)  # type: ignore[arg-type]


HEAD, _, ROWS = cif().partition("Na Na0")
ROWS = "Na Na0" + ROWS
CELL_LINES, _, LOOP = HEAD.partition("loop_")
LOOP = "loop_" + LOOP


def operators(count: int, text: str = "x,y,z") -> str:
    return CELL_LINES + "loop_\n_symmetry_equiv_pos_as_xyz\n" + f"'{text}'\n" * count + LOOP + ROWS


def blocks(extra: str) -> str:
    return "".join(
        cif(CUBIC, ["Na"], [(0.1234, 0.0567, 0.2345)], extra=extra.format(230 - i)).replace("_crystal", f"_{i}")
        for i in range(16)
    )


CUBIC = (9, 9, 9, 90, 90, 90)
HOSTILE: dict[str, Callable[[], object]] = {
    "none": lambda: None,
    "bytes": lambda: b"<cif>data_x</cif>",
    "list": lambda: ["data_x"],
    "nul": lambda: "\0" * 1000,
    "nul in a row": lambda: cif().replace("0.31", "0.\0031"),
    "surrogate": lambda: tagged(cif() + "\ud800"),
    "surrogate in a number": lambda: cif().replace("0.31", "0.\ud80031"),
    "megabyte of letters": lambda: "a" * 10**6,
    "megabyte of blank lines": lambda: "data_x" + "\n" * 10**6 + cif(),
    "many blank lines": lambda: "data_x" + "\n" * 10**5 + cif(),
    "megabyte of spaces": lambda: tagged("data_x" + " " * 10**6 + "\n" + cif()),
    "runs of blank lines": lambda: (CELL_LINES + ("\n" * 399 + "x") * 1200 + LOOP + ROWS)[:499_000],
    "million rows": lambda: HEAD + ROWS * 250_000,
    "rows up to the bound": lambda: HEAD + "".join(f"Na N {i / 1500:.5f} 0.1 0.2 1\n" for i in range(1500)),
    "images up to the bound": lambda: cif(
        CUBIC, ["Na"] * 12, [(i / 97, i / 89 + 0.01, 0.2) for i in range(12)], extra="_space_group_IT_number 225"
    ),
    "blocks of named groups": lambda: blocks("_symmetry_space_group_name_H-M 'I a -3 d'\n_x {}"),
    "blocks of groups of other names": lambda: blocks("_space_group_IT_number {}"),
    "blocks of unknown names": lambda: blocks("_symmetry_space_group_name_H-M 'Z{0}'\n_space_group_name_Hall 'Y{0}'"),
    "unread operators": lambda: blocks("_symmetry_equiv_pos_as_xyz 'x,y,1..2'\n_space_group_IT_number {}"),
    "operators and rows": lambda: cif(
        CUBIC, ["Na"] * 1500, [(i / 1501, 0.1, 0.2) for i in range(1500)], operators=["x,y,z", "-x,-y,-z"]
    ),
    "many equal rows": lambda: HEAD + "Na N 0 0 0 1\n" * 2000,
    "short rows": lambda: HEAD + "Na N 0 0 0 1\n" * 35_000,
    "ten thousand operators": lambda: operators(10_000),
    "long operator": lambda: operators(1, "1" * 5000),
    "operators of digits": lambda: operators(500, "1" * 62),
    "operators dividing by zero": lambda: operators(2, "x/0,y,z"),
    "high symmetry, many rows": lambda: cif(
        species=["Na"] * 30, frac=[(i / 31, 0.1, 0.2) for i in range(30)], extra="_space_group_IT_number 225"
    ),
    "group numbers": lambda: cif(extra="_space_group_IT_number 1e9"),
    "quotes": lambda: CELL_LINES + "'a" * 100_000 + "\n" + LOOP + ROWS,
    "quoted lines": lambda: CELL_LINES + ("'a" * 1000 + "\n") * 200 + LOOP + ROWS,
    "open text field": lambda: CELL_LINES + ";\n" + "a\n" * 200_000,
    "empty loops": lambda: "data_x\n" + "loop_\n" * 80_000,
    "many blocks": lambda: "".join(f"data_{i}\n" for i in range(40_000)),
    "many tags": lambda: CELL_LINES + "".join(f"_t{i} 1\n" for i in range(40_000)) + LOOP + ROWS,
    "long number": lambda: cif().replace("0.31", "0." + "3" * 400_000),
    "large exponent": lambda: cif().replace("0.31", "1e400"),
    "huge exponent": lambda: cif().replace("0.31", "1e" + "9" * 1000),
    "nan": lambda: cif().replace("0.31", "nan"),
    "inf": lambda: cif().replace("0.31", "-inf"),
    "nan cell": lambda: cif(("nan", *CELL[1:])),
    "inf cell": lambda: cif(("inf", *CELL[1:])),
    "giant cell": lambda: cif((1e9, 1e9, 1e9, 90, 90, 90)),
    "cell of 1e308": lambda: cif((1e308, 1e308, 1e308, 90, 90, 90)),
    "needle cell": lambda: cif((1000, 0.05, 0.05, 90, 90, 90)),
    "sheet cell": lambda: cif((900, 900, 0.03, 90, 90, 90)),
    "nearly flat cell": lambda: cif((5, 5, 5, 119.99, 119.99, 119.99)),
    "nearly collinear cell": lambda: cif((5, 5, 5, 90, 90, 1)),
    "empty site loop": lambda: HEAD,
    "duplicate sites": lambda: HEAD + ROWS + ROWS,
    "nested tags": lambda: "<cif>" * 10_000 + cif() + "</cif>" * 10_000,
    "thoughts": lambda: "<think>" * 10_000 + cif(),
    "magnetic operators": lambda: cif(
        extra="loop_\n_space_group_symop_magn_operation.xyz\n"
        + "x,y,z,+1\n" * 400
        + "loop_\n_space_group_symop_magn_centering.xyz\n"
        + "x,y,z,+1\n" * 400
    ),
    "magnetic images": lambda: cif(
        CUBIC, ["Na"] * 8, [(i / 97, 0.1, 0.2) for i in range(8)], extra="_space_group_magn.number_BNS 225.121"
    ),
    "magnetic group": lambda: cif(extra="_space_group_magn.number_BNS 227.131"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_answer(name: str, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder) -> None:
    answer = HOSTILE[name]()
    started = time.process_time()
    verdict = verify(answer, TARGET, profile="both")
    assert time.process_time() - started < 8  # two seconds on an idle machine
    assert isinstance(verdict, Verdict)
    assert verdict.success_strict is (verdict.stage is Stage.CORRECT)
    assert verdict.message
    assert "\n" not in verdict.message
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


@pytest.mark.parametrize("profile", ["strict", "both"])
@pytest.mark.parametrize("name", ["blocks of named groups", "blocks of groups of other names", "operators and rows"])
def test_work_that_is_bounded_before_it_is_done(name: str, profile: str) -> None:
    answer = HOSTILE[name]()
    started = time.process_time()
    assert verify(answer, TARGET, profile=profile).verdict_strict in (Stage.CIF_INVALID, Stage.TIMEOUT)
    assert time.process_time() - started < 2  # each took longer on the machine that it was measured on


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("million rows", "characters"),
        ("short rows", "atom rows"),
        ("ten thousand operators", "operators"),
        ("long operator", "operator"),
        ("quotes", "quote"),
        ("high symmetry, many rows", "images of atom rows"),
        ("many blank lines", "blank"),
    ],
)
def test_a_bound_is_a_timeout_that_names_it(name: str, bound: str) -> None:
    verdict = verify(HOSTILE[name](), TARGET)
    assert verdict.stage is Stage.TIMEOUT
    assert bound in verdict.message


def test_honest_size_is_far_below_the_bounds() -> None:
    sites = [(f"{i / 800:.8f}", f"{i * 7 % 800 / 800:.8f}", f"{i * 31 % 800 / 800:.8f}") for i in range(800)]
    text = cif((30, 31, 32, 90, 90, 90), ["Na", "Cl"] * 400, sites)
    assert verify(text, text).stage is Stage.CORRECT


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        pytest.param([(0.01 + 0.1 * i, 0.043, 0.178) for i in range(5)], 960, id="general-places"),
        pytest.param([(0.01 + 0.02 * i, 0, 0) for i in range(20)], 480, id="special-places"),
    ],
)
def test_high_symmetry_is_read(rows: list[tuple[float, ...]], count: int) -> None:
    from pymatgen.symmetry.groups import SpaceGroup

    operators = [operator.as_xyz_str() for operator in SpaceGroup("Fm-3m").symmetry_ops]
    cell, symbols = (30, 30, 30, 90, 90, 90), ["Na"] * len(rows)
    listed, named = cif(cell, symbols, rows, operators=operators), cif(cell, symbols, rows, extra=FM3M)
    target = prepare_target(listed)
    assert len(target.arrangement) == count
    assert verify(named, target).stage is Stage.CORRECT


def test_rows_of_one_orbit_are_no_more_work_than_the_orbit() -> None:
    rows = [(x, y, z) for x in (0.1, 0.9) for y in (0.2, 0.8) for z in (0.3, 0.7)]
    text = cif((30, 30, 30, 90, 90, 90), ["Na"] * 24, [row[k:] + row[:k] for row in rows for k in range(3)], extra=FM3M)
    verdict = verify(text, TARGET, profile="both")
    assert (verdict.verdict_strict, verdict.verdict_paper) == (Stage.CIF_INVALID, Stage.COMPOSITION_MISMATCH)


FM3M = "_symmetry_space_group_name_H-M 'F m -3 m'"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("operators", [["x,y,z"], ["x,y,z", "-x,-y,-z"]], ids=["P1", "P-1"])
@pytest.mark.parametrize(
    "label",
    [
        "?",
        ".",
        "1",
        "xx",
        "(OH)",
        "-OH",
        "'_C'",
        "OH",
        "OH2",
        "_C",
        "*",
        "+",
        "O H",
        "X",
        "Du",
        "E5",
        "''",
        "NO3",
        "Wat",
    ],
)
def test_a_row_that_the_reader_drops_is_refused(label: str, operators: list[str], engine: str) -> None:
    columns = [
        line.split(" ", 1)[-1] if line[:2] in ("Na", "Cl", "O ") else line
        for line in cif(operators=operators).splitlines()
    ]
    right = "\n".join(line for line in columns if line != "_atom_site_type_symbol")
    target = prepare_target(right)
    assert verify(right, target, engine=engine).stage is Stage.CORRECT
    answer = f"{right}\n{label if ' ' not in label else repr(label)} 0.11 0.22 0.33 1\n"
    verdict = verify(answer, target, engine=engine)
    assert (verdict.success_strict, verdict.stage in (Stage.CIF_INVALID, Stage.COMPOSITION_MISMATCH)) == (False, True)
    with_symbol = cif(operators=operators) + f"{label if ' ' not in label else repr(label)} X1 0.11 0.22 0.33 1\n"
    assert not verify(with_symbol, target, engine=engine).success_strict


def test_truncated_anywhere(capfd: pytest.CaptureFixture[str]) -> None:
    text = tagged(cif())
    for end in range(len(text)):
        verdict = verify(text[:end], TARGET)
        assert isinstance(verdict.stage, Stage)
        # Nothing but the line end and the closing tag may be missing from a right answer.
        assert (verdict.stage is Stage.CORRECT) is (end >= len(text.removesuffix("\n</cif>")))
    assert capfd.readouterr() == ("", "")


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str) -> None:
    for answer in (text, tagged(text), "data_" + text, HEAD + text):
        assert isinstance(verify(answer, TARGET, profile="both"), Verdict)


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mutation(data: st.DataObject) -> None:
    text = cif()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        insert = data.draw(
            st.text(max_size=6)
            | st.sampled_from(["loop_", "_", "'", "\n;\n", "#", "data_", "1e99", "nan", "Xx", " 0.5 "])
        )
        text = text[:start] + insert + text[end:]
    assert isinstance(verify(text, TARGET), Verdict)


def test_a_reader_out_of_stack_or_memory_still_gives_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    from pymatgen.io.cif import CifParser

    for error in (RecursionError("too deep"), MemoryError(), ZeroDivisionError(), OverflowError("large")):

        def fail(*args: object, error: Exception = error, **options: object) -> None:
            raise error

        monkeypatch.setattr(CifParser, "parse_structures", fail)
        verdict = verify(cif(), TARGET, engine="reference")
        # Too little memory says nothing about the answer.
        assert verdict.stage is (Stage.TIMEOUT if isinstance(error, MemoryError) else Stage.CIF_INVALID)
        assert ("memory" if isinstance(error, MemoryError) else type(error).__name__) in verdict.message


def test_a_matcher_that_fails_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    from pymatgen.core.structure_matcher import StructureMatcher

    def fail(*args: object, **options: object) -> None:
        raise ValueError("can't find niggli")

    monkeypatch.setattr(StructureMatcher, "fit", fail)
    verdict = verify(cif(), TARGET, profile="paper", engine="reference")
    assert verdict.stage is Stage.STRUCTURE_MISMATCH
    assert "ValueError" in verdict.message


def test_speed_at_forty_sites() -> None:
    sites = [(f"{i / 40:.4f}", f"{i * 7 % 40 / 40:.4f}", f"{i * 11 % 40 / 40:.4f}") for i in range(40)]
    text = cif((11, 12, 13, 80, 95, 100), ["Na", "Cl"] * 20, sites)
    target = prepare_target(text)
    fastest = min(verify(text, target).seconds for _ in range(20))
    assert fastest < 0.04  # 6 ms on an idle machine
