"""Whether a pairing of the same cost would be accepted, against the list of all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rewards.matcher.ties import Options, may_be_accepted

BASIS = np.array([[2.4, 0.0, 0.0], [0.3, 2.2, 0.0], [-0.4, 0.5, 2.6]])
REACH = 0.5


def tied(size: int, loose: int, rng: np.random.Generator) -> tuple[Options, np.ndarray, np.ndarray]:
    """`loose` rows that share columns, with vectors that differ by lattice vectors as those of a crystal do."""
    answer = rng.random((size, 3)) @ BASIS
    target = answer + rng.normal(scale=rng.choice([0.1, 0.3]), size=(size, 3))

    def vector(row: int, column: int) -> np.ndarray:
        apart = (target[column] - answer[row]) @ np.linalg.inv(BASIS)
        return (apart - np.rint(apart)) @ BASIS

    vectors = np.array([vector(row, row) for row in range(size)])
    free = np.arange(size) < loose
    starts, columns, options = [0], [], []
    for row in range(loose):
        others = [row, *(other for other in range(loose) if other != row and rng.random() < 0.6)]
        columns += others
        options += [vector(row, column) for column in others]
        starts.append(len(columns))
    mine = Options(np.arange(loose), np.array(starts), np.array(columns), np.array(options))
    return mine, vectors, free


def accepted_by_listing(options: Options, vectors: np.ndarray, free: np.ndarray, reach: float) -> bool:
    choices = [range(options.starts[row], options.starts[row + 1]) for row in range(len(options.rows))]
    for choice in product(*choices):
        columns = options.columns[list(choice)]
        if len(set(columns.tolist())) < len(columns):
            continue
        chosen = vectors.copy()
        chosen[options.rows] = options.vectors[list(choice)]
        if np.linalg.norm(chosen - chosen.mean(axis=0), axis=1).max() < reach:
            return True
    return False


@pytest.mark.parametrize("seed", range(300))
def test_no_accepted_pairing_is_overlooked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    options, vectors, free = tied(size, int(rng.integers(1, min(size, 5) + 1)), rng)
    reach = float(rng.choice([0.3, REACH, 0.8]))
    expected = accepted_by_listing(options, vectors, free, reach)
    mean = vectors.mean(axis=0)
    assert may_be_accepted(options, vectors, free, mean, BASIS, reach) == expected


def test_the_answers_of_the_parametrised_test_differ() -> None:
    """Both outcomes are common, so that neither is right by default."""
    outcomes = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 9))
        options, vectors, free = tied(size, int(rng.integers(1, min(size, 5) + 1)), rng)
        outcomes.append(accepted_by_listing(options, vectors, free, float(rng.choice([0.3, REACH, 0.8]))))
    assert 60 < sum(outcomes) < 240


def test_more_work_than_the_bound_counts_as_possible() -> None:
    """Sixteen rows that may change places at no distance: the pairing with that mean is found at once or given up."""
    size = 16
    rows = np.arange(size)
    options = Options(rows, rows * size, np.tile(rows, size), np.zeros((size * size, 3)))
    options = options._replace(starts=np.arange(size + 1) * size)
    assert may_be_accepted(options, np.zeros((size, 3)), np.ones(size, dtype=np.bool_), np.zeros(3), BASIS, REACH)
