"""Doing things at the same time."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

from sqlalchemy import text

from blocks.ledger.database import Ledger

RACES = int(os.environ.get("PLACET_RACES", "10"))
"""How many rounds of each race, and how many random sequences; `make races`: more."""

Result = TypeVar("Result")
_BLOCKED = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def together(number: int, work: Callable[[int], Result]) -> list[Result | Exception]:
    """Let so many threads begin at once; what each returned or raised."""
    line = Barrier(number)

    def start(index: int) -> Result | Exception:
        line.wait()
        try:
            return work(index)
        except Exception as error:
            return error

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(start, range(number)))


def until(condition: Callable[[], Any], seconds: float = 10) -> None:
    """Look again and again until it is so; fails after a time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.005)


def until_blocked(ledger: Ledger, *others: Future[Any]) -> None:
    """Until as many other threads wait for a lock.

    SQLite cannot be asked: there the others wait before they have read anything.
    """
    if ledger.engine.dialect.name != "postgresql":
        return

    def is_blocked() -> bool:
        with ledger.read() as tx:
            waiting: int = tx.run(_BLOCKED).scalar_one()
        return waiting + sum(other.done() for other in others) >= len(others)

    until(is_blocked)
