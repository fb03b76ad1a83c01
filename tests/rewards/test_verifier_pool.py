"""Workers that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from crystal_texts import FRAC, cif, tagged

from rewards import Stage, TargetError, Verdict, VerifierPool, prepare_target, verify
from rewards import pool as pool_module

MOVED = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])


def stall_or_die(answer: str | None, target: str, structure: str | None, **options: object) -> object:
    """Stands in for verification in a worker: some answers never end, some end the process."""
    if answer == "stall":
        time.sleep(600)
    if answer == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if answer == "grow":
        return [bytearray(2**28) for _ in range(10**6)]
    return verify(answer, target, structure=structure, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def one_worker() -> Iterator[VerifierPool]:
    with VerifierPool(1) as pool:
        yield pool


def test_verdicts_in_order_and_as_in_process() -> None:
    answers: list[object] = [tagged(cif()), "nothing", tagged(MOVED), None, tagged("data_x"), "\ud800"] * 3
    target = prepare_target(cif())
    with VerifierPool(2, profile="both") as pool:
        verdicts = pool.verify_many((answer, target, MOVED) for answer in answers)
        shorter = pool.verify_many([(answers[0], cif())])
    expected = [verify(answer, target, structure=MOVED, profile="both") for answer in answers]
    assert [v.stage for v in verdicts] == [v.stage for v in expected]
    assert [v.baseline for v in verdicts] == [v.baseline for v in expected]
    assert [v.max_displacement for v in verdicts] == [v.max_displacement for v in expected]
    assert shorter[0].stage is Stage.CORRECT


def test_only_the_answer_that_stalls_or_kills_its_worker_goes_without_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "verify_texts", stall_or_die)
    answers = [f"data_{number} no crystal" for number in range(24)]
    answers[3], answers[4], answers[15] = "die", "stall", "die"
    with VerifierPool(2, timeout=1.0) as pool:
        verdicts = pool.verify_many((answer, cif()) for answer in answers)
    ended = {index: verdict.stage for index, verdict in enumerate(verdicts) if verdict.stage is not Stage.CIF_INVALID}
    assert ended == {3: Stage.WORKER_LOST, 4: Stage.TIMEOUT, 15: Stage.WORKER_LOST}
    assert "exit code -9" in verdicts[3].message
    assert verdicts[4].success_strict is False
    assert verdicts[4].verdict_paper is None
    assert verdicts[4].seconds == 1.0


def test_the_reference_engine_in_workers() -> None:
    with VerifierPool(1, engine="reference") as pool:
        verdict = pool.verify_many([(tagged(MOVED), cif())])[0]
    assert verdict == verify(tagged(MOVED), cif(), engine="reference")


def test_jobs_are_drawn_only_a_little_ahead(one_worker: VerifierPool) -> None:
    drawn = 0

    def jobs() -> Iterator[tuple[str, str]]:
        nonlocal drawn
        while True:
            drawn += 1
            yield "nothing", cif()

    assert next(one_worker.verify_iter(jobs())).stage is Stage.NO_CIF
    assert drawn < 100


@pytest.mark.parametrize(
    ("target", "reason"), [("no crystal", "cannot be read"), (None, "a target is CIF text, not NoneType")]
)
def test_a_bad_truth_raises_in_the_caller(target: object, reason: str, one_worker: VerifierPool) -> None:
    with pytest.raises(TargetError, match=reason):
        one_worker.verify_many([("nothing", target)])


@pytest.mark.slow
def test_a_worker_that_allocates_without_end_is_named_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "verify_texts", stall_or_die)
    with VerifierPool(2, memory_limit=2**30, timeout=60) as pool:
        verdicts = pool.verify_many((answer, cif()) for answer in (cif(), "grow", MOVED))
    assert [verdict.stage for verdict in verdicts] == [
        Stage.CORRECT,
        Stage.WORKER_LOST,
        Stage.STRUCTURE_MISMATCH,
    ]
    assert "1 GiB" in verdicts[1].message


def test_equal_answers_to_one_target_are_verified_once(
    one_worker: VerifierPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert one_worker._workers is not None
    one_worker._verdicts.clear()
    submitted = []
    submit = one_worker._workers.submit
    monkeypatch.setattr(one_worker._workers, "submit", lambda *key: submitted.append(key) or submit(*key))
    jobs = [(cif(), cif()), (MOVED, cif()), (cif(), cif()), (cif(), MOVED), (cif(), cif(), MOVED)]
    first = one_worker.verify_many(jobs)
    second = one_worker.verify_many(jobs)
    assert len(submitted) == 4
    assert first == second
    assert [verdict.success_strict for verdict in first] == [True, False, True, False, True]
    assert first[4].baseline is not None


def test_ranks_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = pool_module.processors_per_rank()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert pool_module.processors_per_rank() == max(1, alone // 2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "nonsense")
    assert pool_module.processors_per_rank() == alone


@pytest.mark.slow
def test_no_worker_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import time\n"
        "from rewards import VerifierPool\n"
        "if __name__ == '__main__':\n"
        "    with VerifierPool(2) as pool:\n"
        "        print(*pool.process_ids, flush=True)\n"
        "        time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as printed:
        workers = [int(word) for word in printed.readline().split()]
    assert len(workers) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(_is_running(worker) for worker in workers):
        time.sleep(0.2)
    assert not any(_is_running(worker) for worker in workers)


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def imported(answer: str, target: str, structure: str | None, **options: object) -> Verdict:
    """Stands in for verification: which modules the worker has."""
    return Verdict(Stage.NO_CIF, " ".join(sys.modules))


def test_workers_import_neither_torch_nor_the_training_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "verify_texts", imported)
    with VerifierPool(1) as pool:
        modules = set(pool.verify_many([("nothing", cif())])[0].message.split())
    assert "pymatgen.io.cif" in modules
    assert not modules & {"torch", "trl", "transformers", "datasets", "atomworld_env", "multiprocessing.spawn"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param({"profile": "loose"}, "choose one of", id="profile"),
        pytest.param({"engine": "quick"}, "choose one of fast, reference", id="engine"),
        pytest.param({"workers": 0}, "positive", id="workers"),
        pytest.param({"timeout": 0}, "positive", id="timeout"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        VerifierPool(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "way", ["file", pytest.param("stdin", marks=pytest.mark.slow), pytest.param("argument", marks=pytest.mark.slow)]
)
def test_a_script_without_a_main_guard_runs_once(way: str, tmp_path: Path) -> None:
    script = (
        "print('the script runs')\n"
        "from rewards import VerifierPool\n"
        "with VerifierPool(1) as pool:\n"
        "    print(pool.verify_many([('nothing', TARGET)])[0].stage)\n"
    ).replace("TARGET", repr(cif()))
    path = tmp_path / "unguarded.py"
    path.write_text(script)
    arguments = {"file": [str(path)], "stdin": [], "argument": ["-c", script]}[way]
    ended = subprocess.run(
        [sys.executable, *arguments], input=script if way == "stdin" else "", capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout.splitlines(), ended.stderr) == (["the script runs", "no_cif"], "")


class VerifyingEnv(gymnasium.Env[int, int]):
    """Verifies in a pool of its own, as a tool that an agent calls might."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_: object) -> tuple[int, dict[str, object]]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
        with VerifierPool(1) as pool:
            return 0, float(pool.verify_many([(cif(), cif())])[0].success_strict or 0), True, False, {}


def test_in_the_daemonic_workers_of_async_vector_env() -> None:
    vector = gymnasium.vector.AsyncVectorEnv([VerifyingEnv])
    try:
        vector.reset()
        assert vector.step(np.array([0]))[1].tolist() == [1.0]
    finally:
        vector.close()


def test_in_a_running_event_loop() -> None:
    async def cell() -> Stage:
        with VerifierPool(1) as pool:
            return pool.verify_many([(cif(), cif())])[0].stage

    assert asyncio.run(cell()) is Stage.CORRECT


def test_generators_may_take_turns_and_stop_early(one_worker: VerifierPool) -> None:
    one = one_worker.verify_iter((f"data_{number}", cif()) for number in range(10))
    other = one_worker.verify_iter([(cif(), cif()), (MOVED, cif())])
    assert [next(one).stage, next(other).stage, next(one).stage, next(other).stage] == [
        Stage.CIF_INVALID,
        Stage.CORRECT,
        Stage.CIF_INVALID,
        Stage.STRUCTURE_MISMATCH,
    ]
    one.close()
    assert one_worker.verify_many([("nothing", cif())])[0].stage is Stage.NO_CIF


def test_a_pool_whose_workers_are_gone_can_be_opened_again() -> None:
    with VerifierPool(1) as pool:
        assert pool.is_open
        assert pool._workers is not None
        pool._workers.close()
        assert not pool.is_open
        with pytest.raises(RuntimeError, match="closed"):
            pool.verify_many([("nothing", cif())])
        pool.open()
        assert pool.verify_many([("nothing", cif())])[0].stage is Stage.NO_CIF
    assert not pool.is_open


def test_outside_the_with_block() -> None:
    with pytest.raises(RuntimeError, match="with block"):
        VerifierPool(1).verify_many([("nothing", cif())])
