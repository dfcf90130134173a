"""Ending by a signal as orderly as by Ctrl-C."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = 130
"""The exit status of what Ctrl-C has ended."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let TERM and HUP unwind the stack like Ctrl-C does, as `SystemExit`."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def status_of(stop: KeyboardInterrupt | SystemExit) -> int:
    """The exit status of whoever was stopped so."""
    code = getattr(stop, "code", STOPPED)
    return code if isinstance(code, int) else STOPPED
