"""Agent programs that do right, nothing, too much or harm: every process ends, and only a plain result counts."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from atomworld_env.cli.app import app
from atomworld_env.evaluation.records import stored_results
from atomworld_env.policies.agent_folder import LARGEST_RESULT, answer_of
from atomworld_env.policies.command import AgentCommand, CommandOptions, load_command
from atomworld_env.policies.policy import Failure, FailureKind, ModelPolicy, Question, Reply, settings_of
from atomworld_env.prompts.prompt import load_template
from atomworld_env.tasks.task import Task
from rewards import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs process groups")

Agent = Callable[..., AgentCommand]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Makes a policy of the text of a Python program, or of a shell script."""

    def made(program: str, *, timeout: float = 20.0, concurrency: int = 1, env: tuple[str, ...] = ()) -> AgentCommand:
        path = tmp_path / "agent.py"
        path.write_text(textwrap.dedent(program), encoding="utf-8")
        name = f"command:{shlex.quote(sys.executable)} {shlex.quote(str(path))}"
        return load_command(name, 5, CommandOptions(timeout, env, concurrency))

    return made


@pytest.fixture
def question(small_tasks: dict[str, Task]) -> Question:
    return ask(small_tasks["remove"])


def ask(task: Task, sample: int = 0) -> Question:
    return Question(task, load_template().messages(task.structure, task.prompt), sample)


def reply(policy: AgentCommand, question: Question) -> Reply:
    ((number, outcome),) = policy.replies([question])
    assert number == 0
    assert isinstance(outcome, Reply), outcome
    return outcome


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Path]:
    """A folder into which processes write their number; whatever of them is alive at the end of a test is killed."""
    folder = tmp_path / "daemons"
    folder.mkdir()
    yield folder
    for path in folder.iterdir():
        if psutil.pid_exists(int(path.name)):
            os.kill(int(path.name), signal.SIGKILL)


def alive(folder: Path) -> list[int]:
    found = [int(path.name) for path in folder.iterdir()]
    return [pid for pid in found if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def test_an_agent_that_is_right(agent: Agent, small_tasks: dict[str, Task], tmp_path: Path) -> None:
    task = small_tasks["remove"]
    (tmp_path / "truth.cif").write_text(task.target, encoding="utf-8")
    policy = agent(f"import shutil; shutil.copy({str(tmp_path / 'truth.cif')!r}, 'result.cif'); print('noise' * 10**6)")
    assert isinstance(policy, ModelPolicy)
    said = reply(policy, ask(task))
    assert said.truncated is False
    assert said.seconds is not None
    assert said.seconds > 0
    assert verify(said.text, task.target).success_strict


def test_an_agent_reads_structure_and_instruction(agent: Agent, question: Question) -> None:
    policy = agent(
        """
        import json, os, sys
        told = open("instruction.txt").read()
        seen = {
            "files": sorted(os.listdir()), "structure": open("structure.cif").read(), "told": told,
            "same": sys.stdin.read() == told, "env": dict(os.environ), "here": os.getcwd(),
        }
        open("result.cif", "w").write("<cif>" + json.dumps(seen))
        """
    )
    seen = json.loads(reply(policy, question).text.removeprefix("<cif>"))
    assert seen["files"] == ["instruction.txt", "structure.cif"]
    assert seen["structure"] == question.task.structure
    assert seen["told"].startswith(question.messages[0]["content"])
    assert "result.cif" in seen["told"]
    assert seen["same"]
    assert question.task.target not in seen["told"]
    assert not Path(seen["here"]).exists()


def test_an_agent_sees_only_what_is_allowed(agent: Agent, question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("AGENT_KEY", "for the agent")
    program = "import json, os; open('result.cif', 'w').write('<cif>' + json.dumps(dict(os.environ)))"
    seen = json.loads(reply(agent(program, env=("AGENT_KEY",)), question).text.removeprefix("<cif>"))
    assert set(seen) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "ATOMWORLD_SEED", "AGENT_KEY"}
    assert seen["AGENT_KEY"] == "for the agent"
    assert seen["HOME"] == seen["TMPDIR"] != os.environ["HOME"]
    assert seen["ATOMWORLD_SEED"] == "5"
    assert "for the agent" not in json.dumps(settings_of(agent(program, env=("AGENT_KEY",))))


@pytest.mark.parametrize("program", ["", "raise SystemExit(3)", "import os; os.abort()"], ids=["idle", "fails", "dies"])
def test_an_agent_that_leaves_nothing_has_answered_without_a_crystal(
    agent: Agent, question: Question, program: str
) -> None:
    said = reply(agent(program), question)
    assert (said.text, said.truncated) == ("", False)


def test_an_agent_that_sleeps_is_ended_at_its_limit(agent: Agent, question: Question) -> None:
    begun = time.monotonic()
    said = reply(agent("import time; time.sleep(60)", timeout=0.5), question)
    assert (said.text, said.truncated) == ("", True)
    assert time.monotonic() - begun < 5


def test_a_result_that_was_there_at_the_limit_counts(agent: Agent, question: Question) -> None:
    program = "import time; f = open('result.cif', 'w'); f.write('data_x'); f.flush(); time.sleep(60)"
    said = reply(agent(program, timeout=1.0), question)
    assert (said.text, said.truncated) == ("<cif>\ndata_x\n</cif>", True)


DAEMON = """
    import os, signal, sys, time
    from pathlib import Path
    folder = Path({folder!r})
    def daemon():
        os.setsid()
        if os.fork():
            os._exit(0)
        os.environ.clear()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (folder / str(os.getpid())).touch()
        time.sleep(60)
        os._exit(0)
    for _ in range(3):
        if os.fork() == 0:
            daemon()
    while len(list(folder.iterdir())) < 3:
        time.sleep(0.01)
    {then}
    """


@pytest.mark.parametrize("then", ["pass", "time.sleep(60)"], ids=["ends itself", "is ended"])
def test_daemons_die_with_their_agent(agent: Agent, question: Question, daemons: Path, then: str) -> None:
    said = reply(agent(DAEMON.format(folder=str(daemons), then=then), timeout=3.0), question)
    assert said.truncated == (then != "pass")
    assert len(list(daemons.iterdir())) == 3
    assert alive(daemons) == []


def test_an_agent_that_forks_without_end_is_ended(agent: Agent, question: Question, daemons: Path) -> None:
    program = f"""
    import os, time
    from pathlib import Path
    Path({str(daemons)!r}, str(os.getpid())).touch()
    for _ in range(60):
        time.sleep(0.02)
        if os.fork() == 0:
            os.setsid()
        else:
            os._exit(0)
        Path({str(daemons)!r}, str(os.getpid())).touch()
    """
    reply(agent(program), question)
    assert alive(daemons) == []


def test_what_runs_ends_when_nobody_wants_it_any_more(agent: Agent, question: Question, daemons: Path) -> None:
    program = f"""
    import os, time
    from pathlib import Path
    Path({str(daemons)!r}, str(os.getpid())).touch()
    time.sleep(60 if len(os.listdir({str(daemons)!r})) > 1 else 0)
    """
    replies = agent(program, concurrency=2).replies([question] * 6)
    next(replies)
    while len(list(daemons.iterdir())) < 3:
        time.sleep(0.01)
    begun = time.monotonic()
    replies.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 5
    assert alive(daemons) == []
    assert len(list(daemons.iterdir())) == 3


def test_an_agent_ends_with_a_run_that_is_killed(question: Question, daemons: Path, tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(textwrap.dedent(DAEMON.format(folder=str(daemons), then="time.sleep(60)")), encoding="utf-8")
    runner = f"""
    from atomworld_env import sample_task
    from atomworld_env.policies.command import CommandOptions, load_command
    from atomworld_env.policies.policy import Question
    policy = load_command("command:{sys.executable} {path}", 0, CommandOptions(60.0))
    list(policy.replies([Question(sample_task("remove", seed=1), [{{"role": "user", "content": "x"}}])]))
    """
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(runner)])
    try:
        deadline = time.monotonic() + 30
        while len(list(daemons.iterdir())) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + 5
    while alive(daemons) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(daemons) == []


def test_a_huge_result_is_read_to_a_limit(agent: Agent, question: Question) -> None:
    program = "import os; f = open('result.cif', 'wb'); f.write(b'data_x'); f.truncate(10**9)"
    said = reply(agent(program), question)
    assert said.truncated is True
    assert len(said.text) <= LARGEST_RESULT + 20
    assert verify(said.text, question.task.target).verdict_strict == "cif_invalid"


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.mkfifo('result.cif')",
        "import os; os.mkdir('result.cif')",
        "import os; os.symlink({outside!r}, 'result.cif')",
        "import os; os.symlink('/dev/zero', 'result.cif')",
        "import os, socket; socket.socket(socket.AF_UNIX).bind('result.cif')",
        "import os, shutil; here = os.getcwd(); shutil.rmtree(here); os.symlink({folder!r}, here)",
    ],
    ids=["pipe", "folder", "link", "link to a device", "socket", "another folder in its place"],
)
def test_what_is_no_plain_file_is_no_result(agent: Agent, question: Question, program: str, tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    folder.mkdir()
    outside = folder / "result.cif"
    outside.write_text("data_secret", encoding="utf-8")
    begun = time.monotonic()
    said = reply(agent(program.format(outside=str(outside), folder=str(folder))), question)
    assert said.text == ""
    assert time.monotonic() - begun < 10
    assert outside.read_text(encoding="utf-8") == "data_secret"


def test_links_out_of_the_folder_are_not_followed_when_it_is_removed(
    agent: Agent, question: Question, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    mode = stat.S_IMODE(outside.stat().st_mode)
    program = f"import os; os.symlink({str(outside)!r}, 'link'); os.mkdir('shut'); os.chmod('shut', 0)"
    reply(agent(program), question)
    assert (outside / "kept").exists()
    assert stat.S_IMODE(outside.stat().st_mode) == mode


def test_bytes_that_are_no_text_are_read(agent: Agent, question: Question) -> None:
    said = reply(agent("open('result.cif', 'wb').write(bytes(range(256)))"), question)
    assert "\ufffd" in said.text


def test_several_agents_run_at_once_and_samples_have_seeds_of_their_own(
    agent: Agent, small_tasks: dict[str, Task]
) -> None:
    program = "import os, time; time.sleep(0.5); open('result.cif', 'w').write('<cif>' + os.environ['ATOMWORLD_SEED'])"
    questions = [ask(small_tasks["remove"], sample) for sample in range(4)]
    begun = time.monotonic()
    found = dict(agent(program, concurrency=4).replies(questions))
    seconds = time.monotonic() - begun
    assert [found[number] for number in range(4)] == [
        Reply(f"<cif>{5 + number}", False, None, None, found[number].seconds) for number in range(4)
    ]
    assert seconds < 1.9  # four times half a second, one after the other, and their starts


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("command:", "needs a program"),
        ("command:no-such-program --flag", "'no-such-program' is not found"),
        ("command:'open quote", "quote it"),
    ],
)
def test_a_program_that_cannot_be_run_is_a_mistake_before_anything_runs(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        load_command(name, 0, CommandOptions())
    assert "\n" not in str(error.value)


def test_a_variable_that_is_not_set_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ValueError, match="no variable NOT_SET"):
        load_command("command:true", 0, CommandOptions(environment=("NOT_SET",)))


def test_a_program_that_no_system_can_start_is_a_failure(question: Question, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    ((_, outcome),) = load_command(f"command:{path}", 0, CommandOptions()).replies([question])
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.CRASHED


def test_files_of_the_working_directory_are_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").touch()
    (tmp_path / "structure.cif").touch()
    policy = load_command(f"command:{sys.executable} agent.py structure.cif --flag", 0, CommandOptions())
    assert policy.command[1:] == (str(tmp_path / "agent.py"), "structure.cif", "--flag")


@pytest.mark.parametrize(
    ("left", "answer"),
    [
        ("data_x\n", "<cif>\ndata_x\n\n</cif>"),
        ("<CIF>\ndata_x\n</CIF>", "<CIF>\ndata_x\n</CIF>"),
        (" \n", " \n"),
        ("", ""),
    ],
)
def test_a_result_gets_tags_when_it_has_none(left: str, answer: str) -> None:
    assert answer_of(left) == answer


def test_the_command_evaluates_an_agent(agent: Agent, small_suite_folder: Path, tmp_path: Path) -> None:
    policy = agent("import shutil; shutil.copy('structure.cif', 'result.cif')", concurrency=2)
    arguments = [
        "evaluate", "--policy", policy.name, "--suite", str(small_suite_folder), "--actions", "remove,swap",
        "--per-action", "1", "--profile", "strict", "--out", str(tmp_path / "run"), "--workers", "1", "--json",
        "--concurrency", "2", "--command-timeout", "30",
    ]  # fmt: skip
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    verdicts = [record["verdict_strict"] for record in stored_results(tmp_path / "run")]
    assert verdicts == ["composition_mismatch", "structure_mismatch"]
