from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest

from atomworld_env.envs.text_space import TextSpace


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("data_\nloop_\n", id="newlines"),
        pytest.param("Å – 结构 \U0001f48e", id="unicode"),
        pytest.param("a\x00b", id="nul"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param("x" * 1_000_000, id="megabyte"),
    ],
)
def test_any_text_is_contained(text: str) -> None:
    assert TextSpace().contains(text)


@pytest.mark.parametrize("value", [None, b"bytes", 3, ["list"], np.zeros(2)])
def test_nothing_else_is_contained(value: object) -> None:
    assert not TextSpace().contains(value)


def test_samples_follow_the_seed_and_are_contained() -> None:
    first, second = TextSpace(seed=3), TextSpace(seed=3)
    samples = [first.sample() for _ in range(20)]
    assert samples == [second.sample() for _ in range(20)]
    assert all(first.contains(sample) for sample in samples)
    assert len(set(samples)) > 1


def test_a_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="no mask"):
        TextSpace().sample(mask=np.ones(3))


def test_spaces_are_equal_and_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(TextSpace(seed=1))) == TextSpace()
    assert TextSpace() != gymnasium.spaces.Text(5)


def test_json_forms_are_inverse() -> None:
    space = TextSpace()
    samples = ["a", "b\n"]
    assert space.from_jsonable(space.to_jsonable(samples)) == samples
