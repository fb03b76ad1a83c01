from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from atomworld_env.report.published import published_models
from atomworld_env.report.stored_run import read_runs
from atomworld_env.report.success_table import success_tables
from atomworld_env.report.text_tables import CSV_COLUMNS, csv_table, markdown_tables, markdown_text


def test_the_csv_has_a_line_for_each_profile_row_and_edit(run_folders: dict[str, Path]) -> None:
    runs = read_runs([run_folders["noop"]])
    lines = list(csv.DictReader(io.StringIO(csv_table(runs, success_tables(runs, published_models())))))
    assert tuple(lines[0]) == CSV_COLUMNS
    assert len(lines) == 12 * 11 + 11 + 11 + 11
    (move,) = [line for line in lines if (line["profile"], line["kind"], line["action"]) == ("paper", "run", "move")]
    assert move["floor"] == move["rate"]
    assert (move["n"], move["unanswered"]) == ("2", "0")
    assert all(line["floor"] == "" for line in lines if line["profile"] == "strict")


def test_the_markdown_has_the_floor_beside_the_paper_profile(run_folders: dict[str, Path]) -> None:
    runs = read_runs([run_folders["oracle"]])
    text = markdown_tables(runs, success_tables(runs, []))
    paper, strict = text.split("**Success under the ")[1:]
    assert paper.startswith("paper")
    assert "unchanged input (floor)" in paper
    assert "| oracle | 100.0 [" in paper
    assert "floor" not in strict.split("| run |")[0]


def test_names_cannot_break_a_table(changed_run: Callable[..., Path]) -> None:
    assert markdown_text("a|b `c` <d>\n*e*") == "a\\|b \\`c\\` \\<d\\> \\*e\\*"
    runs = read_runs([changed_run(policy="=1+1|<b>")])
    tables = success_tables(runs, [])
    assert "\n'=1+1|<b>" in csv_table(runs, tables).replace("strict,", "\n")
    rows = [line for line in markdown_tables(runs, tables).splitlines() if "1+1" in line]
    assert len({line.replace("\\|", "").count("|") for line in rows[:2]}) == 1
