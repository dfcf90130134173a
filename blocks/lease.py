"""Keeping a lease alive while its process waits or works."""

from collections.abc import Callable

from blocks.ledger.database import Ledger, Transaction
from blocks.repeating import Repeating
from policies.errors import PlacetError, Superseded


class LeaseKeeper(Repeating):
    """Calls `renew` from a thread until the block ends or a newer holder has the lease.

    `renew` raises `Superseded` then, which `lost` tells; every guarded write would
    notice as well. It is called three times in the lease's `seconds`.
    """

    def __init__(
        self, ledger: Ledger, renew: Callable[[Transaction], None], seconds: float
    ) -> None:
        # A third of the lease: two renewals may be missed before it runs out.
        super().__init__(self._keep, seconds / 3)
        self.lost = False
        self._ledger = ledger
        self._renew = renew

    def _keep(self) -> bool:
        try:
            with self._ledger.write() as tx:
                self._renew(tx)
        except Superseded:
            self.lost = True
            return False
        except PlacetError:
            # The database does not answer: the lease runs out if that lasts, and the
            # next guarded write tells the truth.
            return True
        return True
