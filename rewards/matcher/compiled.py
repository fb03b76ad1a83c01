"""How the functions of this package are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function when it is first called, and keep the result on disk where numba finds a folder for it.

    The first call on a machine takes some 15 s, in a later process 0.3 s.
    """
    try:
        return cast(F, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # neither the package's folder nor the user's own can be written to
        return cast(F, njit(nogil=True)(function))
