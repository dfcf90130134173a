"""Breaking off a transaction between any two of its statements."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from sqlalchemy import Engine, event


class BrokenOff(Exception):
    """What stands for a process that ended here."""


def fail() -> NoReturn:
    """Raise, as a statement might."""
    raise BrokenOff


def die() -> None:
    """Be killed: nothing is closed, nobody is told."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def broken_at(
    engine: Engine, number: int, how: Callable[[], Any] = fail
) -> Iterator[None]:
    """Break off before the statement of that number; a COMMIT counts as one."""
    left = number

    def count(*_: object, **__: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            how()

    places = ("before_cursor_execute", "commit")
    for place in places:
        event.listen(engine, place, count)
    try:
        yield
    finally:
        for place in places:
            event.remove(engine, place, count)
