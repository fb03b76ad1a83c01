"""Reads worked answers back, with nothing of the code that writes them: plain Python and numpy."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS = {
    "sqrt": math.sqrt,
    "cos": lambda degrees: math.cos(math.radians(degrees)),
    "sin": lambda degrees: math.sin(math.radians(degrees)),
}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def evaluate(text: str) -> Any:
    """The value of an expression of numbers, a float or a tuple."""
    return _value(ast.parse(text.strip().replace("^", "**"), mode="eval").body)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Tuple):
        return tuple(_value(each) for each in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*(_value(each) for each in node.args))
    raise ValueError(f"not arithmetic: {ast.dump(node)}")


@dataclass(frozen=True)
class Step:
    """A line ``name = expression = value``."""

    name: str
    expression: str
    value: str

    def holds(self) -> bool:
        """Whether the value is the expression's, to half of its last printed digit."""
        expected, given = np.atleast_1d(evaluate(self.expression)), np.atleast_1d(evaluate(self.value))
        decimals = [len(number.partition(".")[2]) for number in NUMBER.findall(self.value)]
        slack = np.array([0.5 * 10.0**-places for places in decimals]) + 1e-9
        return expected.shape == given.shape and bool(np.all(np.abs(expected - given) <= slack))


@dataclass(frozen=True)
class WorkedText:
    """The lines inside ``<think>`` and the CIF behind."""

    lines: tuple[str, ...]
    cif: str

    @classmethod
    def of(cls, answer: str) -> WorkedText:
        think, cif = answer.removeprefix("<think>\n").split("\n</think>\n")
        return cls(tuple(think.split("\n")), cif)

    def steps(self) -> Iterator[Step]:
        """The lines of arithmetic, in order."""
        for line in self.lines[1:]:  # the first repeats the instruction
            name, *rest = line.split(" = ")
            if len(rest) == 2 and "I +" not in line and "distance" not in rest[0]:
                yield Step(name, *rest)

    def named(self, name: str) -> list[Any]:
        """Values of all steps with this name, in order; ``ax`` may be stated without a calculation."""
        found = [evaluate(step.value) for step in self.steps() if step.name == name]
        for line in self.lines[1:]:
            if not found and line.startswith(("ax = ",)) and name in ("ax", "by", "cz"):
                stated = dict(part.split(" = ") for part in line.split(", "))
                found = [float(stated[name])] if name in stated else []
        return found

    def unstated(self, prompt: str) -> list[str]:
        """Numbers used in an expression before they stand anywhere, in the prompt or further up."""
        known = set(NUMBER.findall(prompt))
        missing = []
        for line in self.lines:
            parts = line.split(" = ")
            if len(parts) == 3:
                used = [number for number in NUMBER.findall(parts[1]) if "." in number]
                missing += [number for number in used if number not in known]
            known.update(NUMBER.findall(line))
        return missing

    def comparisons(self) -> Iterator[tuple[float, str, float, str]]:
        for line in self.lines:
            match = re.search(r"(\d+\.\d+) ([<>=]) (\d+\.\d+), (\w+)$", line)
            if match:
                yield float(match[1]), match[2], float(match[3]), match[4]


def cell_vectors(cell: tuple[float, ...]) -> np.ndarray:
    """Rows a, b, c by the general formula of crystallography textbooks, from metric tensor and Cholesky."""
    a, b, c, *angles = cell
    al, be, ga = (math.cos(math.radians(angle)) for angle in angles)
    metric = np.array(
        [[a * a, a * b * ga, a * c * be], [a * b * ga, b * b, b * c * al], [a * c * be, b * c * al, c * c]]
    )
    return np.linalg.cholesky(metric)


def shortest(difference: np.ndarray, vectors: np.ndarray) -> float:
    """Length of the shortest periodic image of a fractional difference, among 7 x 7 x 7."""
    wrapped = difference - np.round(difference)
    return min(float(np.linalg.norm((wrapped + np.array(n)) @ vectors)) for n in product(range(-3, 4), repeat=3))


def read_rows(cif: str) -> list[tuple[str, np.ndarray]]:
    """Element and fractional coordinates of each row of a compact CIF."""
    rows = [line.split() for line in cif.split("\n") if re.match(r"^[A-Z][a-z]?\d+ [A-Z]", line)]
    return [(row[1], np.array([float(value) for value in row[2:5]])) for row in rows]
