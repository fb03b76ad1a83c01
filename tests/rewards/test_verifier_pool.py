"""Workers that can be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

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
        assert drawn < 50


def test_a_bad_truth_raises_in_the_caller() -> None:
    with VerifierPool(1) as pool, pytest.raises(TargetError, match="cannot be read"):
        pool.verify_many([("nothing", "no crystal")])


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
