"""The cheapest pairing of rows with columns, and which rows could be paired otherwise at the same cost.

Compiled with numba, for :mod:`rewards.matcher.candidates`, which asks thousands of times for one answer. Few pairs are
admitted, so they are kept as a list: those of a row are `column[k]` at the cost `cost[k]` for k from first[row] to
last[row].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewards.arrangement import FloatArray
from rewards.matcher.compiled import compiled

IndexArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Pairs(NamedTuple):
    """Admitted pairs: where those of each row begin and end, shape (n,); column and cost of every pair."""

    first: IndexArray
    last: IndexArray
    column: IndexArray
    cost: FloatArray


class Pairing(NamedTuple):
    """Column of every row, row of every column, and prices: cost - row price - column price is ≥ 0, and 0 on the
    pairing; shape (n,) each."""

    column_of: IndexArray
    row_of: IndexArray
    row_price: FloatArray
    column_price: FloatArray


class PathSearch(NamedTuple):
    """What a search for an augmenting path writes: length to every column, the row before it, whether it is done, and
    the columns reached."""

    length: FloatArray
    before: IndexArray
    done: BoolArray
    reached: IndexArray


@compiled
def pair_up(pairs: Pairs, lowest: FloatArray, pairing: Pairing, path: PathSearch) -> bool:
    """Solve the assignment by shortest augmenting paths (Jonker and Volgenant, Computing 38, 325, 1987).

    Args:
        lowest: cost of the nearest column of every row, shape (n,).
        pairing: with these columns; replaced by the pairing and its prices.

    Returns:
        Whether there is a pairing of admitted pairs.
    """
    size = len(pairing.column_of)
    for each in range(size):
        pairing.row_of[each] = -1
        pairing.row_price[each], pairing.column_price[each] = lowest[each], 0.0
        path.length[each], path.done[each] = np.inf, False
    for row in range(size):
        nearest = pairing.column_of[row]
        if pairing.row_of[nearest] < 0:
            pairing.row_of[nearest] = row
        else:
            pairing.column_of[row] = -1
    for row in range(size):  # noqa: SIM110 (numba has no generator expressions)
        if pairing.column_of[row] < 0 and not _augment(row, pairs, pairing, path):
            return False
    return True


@compiled
def _augment(start: int, pairs: Pairs, pairing: Pairing, path: PathSearch) -> bool:
    """Give a row a column, at the price of others changing theirs; whether that can be done."""
    row, so_far, end, count = start, 0.0, -1, 0
    while end < 0:
        for k in range(pairs.first[row], pairs.last[row]):
            column = pairs.column[k]
            if path.done[column]:
                continue
            through = so_far + pairs.cost[k] - pairing.row_price[row] - pairing.column_price[column]
            if through < path.length[column]:
                if path.length[column] == np.inf:
                    path.reached[count] = column
                    count += 1
                path.length[column], path.before[column] = through, row
        nearest, least = -1, np.inf
        for each in range(count):
            column = path.reached[each]
            if not path.done[column] and path.length[column] < least:
                nearest, least = column, path.length[column]
        if nearest < 0:
            return False
        path.done[nearest], so_far = True, least
        row = pairing.row_of[nearest]
        if row < 0:
            end = nearest
    pairing.row_price[start] += so_far
    for each in range(count):
        column = path.reached[each]
        if path.done[column] and column != end:
            change = so_far - path.length[column]
            pairing.column_price[column] -= change
            pairing.row_price[pairing.row_of[column]] += change
        path.done[column], path.length[column] = False, np.inf
    while end >= 0:
        row = path.before[end]
        pairing.row_of[end] = row
        end, pairing.column_of[row] = pairing.column_of[row], end
    return True


@compiled
def mark_free(pairs: Pairs, pairing: Pairing, tie: float, free: BoolArray) -> None:
    """Mark the rows that have another column in some pairing which costs as much.

    Two pairings differ by cycles of pairs whose cost is their price. A row that no such pair leads to, or none leads
    away from, is on no cycle.

    Args:
        tie: up to which a reduced cost counts as 0.
        free: filled, shape (n,).
    """
    size = len(free)
    tails, heads = np.empty(len(pairs.cost), dtype=np.int64), np.empty(len(pairs.cost), dtype=np.int64)
    leads, led_to = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    count = 0
    for row in range(size):
        for k in range(pairs.first[row], pairs.last[row]):
            column = pairs.column[k]
            if column == pairing.column_of[row]:
                continue
            if pairs.cost[k] - pairing.row_price[row] - pairing.column_price[column] <= tie:
                tails[count], heads[count] = row, pairing.row_of[column]
                leads[row] += 1
                led_to[heads[count]] += 1
                count += 1
    kept = -1
    while kept != count:
        kept, count = count, 0
        for each in range(kept):
            tail, head = tails[each], heads[each]
            if led_to[tail] == 0 or leads[head] == 0:
                leads[tail] -= 1
                led_to[head] -= 1
            else:
                tails[count], heads[count] = tail, head
                count += 1
    for row in range(size):
        free[row] = leads[row] > 0 and led_to[row] > 0
