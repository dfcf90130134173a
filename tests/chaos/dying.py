"""A process that is told to die before one of its next writing statements."""

import os
import signal
from typing import Any

from sqlalchemy import Connection, Engine, event

_left: list[int] = []


def die_before_statement(number: int) -> None:
    """SIGKILL to ourselves before that statement of a write; a COMMIT counts as one.

    Statements of reads are many and leave nothing half done: they do not count.
    """
    if not _left:
        event.listen(Engine, "before_cursor_execute", _count)
        event.listen(Engine, "commit", _count)
    _left[:] = [number]


def _count(connection: Connection, *_: Any) -> None:
    if connection.get_execution_options().get("placet_mode") != "write":
        return
    _left[0] -= 1
    if _left[0] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
