"""The one error class for a user's own mistakes."""

from __future__ import annotations


class UsageError(ValueError):
    """A mistake in what the user passed: a file, an option, a name.

    The message is one line that says which thing is wrong and how to mend it. The command line prints it without a
    traceback and exits with status 2.
    """
