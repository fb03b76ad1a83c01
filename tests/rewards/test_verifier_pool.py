"""Workers that can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crystal_texts import FRAC, cif, tagged

from rewards import Stage, TargetError, VerifierPool, prepare_target, verify
from rewards import pool as pool_module

MOVED = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])


def stall_or_die(answer: str | None, target: str, structure: str | None, options: dict[str, object]) -> object:
    """Stands in for verification in a worker: some answers never end, some end the process."""
    if answer == "stall":
        time.sleep(600)
    if answer == "die":
        os._exit(3)
    if answer == "grow":
        return [bytearray(2**28) for _ in range(10**6)]
    return verify(answer, target, structure=structure, **options)  # type: ignore[arg-type]


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


def test_a_stalled_worker_is_killed_and_a_dead_one_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_verify_texts", stall_or_die)
    answers = [cif(), "stall", MOVED, "die", cif(), "stall", cif()]
    started = time.perf_counter()
    with VerifierPool(2, timeout=2.0) as pool:
        verdicts = pool.verify_many((answer, cif()) for answer in answers)
    assert time.perf_counter() - started < 60
    assert [verdict.stage for verdict in verdicts] == [
        Stage.CORRECT,
        Stage.TIMEOUT,
        Stage.STRUCTURE_MISMATCH,
        Stage.WORKER_LOST,
        Stage.CORRECT,
        Stage.TIMEOUT,
        Stage.CORRECT,
    ]
    assert verdicts[1].success_strict is False
    assert verdicts[1].verdict_paper is None


def test_the_reference_engine_in_workers() -> None:
    with VerifierPool(1, engine="reference") as pool:
        verdict = pool.verify_many([(tagged(MOVED), cif())])[0]
    assert verdict == verify(tagged(MOVED), cif(), engine="reference")


def test_jobs_are_drawn_only_a_little_ahead() -> None:
    drawn = 0

    def jobs() -> Iterator[tuple[str, str]]:
        nonlocal drawn
        while True:
            drawn += 1
            yield "nothing", cif()

    with VerifierPool(1) as pool:
        verdicts = pool.verify_iter(jobs())
        assert next(verdicts).stage is Stage.NO_CIF
        assert drawn < 100


def test_a_bad_truth_raises_in_the_caller() -> None:
    with VerifierPool(1) as pool, pytest.raises(TargetError, match="cannot be read"):
        pool.verify_many([("nothing", "no crystal")])


def test_a_worker_that_allocates_without_end_is_named_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_verify_texts", stall_or_die)
    with VerifierPool(2, memory_limit=2**30, timeout=60) as pool:
        verdicts = pool.verify_many((answer, cif()) for answer in (cif(), "grow", MOVED))
    assert [verdict.stage for verdict in verdicts] == [
        Stage.CORRECT,
        Stage.WORKER_LOST,
        Stage.STRUCTURE_MISMATCH,
    ]
    assert "1 GiB" in verdicts[1].message


def test_equal_answers_to_one_target_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with VerifierPool(1) as pool:
        scheduled = []
        schedule = pool._schedule
        monkeypatch.setattr(pool, "_schedule", lambda key: scheduled.append(key) or schedule(key))
        jobs = [(cif(), cif()), (MOVED, cif()), (cif(), cif()), (cif(), MOVED), (cif(), cif(), MOVED)]
        first = pool.verify_many(jobs)
        second = pool.verify_many(jobs)
    assert len(scheduled) == 4
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
        "        print(*pool._pool._pool_manager.worker_manager.workers, flush=True)\n"
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


def test_workers_import_no_torch() -> None:
    with VerifierPool(1) as pool:
        assert pool._pool is not None
        assert pool._pool.schedule(_torch_is_imported).result() is False


def _torch_is_imported() -> bool:
    import sys

    return "torch" in sys.modules


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


def test_outside_the_with_block() -> None:
    with pytest.raises(RuntimeError, match="with block"):
        VerifierPool(1).verify_many([("nothing", cif())])
