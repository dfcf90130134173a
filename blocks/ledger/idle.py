"""Connections that lie idle between transactions, and may have died meanwhile."""

import time
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

_TRUSTED_SECONDS = 1.0
_SINCE = "idle_since"


def look_after(engine: Engine) -> None:
    """Try a connection that lay idle before it is used; make it anew if it died.

    One that was used a moment ago is not tried: each transaction would cost a round
    trip more, and a connection can die within a transaction as well.
    """

    @event.listens_for(engine, "checkin")
    def note(_: Any, record: Any) -> None:
        record.info[_SINCE] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def look(connection: Any, record: Any, _: Any) -> None:
        since = record.info.get(_SINCE)
        if since is None or time.monotonic() - since < _TRUSTED_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError("it died while it lay idle") from error
