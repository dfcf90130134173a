"""Keeping a session's lease alive while its process waits or works."""

import threading
from types import TracebackType
from typing import Self

from blocks.ledger import sessions
from blocks.ledger.database import Ledger
from policies.errors import PlacetError, Superseded


class LeaseKeeper:
    """Renews a lease from a thread until the block ends or a newer holder has it.

    `lost` tells that; every guarded write would notice as well.
    """

    def __init__(
        self, ledger: Ledger, workflow: str, token: int, seconds: float
    ) -> None:
        self.lost = False
        self._ledger = ledger
        self._workflow = workflow
        self._token = token
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        # A third of the lease: two renewals may be missed before it runs out.
        while not self._stop.wait(self._seconds / 3):
            try:
                with self._ledger.write() as tx:
                    sessions.renew(tx, self._workflow, self._token, self._seconds)
            except Superseded:
                self.lost = True
                return
            except PlacetError:
                # The database does not answer: the lease runs out if that lasts, and
                # the next guarded write tells the truth.
                continue
