from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.tasks.suite import Suite, load_suite
from atomworld_env.tasks.task import Task

COMMANDS = [
    "sample", "generate", "evaluate", "table", "policies", "rescore", "score", "audit", "import", "export", "report",
]  # fmt: skip


def atomworld(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real program, as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "atomworld_env.cli.app", *arguments], capture_output=True, text=True, timeout=300
    )


def refused(*arguments: str) -> str:
    """The one line a mistake ends in."""
    ended = atomworld(*arguments)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, ended.stderr
    return lines[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert command == "policies" or f"atomworld {command}" in result.output


def test_help_lists_every_command() -> None:
    output = CliRunner().invoke(app, ["--help"]).output
    assert all(command in output for command in COMMANDS)


class TestSample:
    def test_equal_seeds_print_equal_tasks(self) -> None:
        runner = CliRunner()
        first = runner.invoke(app, ["sample", "--action", "swap", "--seed", "3", "--json"])
        second = runner.invoke(app, ["sample", "--action", "swap", "--seed", "3", "--json"])
        assert first.output == second.output
        assert Task.from_json(json.loads(first.output)).action == "swap"

    def test_the_prompt_and_the_target_are_shown(self) -> None:
        output = CliRunner().invoke(app, ["sample", "--max-sites", "12", "--target"]).output
        assert "<cif>" in output
        assert "Target edit" in output

    def test_an_unknown_action_is_refused(self) -> None:
        assert "unknown action 'fly'; choose from change, remove" in refused("sample", "--action", "fly")

    def test_the_name_of_a_kind_says_which_family_it_is_of(self) -> None:
        result = CliRunner().invoke(app, ["sample", "--action", "point_move", "--json"])
        assert Task.from_json(json.loads(result.stdout)).action == "point_move"

    def test_a_task_of_another_family_is_shown_with_its_prompt(self) -> None:
        output = CliRunner().invoke(app, ["sample", "--family", "coordinates", "--target"]).output
        assert "<answer>" in output
        assert "Target:\n[[" in output
        assert "Target edit" not in output

    def test_options_of_edits_are_refused_elsewhere(self) -> None:
        assert "--max-sites, --cif-style and --decimals are for edits" in refused(
            "sample", "--family", "cif_gen", "--max-sites", "9"
        )
        assert "unknown family 'odes'; choose from edits" in refused("sample", "--family", "odes")


class TestGenerate:
    def test_a_suite_is_written_and_loads(self, tmp_path: Path) -> None:
        arguments = ["generate", "--per-action", "2", "--actions", "add,swap", "--out", str(tmp_path), "--json"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        suite = load_suite(tmp_path)
        assert json.loads(result.stdout)["fingerprint"] == suite.fingerprint
        assert [task.action for task in suite.tasks] == ["add", "swap"] * 2
        assert load_suite(tmp_path / "tasks.parquet").fingerprint == suite.fingerprint
        assert "accepted" in (tmp_path / "card.md").read_text()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(["--suite", "none"], "unknown suite 'none'; choose from atommotor", id="suite"),
            pytest.param(["--actions", "fly"], "unknown action 'fly'", id="action"),
            pytest.param(["--pool", "/no/such/folder"], "/no/such/folder", id="pool"),
            pytest.param(["--per-action", "100000", "--actions", "remove"], "ask for fewer per action", id="too-many"),
        ],
    )
    def test_mistakes_end_in_one_line(self, arguments: list[str], words: str, tmp_path: Path) -> None:
        assert words in refused("generate", "--out", str(tmp_path), *arguments)

    def test_a_pool_without_a_usable_cif_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "pool").mkdir()
        (tmp_path / "pool" / "bad.cif").write_text("data_x\n")
        words = refused("generate", "--out", str(tmp_path / "out"), "--pool", str(tmp_path / "pool"))
        assert "pool" in words

    def test_an_unwritable_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert "choose another --out" in refused("generate", "--out", str(tmp_path / "file" / "suite"))


class TestEvaluate:
    def test_a_run_prints_its_rows_and_can_be_shown_again(self, small_suite_folder: Path, tmp_path: Path) -> None:
        arguments = ["--policy", "oracle", "--suite", str(small_suite_folder), "--per-action", "1", "--actions", "move"]
        ended = atomworld("evaluate", *arguments, "--out", str(tmp_path / "oracle"), "--json")
        assert ended.returncode == 0, ended.stderr
        rows = json.loads(ended.stdout)["rows"]
        assert [row["action"] for row in rows] == ["move", "all"]
        assert rows[0]["strict"]["rate"] == rows[0]["paper"]["rate"] == 1.0
        shown = CliRunner().invoke(app, ["table", str(tmp_path / "oracle"), "--out", str(tmp_path / "table.txt")])
        assert "100.0" in shown.output
        assert "oracle" in (tmp_path / "table.txt").read_text()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(["--policy", "magic"], "unknown policy 'magic'", id="policy"),
            pytest.param(["--policy", "noop", "--suite", "nowhere"], "no suite 'nowhere'", id="suite"),
            pytest.param(["--policy", "noop", "--profile", "loose"], "unknown profile 'loose'", id="profile"),
            pytest.param(["--policy", "noop", "--reward-scheme", "big"], "unknown reward scheme 'big'", id="scheme"),
        ],
    )
    def test_mistakes_end_in_one_line(
        self, arguments: list[str], words: str, small_suite_folder: Path, tmp_path: Path
    ) -> None:
        if "--suite" not in arguments:
            arguments = [*arguments, "--suite", str(small_suite_folder)]
        assert words in refused("evaluate", "--out", str(tmp_path / "run"), *arguments)
        assert not (tmp_path / "run" / "results.jsonl").exists()

    def test_a_broken_task_line_is_named_with_file_and_line(self, small_suite_folder: Path, tmp_path: Path) -> None:
        lines = (small_suite_folder / "tasks.jsonl").read_text().splitlines()
        broken = tmp_path / "tasks.jsonl"
        broken.write_text("\n".join([lines[0], lines[1][:100]]) + "\n")
        words = refused("evaluate", "--policy", "noop", "--suite", str(broken), "--out", str(tmp_path / "run"))
        assert f"{broken}, line 2: not JSON" in words

    def test_a_folder_without_a_run_has_no_table(self, tmp_path: Path) -> None:
        assert "holds no run" in refused("table", str(tmp_path))


class TestScore:
    @pytest.fixture
    def answers(self, small_suite: Suite, tmp_path: Path) -> Path:
        task = small_suite.restricted(["move"], 1).tasks[0]
        lines = [
            {"id": "right", "target": task.target, "answer": f"<think>…</think><cif>{task.target}</cif>"},
            {"id": 2, "target": task.target, "answer": task.structure, "structure": task.structure},
            {"id": "none", "target": task.target, "answer": "I cannot do this.\u2028Sorry."},
            {"id": None, "target": task.target, "answer": None},
        ]
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        return path

    def test_every_answer_gets_its_line_in_order(self, answers: Path, tmp_path: Path) -> None:
        out = tmp_path / "scored.jsonl"
        ended = atomworld("score", str(answers), "--workers", "2", "--out", str(out))
        assert ended.returncode == 0, ended.stderr
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["id"] for line in lines] == ["right", 2, "none", None]
        assert set(lines[0]) == {
            "id", "verdict_strict", "success_strict", "max_displacement", "verdict_paper", "success_paper", "rmsd",
            "max_dist", "seconds",
        }  # fmt: skip
        assert lines[0]["success_strict"] is True
        assert lines[0]["success_paper"] is True
        assert lines[1]["verdict_strict"] == "structure_mismatch"
        assert [line["verdict_strict"] for line in lines[2:]] == ["no_cif", "no_cif"]

    def test_a_profile_not_asked_for_is_null_and_tags_can_be_asked_for(self, answers: Path) -> None:
        ended = atomworld("score", str(answers), "--profile", "paper", "--strict-tags")
        assert ended.returncode == 0, ended.stderr
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        assert [line["verdict_strict"] for line in lines] == [None] * 4
        assert [line["verdict_paper"] for line in lines] == ["correct", "no_cif", "no_cif", "no_cif"]

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            pytest.param("{", "line 2: not JSON", id="json"),
            pytest.param("[]", "line 2: not a JSON object", id="list"),
            pytest.param('{"id": 1, "answer": ""}', "line 2: lacks 'target'", id="no-target"),
            pytest.param('{"id": 1, "target": 4, "answer": ""}', "line 2: target is not text", id="number"),
            pytest.param(
                '{"id": 1, "target": "data_", "answer": ""}', "line 2: the target cannot be used", id="target"
            ),
        ],
    )
    def test_a_bad_line_is_named_before_anything_is_scored(
        self, answers: Path, line: str, words: str, tmp_path: Path
    ) -> None:
        first = answers.read_text(encoding="utf-8").splitlines()[0]
        answers.write_text(f"{first}\n{line}\n", encoding="utf-8")
        out = tmp_path / "kept.jsonl"
        out.write_text("an earlier result\n")
        message = refused("score", str(answers), "--out", str(out))
        assert f"{answers}, {words}" in message
        assert out.read_text() == "an earlier result\n"

    def test_a_missing_file_is_named(self) -> None:
        assert "cannot read nowhere.jsonl" in refused("score", "nowhere.jsonl")


class TestMistakes:
    """Whatever is wrong with what the user gave, it ends in one line, before any long work."""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(["evaluate", "--policy", "noop"], "Missing option '--out'", id="missing-option"),
            pytest.param(["sample", "--seed", "-1"], "--seed", id="out-of-range"),
            pytest.param(["sample", "--colour", "red"], "No such option", id="unknown-option"),
            pytest.param(["paint"], "No such command 'paint'", id="unknown-command"),
            pytest.param(["score", "a.jsonl", "--out", "."], "is a folder", id="out-is-a-folder"),
            pytest.param(["score", "a.jsonl", "--tolerance", "inf"], "tolerance", id="tolerance"),
            pytest.param(["score", "a.jsonl", "--engine", "warp"], "unknown engine 'warp'", id="engine"),
            pytest.param(["audit", "--out", "/proc/x/report.md"], "cannot write to /proc/x", id="audit-out"),
            pytest.param(["generate", "--split", "dev", "--out", "x"], "unknown split 'dev'", id="split"),
        ],
    )
    def test_one_line(self, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert words in refused(*arguments)

    def test_the_answers_are_not_written_over(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text("{}\n")
        assert "choose another --out" in refused("score", str(path), "--out", str(path))
        assert path.read_text() == "{}\n"

    def test_an_empty_file_of_answers_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text("\n")
        assert "holds no answers" in refused("score", str(path))

    def test_another_suite_is_not_written_over(self, small_suite_folder: Path) -> None:
        before = (small_suite_folder / "tasks.jsonl").read_bytes()
        arguments = ["--per-action", "1", "--actions", "remove", "--out", str(small_suite_folder)]
        assert "holds another suite" in refused("generate", *arguments)
        assert (small_suite_folder / "tasks.jsonl").read_bytes() == before

    @pytest.mark.parametrize(
        ("manifest", "results"),
        [
            pytest.param('{"config": {}}', "", id="manifest"),
            pytest.param('{"config": {"policy": "x"}}', '{"index": 0}\n', id="keys"),
            pytest.param('{"config": {"policy": "x"}}', "\udcff\n", id="no-text"),
            pytest.param('{"config": {"policy": "x"}}', "[" * 100_000 + "\n", id="too-deep"),
        ],
    )
    def test_a_damaged_run_has_no_table(self, manifest: str, results: str, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text(manifest)
        (tmp_path / "results.jsonl").write_text(results, errors="surrogateescape")
        assert str(tmp_path) in refused("table", str(tmp_path))

    def test_skipped_files_of_a_pool_are_named(self, tmp_path: Path, small_suite: Suite) -> None:
        pool = tmp_path / "pool"
        pool.mkdir()
        (pool / "good.cif").write_text(small_suite.tasks[0].structure)
        (pool / "bad.cif").write_text("no crystal\n")
        ended = atomworld("sample", "--pool", str(pool), "--split", "all", "--action", "remove")
        assert ended.returncode == 0, ended.stderr
        assert "bad.cif" in ended.stderr


@pytest.mark.slow
def test_control_c_says_that_the_rest_can_be_resumed(small_suite_folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "atomworld_env.cli.app", "evaluate", "--policy", "oracle", "--engine", "reference"]
    command += ["--suite", str(small_suite_folder), "--out", str(tmp_path / "run"), "--workers", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    results = tmp_path / "run" / "results.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (results.exists() and results.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continue with --resume" in errors
    assert "Traceback" not in errors


def test_questions_without_an_answer_end_in_status_1_and_say_how_to_go_on(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    line = [
        "evaluate", "--policy", "openai:nobody", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0",
        "--per-action", "1", "--actions", "remove", "--profile", "strict", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    ended = atomworld(*line)
    assert ended.returncode == 1, ended.stderr
    assert "1 questions have no answer (1 network; see" in ended.stderr
    assert "--resume" in ended.stderr
    assert "Traceback" not in ended.stderr
