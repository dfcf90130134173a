"""Reservations: one operation has a resource for itself until its outcome is known.

The version that was approved is asserted by the guard in the same transaction, under
the resource's lock; the row's key makes the second holder miss.
"""

from sqlalchemy import bindparam, delete, select

from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import Reservation

_HOLDER = select(Reservation.key).where(
    Reservation.tenant == bindparam("tenant"),
    Reservation.resource == bindparam("resource"),
)
_RELEASE = delete(Reservation).where(Reservation.key == bindparam("of"))


def holder(tx: Transaction, tenant: str, resource: str) -> str | None:
    """The operation key that holds a resource, or None."""
    row = tx.one(_HOLDER, {"tenant": tenant, "resource": resource})
    return None if row is None else str(row.key)


def take(tx: Transaction, tenant: str, resource: str, key: str) -> bool:
    """Reserve a resource for an operation; False if another one holds it."""
    row = {"tenant": tenant, "resource": resource, "key": key, "at": tx.now}
    return tx.inserted(Reservation, row) or holder(tx, tenant, resource) == key


def release(tx: Transaction, key: str) -> None:
    """Let go of whatever an operation holds."""
    tx.run(_RELEASE, {"of": key})
