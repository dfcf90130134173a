"""Waiting for what other processes do: on a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# A process on a busy machine needs ten seconds to its first line.
_WITHIN = 60.0


def eventually(look: Callable[[], T | None], within: float = _WITHIN) -> T:
    """What `look` sees, once it sees something; fails after so many seconds."""
    end = time.monotonic() + within
    while not (seen := look()):
        assert time.monotonic() < end, f"It did not happen within {within:.0f} s."
        time.sleep(0.05)
    return seen
