"""The check that keeps what is tested on out of training."""

from __future__ import annotations

import pytest

from training.leakage import refuse_leakage

TRAIN = [{"task_id": "a", "family": "rocksalt"}, {"task_id": "b", "family": "wurtzite"}]


def test_separate_sets_pass() -> None:
    refuse_leakage(TRAIN, [{"task_id": "c", "family": "perovskite"}])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param(
            {"task_id": "c", "family": "rocksalt"}, r"share 1 structure families \(such as rocksalt\)", id="family"
        ),
        pytest.param({"task_id": "b", "family": "perovskite"}, r"share 1 task ids \(such as b\)", id="task"),
    ],
)
def test_shared_ones_are_refused_in_one_line(row: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=f"^train and test {words}; [^\n]*$"):
        refuse_leakage(TRAIN, [row])
