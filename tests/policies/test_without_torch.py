"""What a user without the extra `train` is told."""

from __future__ import annotations

import pytest

from atomworld_env.policies import local_model
from atomworld_env.policies.by_name import policy_by_name


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^hf:small needs torch and transformers; install them with [^\n]*\[train\]"):
        policy_by_name("hf:small")
