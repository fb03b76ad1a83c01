"""Imports run one way: rewards <- atomworld_env <- training."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = {
    "torch", "transformers", "trl", "peft", "accelerate", "datasets", "vllm", "openai", "tenacity", "aiolimiter",
    "chgnet", "pyscf", "robocrys",
}  # fmt: skip
LAZY = {
    "atomworld_env/competence/robocrys_text.py": {"robocrys"},
    "atomworld_env/competence/token_scores.py": {"torch"},
    "atomworld_env/policies/local_model.py": {"torch", "transformers"},
    "atomworld_env/policies/token_batches.py": {"torch", "transformers"},
    "atomworld_env/policies/continuous_batching.py": {"transformers"},
    "atomworld_env/policies/vllm_model.py": {"vllm"},
    "atomworld_env/policies/openai_server.py": {"openai", "aiolimiter"},
    "atomworld_env/policies/retrying.py": {"tenacity"},
    "atomworld_env/properties/chgnet_relaxation.py": {"torch", "chgnet"},
    "atomworld_env/properties/dft_gap.py": {"pyscf"},
}
"""What a module may import inside its functions, for those who use them."""


def imports(package: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name.split(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield path, node.module.split(".")[0]


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("rewards", {"atomworld_env", "training"} | HEAVY),
        ("atomworld_env", {"training"} | HEAVY),
        ("training", set()),
    ],
)
def test_no_import_runs_the_other_way(package: str, forbidden: set[str]) -> None:
    found = [(path.relative_to(REPOSITORY).as_posix(), name) for path, name in imports(package)]
    assert package == "training" or found
    wrong = [(path, name) for path, name in found if name in forbidden - LAZY.get(path, set())]
    assert wrong == []


@pytest.mark.parametrize("path", LAZY)
def test_what_is_imported_lazily_is_not_imported_with_the_module(path: str) -> None:
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    outside = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inside
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert {name.split(".")[0] for name in outside} & HEAVY == set()


def test_names_say_what_a_module_holds() -> None:
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "manager"}
    modules = [
        path for package in ("rewards", "atomworld_env", "training") for path in (REPOSITORY / package).rglob("*")
    ]
    assert [path for path in modules if path.stem in vague] == []


def test_no_two_test_modules_share_a_name() -> None:
    """pytest imports them by their bare names: of two with one name the second is an error, or the wrong one."""
    names = [
        path.name for folder in ("tests", "benchmarks") for path in (REPOSITORY / folder).rglob("*.py")
        if path.name != "conftest.py"
    ]  # fmt: skip
    assert {name for name in names if names.count(name) > 1} == set()
