"""The package as imported: light, complete, and at the bottom of the layers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rewards


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        pytest.param("import rewards", {"numpy", "scipy", "pymatgen", "torch", "ase"}, id="package"),
        pytest.param("from rewards import compare_strict, Arrangement", {"pymatgen", "torch"}, id="strict"),
        pytest.param("from rewards import reward, Baseline, Verdict", {"pymatgen", "scipy", "torch"}, id="schemes"),
        pytest.param("from rewards import verify, extract_cif", {"pymatgen", "torch"}, id="verify"),
        pytest.param("from rewards import VerifierPool", {"pymatgen", "torch"}, id="pool"),
    ],
)
def test_imports_are_light(statement: str, absent: set[str]) -> None:
    loaded = modules_after(statement)
    assert not absent & loaded
    assert not {name.partition(".")[0] for name in loaded} & {"atomworld_env", "training"}


def test_every_public_name_is_there() -> None:
    assert set(rewards.__all__) == set(rewards._HOME)
    for name in rewards.__all__:
        assert getattr(rewards, name) is not None
        assert name in dir(rewards)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rewards.nothing
