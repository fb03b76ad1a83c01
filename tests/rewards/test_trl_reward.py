"""The reward function as TRL's GRPOTrainer calls it; with TRL itself in `test_trl_training.py`."""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from crystal_texts import FRAC, cif, tagged

from rewards import Stage, Verdict, reward, verify
from rewards import pool as pool_module
from rewards.trl import FARTHEST, AtomWorldReward, atomworld_reward

INPUT = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.9)])
HALFWAY = cif(frac=[*FRAC[:3], (0.72, 0.23, 0.83)])


@pytest.fixture(scope="module")
def shaped() -> Iterator[AtomWorldReward]:
    yield (function := AtomWorldReward(workers=1))
    function.close()


class Trainer:
    """Calls a reward function with what GRPOTrainer 1.16 gives it, and keeps what it logs."""

    def __init__(self, function: AtomWorldReward) -> None:
        self.function = function
        self.metrics: dict[str, float] = {}
        self.columns: dict[str, list[Any]] = {}

    def __call__(self, completions: list[Any], **columns: Any) -> list[float | None]:
        count = len(completions)
        rows = {"target": cif(), "structure": INPUT, "task_id": "t-1", "action": "move", **columns}
        rows = {name: value for name, value in rows.items() if value is not None}
        self.metrics.clear()
        self.columns.clear()
        return self.function(
            prompts=["…"] * count,
            completions=completions,
            completion_ids=[[0]] * count,
            trainer_state=object(),
            log_metric=self.metrics.__setitem__,
            log_extra=self.columns.__setitem__,
            **{name: value if isinstance(value, list) else [value] * count for name, value in rows.items()},
        )


def messages(text: str | None) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": text}]


def test_rewards_are_those_of_the_verdicts(shaped: AtomWorldReward) -> None:
    answers = [tagged(cif()), tagged(HALFWAY), tagged(INPUT), "nothing", "", None]
    expected = [reward(verify(answer, cif(), structure=INPUT)) for answer in answers]
    trainer = Trainer(shaped)
    assert trainer([answer or "" for answer in answers]) == expected
    assert trainer([messages(answer) for answer in answers]) == expected
    assert expected[0] == 1.0
    assert expected[0] > expected[1] > expected[2] == 0.05 > expected[3] == 0.0


def test_what_is_logged(shaped: AtomWorldReward) -> None:
    trainer = Trainer(shaped)
    trainer([tagged(cif()), tagged(HALFWAY), tagged(INPUT), "nothing"])
    halfway = verify(HALFWAY, cif()).max_displacement
    copied = verify(INPUT, cif()).max_displacement
    assert halfway is not None
    assert copied is not None
    assert trainer.metrics.pop("atomworld/seconds") > 0
    assert trainer.metrics == {
        "atomworld/success_strict": 0.25,
        "atomworld/no_cif": 0.25,
        "atomworld/parsable": 0.75,
        "atomworld/composition": 0.75,
        "atomworld/cell": 0.75,
        "atomworld/copied": 0.25,
        "atomworld/max_displacement": pytest.approx((0 + halfway + copied) / 3),
        "atomworld/timeout": 0.0,
        "atomworld/worker_lost": 0.0,
        "atomworld/broken_target": 0.0,
    }
    assert trainer.columns == {
        "atomworld_shaped/task_id": ["t-1"] * 4,
        "atomworld_shaped/verdict": ["correct", "structure_mismatch", "structure_mismatch", "no_cif"],
        "atomworld_shaped/max_displacement": [pytest.approx(0, abs=1e-9), halfway, copied, None],
        "atomworld_shaped/copied": [False, False, True, False],
    }
    json.dumps(trainer.columns, allow_nan=False)


def test_columns_of_each_completion_under_both_profiles() -> None:
    trainer = Trainer(AtomWorldReward("paper", workers=1))
    answers = [tagged(cif()), tagged(INPUT), "nothing", tagged(cif())]
    try:
        trainer(answers, target=[cif(), cif(), cif(), "no crystal"])
    finally:
        trainer.function.close()
    paper = verify(INPUT, cif(), profile="paper").success_paper
    assert trainer.columns["atomworld_paper/success_paper"] == [True, paper, False, None]
    assert trainer.columns["atomworld_paper/copied"] == [False, True, False, None]
    assert trainer.metrics["atomworld/copied"] == pytest.approx(1 / 3)
    json.dumps(trainer.columns, allow_nan=False)


def test_a_column_that_was_not_asked_for_is_not_there(shaped: AtomWorldReward) -> None:
    trainer = Trainer(shaped)
    record = verify(INPUT, cif(), structure=INPUT).baseline
    assert record is not None
    trainer([tagged(cif())], structure=None, baseline=[record.to_json()])
    assert set(trainer.columns) == {f"atomworld_shaped/{name}" for name in ("task_id", "verdict", "max_displacement")}
    assert "atomworld/copied" not in trainer.metrics


def test_columns_do_not_need_metrics(shaped: AtomWorldReward) -> None:
    columns: dict[str, list[Any]] = {}
    shaped(completions=[tagged(INPUT)], target=[cif()], structure=[INPUT], log_extra=columns.__setitem__)
    assert columns["atomworld_shaped/copied"] == [True]


@pytest.mark.parametrize("scheme", ["shaped", "paper"])
def test_names_never_vary_and_values_are_finite(scheme: str) -> None:
    trainer = Trainer(AtomWorldReward(scheme, workers=1))
    try:
        names = set()
        for completions, target in (
            ([tagged(cif())] * 2, cif()),
            (["nothing", ""], cif()),
            ([tagged(INPUT)], cif()),
            ([tagged(cif(species=("Na", "Na", "Cl", "S"))), "data_"], cif()),
            ([tagged(cif())], "no crystal"),
            ([], cif()),
        ):
            rewards = trainer(completions, target=target)
            assert len(rewards) == len(completions)
            assert all(value is None or 0 <= value <= 1 for value in rewards)
            assert all(math.isfinite(value) for value in trainer.metrics.values())
            names.add((frozenset(trainer.metrics), frozenset(trainer.columns)))
    finally:
        trainer.function.close()
    assert len(names) == 1
    assert ("atomworld/success_paper" in trainer.metrics) is (scheme == "paper")


def test_no_answer_has_a_distance(shaped: AtomWorldReward) -> None:
    trainer = Trainer(shaped)
    trainer(["nothing"])
    assert trainer.metrics["atomworld/max_displacement"] == FARTHEST


def test_only_a_broken_ground_truth_has_no_reward(shaped: AtomWorldReward, caplog: pytest.LogCaptureFixture) -> None:
    trainer = Trainer(shaped)
    targets = [cif(), "no crystal", cif(), "no crystal"]
    for _ in range(2):
        assert trainer([tagged(cif())] * 4, target=targets, task_id=["a", "broken-1", "c", "broken-1"]) == [
            1,
            None,
            1,
            None,
        ]
    assert trainer.metrics["atomworld/success_strict"] == 1.0
    assert trainer.metrics["atomworld/broken_target"] == 0.5
    assert trainer.columns["atomworld_shaped/verdict"] == ["correct", "broken_target"] * 2
    assert [record.getMessage().split(" earns")[0] for record in caplog.records] == ["task broken-1"]


def test_equal_answers_of_a_group_are_verified_once(shaped: AtomWorldReward, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    workers = shaped._pool()._workers
    assert workers is not None
    submit = workers.submit
    monkeypatch.setattr(workers, "submit", lambda *key: asked.append(key) or submit(*key))
    fresh = cif(frac=[*FRAC[:3], (0.1, 0.2, 0.3)])
    Trainer(shaped)([fresh] * 8 + [messages(fresh)] * 8)
    assert asked == [(fresh, cif(), None)]


def test_the_baseline_of_the_record_is_used(shaped: AtomWorldReward) -> None:
    record = {
        "stage": "structure_mismatch",
        "max_displacement": 4.0,
        "sum_displacement": 4.0,
        "composition_difference": 0,
    }
    with_given = Trainer(shaped)([tagged(INPUT)], baseline=[record])
    assert with_given == Trainer(shaped)([tagged(INPUT)], baseline=[json.dumps(record)], structure=None)
    assert with_given[0] is not None
    assert with_given[0] > 0.05


def stall(answer: str, target: str, structure: str | None, **options: Any) -> Verdict:
    import time

    if answer == "stall":
        time.sleep(60)
    return verify(answer, target, **options)


def test_verifications_that_end_early_earn_nothing_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "verify_texts", stall)
    trainer = Trainer(AtomWorldReward(workers=1, timeout=1.0))
    try:
        assert trainer(["stall", tagged(cif())]) == [0.0, 1.0]
    finally:
        trainer.function.close()
    assert trainer.metrics["atomworld/timeout"] == 0.5
    assert trainer.columns["atomworld_shaped/verdict"] == [Stage.TIMEOUT, Stage.CORRECT]


@pytest.mark.parametrize("scheme", ["shaped", "strict", "paper", "distance"])
def test_name_and_copies_of_a_function(scheme: str) -> None:
    function = AtomWorldReward(scheme, tolerance=0.2)
    assert function.__name__ == f"atomworld_{scheme}"
    assert pickle.loads(pickle.dumps(function)) == copy.deepcopy(function) == function
    assert function.profile == ("both" if scheme == "paper" else "strict")
    assert atomworld_reward.__name__ == "atomworld_shaped"
    assert AtomWorldReward.__name__ == "AtomWorldReward"


def test_functions_with_equal_options_share_a_pool(shaped: AtomWorldReward) -> None:
    Trainer(shaped)([""])
    assert AtomWorldReward("strict", workers=1)._pool() is shaped._pool()


def test_after_a_fork_the_child_has_a_pool_of_its_own(shaped: AtomWorldReward) -> None:
    Trainer(shaped)([""])

    def child(results: Any) -> None:
        earned = Trainer(shaped)([tagged(cif())])
        shaped.close()
        results.send(earned)

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    assert receiver.recv() == [1.0]
    process.join()
    assert Trainer(shaped)([tagged(cif())]) == [1.0]
    receiver.close()
    sender.close()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        pytest.param({"target": None}, "no column 'target'.*remove_unused_columns=False", id="target"),
        pytest.param({"structure": None}, "needs a column 'baseline' or 'structure'", id="baseline"),
        pytest.param({"baseline": ["{"]}, "task t-1: the baseline is no JSON", id="bad-baseline"),
    ],
)
def test_mistakes_in_the_data_set_are_named(shaped: AtomWorldReward, columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Trainer(shaped)([""], **columns)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({"scheme": "big"}, "unknown reward scheme 'big'", id="scheme"),
        pytest.param({"scheme": "paper", "profile": "strict"}, "use 'both'", id="profile-of-paper"),
        pytest.param({"profile": "paper"}, "use 'both'", id="profile"),
        pytest.param({"workers": 0}, "must be positive", id="workers"),
    ],
)
def test_bad_options(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        AtomWorldReward(**options)
