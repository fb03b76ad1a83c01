"""The cheapest pairing of rows with columns, and which rows could be paired otherwise at the same cost.

Compiled with numba, for :mod:`rewards.candidate_search`, which asks thousands of times for one answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def pair_up(cost, column_of, row_of, row_price, column_price):  # type: ignore[no-untyped-def]
    """Solve the assignment by shortest augmenting paths (Jonker and Volgenant, Computing 38, 325, 1987).

    Args:
        cost: shape (n, n), ≥ 0; infinite where a pair is not admitted.
        column_of, row_price: the nearest column of every row, and its cost; replaced by the pairing and the prices of
            the rows, shape (n,) each.
        row_of, column_price: filled with the pairing and the prices of the columns: cost - row price - column price is
            ≥ 0, and 0 on the pairing.

    Returns:
        Whether there is a pairing of admitted pairs.
    """
    size = len(cost)
    for each in range(size):
        row_of[each] = -1
        column_price[each] = 0.0
    for row in range(size):
        nearest = column_of[row]
        if row_of[nearest] < 0:
            row_of[nearest] = row
        else:
            column_of[row] = -1
    length = np.empty(size)
    before = np.empty(size, dtype=np.int64)
    seen = np.empty(size, dtype=np.bool_)
    for start in range(size):
        if column_of[start] >= 0:
            continue
        length[:] = np.inf
        seen[:] = False
        row, end, reached = start, -1, 0.0
        while end < 0:
            nearest, least = -1, np.inf
            for column in range(size):
                if seen[column]:
                    continue
                through = reached + cost[row, column] - row_price[row] - column_price[column]
                if through < length[column]:
                    length[column], before[column] = through, row
                if length[column] < least:
                    nearest, least = column, length[column]
            if nearest < 0:
                return False
            seen[nearest], reached = True, least
            row = row_of[nearest]
            if row < 0:
                end = nearest
        row_price[start] += reached
        for column in range(size):
            if seen[column] and column != end:
                change = reached - length[column]
                column_price[column] -= change
                row_price[row_of[column]] += change
        while end >= 0:
            row = before[end]
            row_of[end] = row
            end, column_of[row] = column_of[row], end
    return True


@njit(cache=True, nogil=True)
def mark_free(cost, column_of, row_of, row_price, column_price, tie, free):  # type: ignore[no-untyped-def]
    """Mark the rows that have another column in some pairing which costs as much.

    Two pairings differ by cycles of pairs whose cost is their price. A row that no such pair leads to, or none leads
    away from, is on no cycle.

    Args:
        cost, column_of, row_of, row_price, column_price: as :func:`pair_up` leaves them.
        tie: up to which a reduced cost counts as 0.
        free: filled, shape (n,).
    """
    size = len(cost)
    leads = np.zeros(size, dtype=np.int64)
    led_to = np.zeros(size, dtype=np.int64)
    tight = np.zeros((size, size), dtype=np.bool_)  # from a row to the row that holds the column
    for row in range(size):
        free[row] = True
        limit = row_price[row] + tie
        for column in range(size):
            if column != column_of[row] and cost[row, column] - column_price[column] <= limit:
                other = row_of[column]
                tight[row, other] = True
                leads[row] += 1
                led_to[other] += 1
    changed = True
    while changed:
        changed = False
        for row in range(size):
            if free[row] and (leads[row] == 0 or led_to[row] == 0):
                free[row], changed = False, True
                for other in range(size):
                    if tight[row, other]:
                        tight[row, other] = False
                        led_to[other] -= 1
                    if tight[other, row]:
                        tight[other, row] = False
                        leads[other] -= 1
