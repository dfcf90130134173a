"""What time it is: the same for every process of a ledger, whichever host it is on.

Leases, deadlines and terms are judged by it. SQLite serves one host. On PostgreSQL it
is the server's time: a host whose own clock is ahead must not take a live lease over.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection

Clock = Callable[[], datetime]

_AGAIN_AFTER = 10.0
_LARGEST_STEP = 0.5
_QUICK = 0.1
_TRIES = 3


def utc_now() -> datetime:
    """The present moment by this host's clock; tests give a ledger another clock."""
    return datetime.now(UTC)


class _Measured(NamedTuple):
    """How far the server is ahead of us, give or take, and when that was seen."""

    ahead: timedelta
    give_or_take: timedelta
    here: datetime
    running: float


class ServerClock:
    """A PostgreSQL server's time, told without asking for it each time.

    How far the host's clock (`here`) is off is measured every 10 seconds, in the next
    transaction; and at once after that clock was set, or the machine has slept.
    """

    def __init__(self, here: Clock = utc_now) -> None:
        self._here = here
        self._last: _Measured | None = None

    def __call__(self) -> datetime:
        """The server's time as it was last measured; the host's before that."""
        ahead = timedelta() if self._last is None else self._last.ahead
        return self._here() + ahead

    def look(self, connection: Connection) -> None:
        """Measure, if that is due; one small query."""
        if not self._is_due():
            return
        found = min(self._tries(connection), key=lambda tried: tried.give_or_take)
        last = self._last
        if last is not None and abs(found.ahead - last.ahead) <= found.give_or_take:
            # No better than what is known; time must not go back and forth for it.
            found = found._replace(ahead=last.ahead)
        self._last = found

    def _is_due(self) -> bool:
        if self._last is None:
            return True
        ran = time.monotonic() - self._last.running
        went = (self._here() - self._last.here).total_seconds()
        return ran > _AGAIN_AFTER or abs(went - ran) > _LARGEST_STEP

    def _tries(self, connection: Connection) -> list[_Measured]:
        """Up to three; a process that stood still in between cannot tell much."""
        tried: list[_Measured] = []
        while len(tried) < _TRIES:
            tried.append(self._measure(connection))
            if tried[-1].give_or_take.total_seconds() < _QUICK:
                break
        return tried

    def _measure(self, connection: Connection) -> _Measured:
        here, running = self._here(), time.monotonic()
        query = "SELECT clock_timestamp()"
        there: datetime = connection.exec_driver_sql(query).scalar_one()
        half = timedelta(seconds=(time.monotonic() - running) / 2)
        return _Measured(there - (here + half), half, here, running)
