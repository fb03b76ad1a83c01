"""The profile of models over the diagnostic suites."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.competence.published import PUBLISHED_D
from atomworld_env.competence.stored import read_competence
from atomworld_env.evaluation.published_results import published_results
from atomworld_env.report.chart_kinds import RateChart
from atomworld_env.report.published import published_models
from atomworld_env.report.skills import SKILLS, skills_of
from atomworld_env.report.stored_run import read_runs
from atomworld_env.report.write_report import write_report

Folders = dict[tuple[str, str], Path]
FAMILIES = ("coordinates", "cif_repair", "cif_gen", "structprop")


def answers_of(page: str) -> dict[str, Any]:
    (packed,) = re.findall(r'id="answer-data">([^<]*)<', page)
    data: dict[str, Any] = json.loads(gzip.decompress(b64decode(packed)))
    return data


def test_a_model_has_one_profile_over_all_its_runs(
    run_folders: dict[str, Path], skill_folders: Folders, competence_run: Callable[[str], Path]
) -> None:
    # The order of the folders says nothing.
    folders = [skill_folders["oracle", family] for family in reversed(FAMILIES)] + [run_folders["oracle"]]
    folders += [run_folders["noop"], *(skill_folders["noop", family] for family in FAMILIES)]
    runs = read_runs(folders)
    assert [run.family for run in runs[:2]] == ["edits", "edits"]
    skills = skills_of(runs, [read_competence(competence_run("noop"))], published_models())
    assert skills is not None
    oracle, noop = [profile for profile in skills.profiles if profile.model is not None]
    assert (oracle.label, noop.label) == ("oracle", "noop")
    assert set(oracle.rates) == set(noop.rates) == set(SKILLS)
    assert {rate.rate for rate in oracle.rates.values()} == {1.0}
    assert {rate.rate for rate in noop.rates.values()} == {0.0}
    assert oracle.competence is None
    assert noop.d is not None
    assert noop.d > 0.5
    assert {run.model for run in runs if run.config["policy"] == "oracle"} == {oracle.model}


def test_a_second_run_of_a_policy_over_a_family_is_another_model(skill_folders: Folders) -> None:
    folder = skill_folders["noop", "cif_gen"]
    runs = read_runs([folder, folder, skill_folders["noop", "coordinates"]])
    assert [run.model for run in runs] == [0, 1, 0]
    skills = skills_of(runs, [], [])
    assert skills is not None
    mine = [profile for profile in skills.profiles if profile.model is not None]
    assert [set(profile.rates) for profile in mine] == [{"cif_gen", "coordinates"}, {"cif_gen"}]


def test_published_figures_stand_beside_the_runs(
    run_folders: dict[str, Path], skill_folders: Folders, competence_run: Callable[[str], Path], tmp_path: Path
) -> None:
    folders = [run_folders["noop"], skill_folders["noop", "structprop"], competence_run("noop")]
    page = write_report(folders, tmp_path / "report", with_answers=False).page.read_text(encoding="utf-8")
    section = page[page.index('<section id="skills">') :]
    section = section[: section.index("</section>")]
    assert {result.model for result in published_results()} >= set(PUBLISHED_D)
    for words in ("Gemini 2.5 Pro", "8 / 6 of 10", "Qwen3-32B", "1.14", "competence of", "with labels shuffled"):
        assert words in section


def test_edits_alone_have_no_section_on_skills(run_folders: dict[str, Path]) -> None:
    assert skills_of(read_runs([run_folders["noop"]]), [], published_models()) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_runs_of_one_family_alone_make_a_report(skill_folders: Folders, tmp_path: Path, family: str) -> None:
    written = write_report([skill_folders[policy, family] for policy in ("oracle", "noop")], tmp_path)
    page = written.page.read_text(encoding="utf-8")
    assert "Success by edit" not in page
    assert "Claude Opus 4.6" not in page
    assert [(each.before, each.after, each.refusal) for each in written.compared] == [(0, 1, "")]
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["rate"] for row in rows if row["row"] == "oracle"} == {"1.0"}
    assert {row["rate"] for row in rows if row["row"] == "noop"} == {"0.0"}
    assert f"**{SKILLS[family][0]}, success" in (tmp_path / "table.md").read_text(encoding="utf-8")


def test_the_browser_shows_what_a_family_has(skill_folders: Folders, tmp_path: Path) -> None:
    written = write_report([skill_folders["noop", family] for family in FAMILIES], tmp_path)
    data = answers_of(written.page.read_text(encoding="utf-8"))
    of_kind = {task["action"].split("_")[0]: task for task in data["tasks"]}
    points, repair, generate, change = (of_kind[name] for name in ("point", "repair", "generate", "raise"))
    assert json.loads(points["shown"])
    assert json.loads(points["expected"])
    assert not {"before", "target", "cell"} & set(points)
    assert "target" in repair
    assert "before" not in repair
    assert "target" in generate
    assert {"before", "target", "one_of_many"} <= set(change)
    assert len(data["answers"]) == 4 * 6


def test_competence_alone_makes_a_page(competence_run: Callable[[str], Path], tmp_path: Path) -> None:
    folder = competence_run("hf:some/model")
    result = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    assert written["runs"] == []
    (found,) = written["competence"]
    assert found["effects"]["rank"]["d"] == pytest.approx(read_competence(folder).effects["rank"].d)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "hf:some/model on competence" in page
    assert (tmp_path / "out" / "figures" / "competence.svg").is_file()


def test_a_report_of_all_skills_compares_within_each_family(
    run_folders: dict[str, Path], skill_folders: Folders, tmp_path: Path
) -> None:
    folders = [run_folders["oracle"], run_folders["noop"], *skill_folders.values()]
    written = write_report(folders, tmp_path, with_answers=False)
    assert len(written.compared) == 5
    assert written.not_compared == []
    for each in written.compared:
        assert written.runs[each.before].family == written.runs[each.after].family
    statistics = json.loads((tmp_path / "statistics.json").read_text(encoding="utf-8"))
    assert {pair["before"].split(" ")[0] for pair in statistics["paired"]} == {"oracle"}


def test_settings_of_sampling_make_no_other_model(
    skill_folders: Folders, competence_run: Callable[[str], Path], tmp_path: Path
) -> None:
    folders = []
    for family, name in (("coordinates", "hf:some/model temperature=0.7"), ("cif_gen", "hf:some/model")):
        folder = tmp_path / family
        shutil.copytree(skill_folders["noop", family], folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["config"] |= {"policy": name, "settings": {"kind": "hf", "model": "some/model"}}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        folders.append(folder)
    skills = skills_of(read_runs(folders), [read_competence(competence_run("hf:some/model"))], [])
    assert skills is not None
    (mine,) = [profile for profile in skills.profiles if profile.model is not None]
    assert mine.label == "hf:some/model"
    assert set(mine.rates) == {"coordinates", "cif_gen"}
    assert mine.competence is not None


def test_what_was_not_answered_is_said_beside_the_rate(skill_folders: Folders, tmp_path: Path) -> None:
    folders = []
    for kept, family in ((0, "cif_gen"), (2, "coordinates")):
        folder = tmp_path / family
        shutil.copytree(skill_folders["oracle", family], folder)
        lines = (folder / "results.jsonl").read_text().splitlines(keepends=True)
        (folder / "results.jsonl").write_text("".join(lines[:kept]))
        folders.append(folder)
    page = write_report(folders, tmp_path / "report", with_answers=False).page.read_text(encoding="utf-8")
    assert "6 of 6 unanswered" in page
    assert "4 of 6 unanswered" in page
    skills = skills_of(read_runs(folders), [], [])
    assert skills is not None
    assert not skills.profiles[0].answered("cif_gen")
    (chart,) = [chart for chart in skills.charts if isinstance(chart, RateChart)]
    assert set(chart.series[0].rates) == {"coordinates"}
