"""Processes that can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rewards import workers as workers_module
from rewards.workers import NoWorkersError, TaskTimeout, WorkerLost, Workers


def act(order: str, number: float = 0) -> Any:
    """What a worker does in these tests."""
    if order == "sleep":
        time.sleep(number)
    if order == "be deaf":  # as code that never returns to the interpreter
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(number)
    if order == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if order == "grow":
        return [bytearray(2**26) for _ in range(10**6)]
    if order == "fail":
        raise LookupError("nothing there")
    if order == "return a lambda":
        return lambda: None
    if order == "name the process":
        return os.getpid()
    return number


def nothing() -> None:
    pass


def fail_to_start() -> None:
    raise SystemExit(7)


@contextmanager
def started(count: int, timeout: float = 60.0, memory_limit: int | None = 2**29) -> Iterator[Workers]:
    workers = Workers(count, act, warm_up=nothing, timeout=timeout, memory_limit=memory_limit)
    try:
        yield workers
    finally:
        workers.close()


def test_results_of_many_tasks() -> None:
    with started(2) as workers:
        tasks = [workers.submit("return", number) for number in range(300)]
        assert [workers.result(task) for task in reversed(tasks)] == list(reversed(range(300)))


def test_whichever_of_several_tasks_ends_first() -> None:
    with started(2) as workers:
        slow, quick = workers.submit("sleep", 0.6), workers.submit("return", 1)
        assert workers.wait_any([slow, quick]) == [quick]
        assert workers.wait_any([slow], seconds=0.05) == []
        assert workers.wait_any([slow], seconds=0) == []
        assert workers.wait_any([slow]) == [slow]
        assert sorted(workers.result(task) for task in (slow, quick)) == [0.6, 1]
        doomed = workers.submit("die")
        assert workers.wait_any([doomed, workers.submit("sleep", 60)]) == [doomed]
        workers.close()
        with pytest.raises(NoWorkersError, match="closed"):
            workers.wait_any([workers.submit("return")])


def test_only_the_task_in_progress_is_lost_with_its_worker() -> None:
    orders = ["die" if number % 17 == 5 else "return" for number in range(100)]
    with started(2) as workers:
        tasks = [workers.submit(order, number) for number, order in enumerate(orders)]
        for number, (order, task) in enumerate(zip(orders, tasks, strict=True)):
            if order == "die":
                with pytest.raises(WorkerLost, match="exit code -9"):
                    workers.result(task)
            else:
                assert workers.result(task) == number


def test_the_time_limit_holds_within_half_a_second() -> None:
    with started(1, timeout=0.5) as workers:
        for order in ("sleep", "be deaf"):
            workers.result(workers.submit("return"))
            begun = time.monotonic()
            with pytest.raises(TaskTimeout):
                workers.result(workers.submit(order, 60))
            assert 0.5 <= time.monotonic() - begun < 1.0


def test_the_clock_of_a_task_does_not_run_while_it_waits_behind_others() -> None:
    with started(1, timeout=0.5) as workers:
        tasks = [workers.submit("sleep", 0.04) for _ in range(20)]
        assert [workers.result(task) for task in tasks] == [0.04] * 20


def test_a_task_that_ended_in_time_is_no_timeout_though_nobody_looked() -> None:
    with started(1, timeout=0.2) as workers:
        workers.result(workers.submit("return"))
        task = workers.submit("return", 3)
        time.sleep(0.5)
        assert workers.result(task) == 3


def test_a_worker_without_memory_is_replaced_and_the_next_task_is_not_blamed() -> None:
    with started(1) as workers:
        before = workers.result(workers.submit("name the process"))
        greedy, name = workers.submit("grow"), workers.submit("name the process")
        with pytest.raises(MemoryError):
            workers.result(greedy)
        assert workers.result(name) != before


def test_a_worker_killed_while_idle_costs_no_task() -> None:
    with started(2) as workers:
        for victim in workers.process_ids:
            os.kill(victim, signal.SIGKILL)
        time.sleep(0.1)
        tasks = [workers.submit("return", number) for number in range(20)]
        assert [workers.result(task) for task in tasks] == list(range(20))


def test_what_the_function_raises_is_raised() -> None:
    with started(1) as workers:
        with pytest.raises(LookupError, match="nothing there"):
            workers.result(workers.submit("fail"))
        with pytest.raises(RuntimeError, match="pickle"):
            workers.result(workers.submit("return a lambda"))
        assert workers.result(workers.submit("return", 1)) == 1


def test_large_arguments_do_not_wait_on_a_worker_that_is_stuck() -> None:
    with started(1, timeout=0.5) as workers:
        workers.result(workers.submit("return"))
        tasks = [workers.submit("sleep", 60), workers.submit("x" * 3_000_000, 1)]
        with pytest.raises(TaskTimeout):
            workers.result(tasks[0])
        assert workers.result(tasks[1]) == 1


def test_threads_share_the_workers() -> None:
    results: dict[int, list[float]] = {}

    def use(workers: Workers, offset: int) -> None:
        tasks = [workers.submit("return", offset + number) for number in range(100)]
        results[offset] = [workers.result(task) for task in tasks]

    with started(2) as workers:
        threads = [threading.Thread(target=use, args=(workers, offset)) for offset in (0, 1000, 2000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    assert results == {offset: list(range(offset, offset + 100)) for offset in (0, 1000, 2000)}


def test_a_forked_child_leaves_the_workers_to_its_parent() -> None:
    with started(1) as workers:

        def child() -> None:
            mine = workers.is_open
            workers.close()
            os._exit(3 if mine else 0)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
        assert workers.is_open
        assert workers.result(workers.submit("return", 5)) == 5


def test_after_a_ctrl_c_no_half_message_is_taken_for_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with started(1) as workers:
        task = workers.submit("sleep", 60)
        monkeypatch.setattr(workers_module, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.result(task)
        assert not workers.is_open
        with pytest.raises(NoWorkersError):
            workers.result(task)


def test_workers_that_cannot_start_are_named() -> None:
    with pytest.raises(NoWorkersError, match=r"before they are ready \(exit code 7\)"):
        Workers(1, act, warm_up=fail_to_start, timeout=1, memory_limit=None)


def test_a_result_after_closing() -> None:
    with started(1) as workers:
        task = workers.submit("sleep", 60)
        processes = workers.process_ids
        workers.close()
        with pytest.raises(NoWorkersError, match="closed"):
            workers.result(task)
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
