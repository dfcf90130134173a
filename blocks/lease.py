"""Keeping a lease alive while its process waits or works."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from blocks.ledger.database import Ledger, Transaction
from policies.errors import PlacetError, Superseded


class LeaseKeeper:
    """Calls `renew` from a thread until the block ends or a newer holder has the lease.

    `renew` raises `Superseded` then, which `lost` tells; every guarded write would
    notice as well. It is called three times in the lease's `seconds`.
    """

    def __init__(
        self, ledger: Ledger, renew: Callable[[Transaction], None], seconds: float
    ) -> None:
        self.lost = False
        self._ledger = ledger
        self._renew = renew
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
                    self._renew(tx)
            except Superseded:
                self.lost = True
                return
            except PlacetError:
                # The database does not answer: the lease runs out if that lasts, and
                # the next guarded write tells the truth.
                continue
