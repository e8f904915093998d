"""The exceptions of the package. Private: use `headroom.TraceError` and `headroom.DoesNotApply`."""

from __future__ import annotations


class TraceError(Exception):
    """Raised for a file that is unreadable or not a trace."""


class DoesNotApply(ValueError):
    """Raised if the trace lacks data that a scenario requires. The message names the data and the remedy."""


TraceError.__module__ = DoesNotApply.__module__ = "headroom"  # The names that users see and catch.
