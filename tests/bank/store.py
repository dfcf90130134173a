"""Accounts and what was booked on them, in the ledger's own database."""

from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from blocks.domain import Loaded
from blocks.ledger.database import Transaction
from policies.errors import Conflict, NotFound
from policies.value import Json


class Base(DeclarativeBase):
    """Tables of the tests' own, made by `create_all`."""


class Account(Base):
    """An account; its version counts every change."""

    __tablename__ = "bank_accounts"

    id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    balance: Mapped[int]
    version: Mapped[int]


class Entry(Base):
    """What was booked. Its key is not unique on purpose: a double booking shows."""

    __tablename__ = "bank_entries"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    key: Mapped[str]
    account: Mapped[str]
    amount: Mapped[int]
    subject: Mapped[str]


_ACCOUNT = select(Account).where(
    Account.id == bindparam("account"), Account.tenant == bindparam("tenant")
)
# What is going to be changed is locked for that from the start: two who had both
# locked it for reading would wait for each other.
_LOCKED_ACCOUNT = _ACCOUNT.with_for_update()
_CHANGE = (
    update(Account)
    .where(Account.id == bindparam("of"))
    .values(balance=Account.balance + bindparam("by"), version=Account.version + 1)
)


class BankStore:
    """The domain's side of the ledger's transactions."""

    def resource_version(
        self, tx: Transaction, tenant: str, resource: str
    ) -> int | None:
        """The version of `account:ID`."""
        row = find(tx, tenant, resource.removeprefix("account:"))
        return None if row is None else int(row.version)

    def precondition(self, tx: Transaction, tenant: str, resource: str) -> str | None:
        """Every account that exists may be charged."""
        account = resource.removeprefix("account:")
        known = find(tx, tenant, account) is not None
        return f"{account} may be charged" if known else None

    def load_records(self, tx: Transaction, records: dict[str, Json]) -> Loaded:
        """`accounts`: pairs of id and balance."""
        given: Any = records["accounts"]
        rows = [(name, balance) for name, balance in given if _put(tx, name, balance)]
        return Loaded(new=tuple(name for name, _ in rows), changed=(), unchanged=())

    def check_request(self, tx: Transaction, request: dict[str, Json]) -> None:
        """Any request may be made."""


def find(tx: Transaction, tenant: str, account: str) -> Any:
    """An account's row, kept from others until the transaction ends; or None."""
    query = _LOCKED_ACCOUNT if tx.locks_rows else _ACCOUNT
    return tx.one(query, {"account": account, "tenant": tenant})


def move_money(
    tx: Transaction, tenant: str, payload: dict[str, Json], key: str
) -> dict[str, Json]:
    """Book a payment on both accounts; `Conflict` where there is not enough."""
    given: Any = payload
    charged = find(tx, tenant, given["account"])
    if charged is None:
        raise NotFound("There is no such account.")
    if charged.balance < given["amount_minor"]:
        raise Conflict("The balance is too low.", code="too_little")
    amount, subject = given["amount_minor"], given["subject"]
    for account, by in ((given["account"], -amount), (given["recipient"], amount)):
        change(tx, account, by)
        row = {"key": key, "account": account, "amount": by, "subject": subject}
        tx.run(insert(Entry), row)
    return {"balance": charged.balance - amount}


def change(tx: Transaction, account: str, by: int) -> None:
    """Change a balance, past every rule; or `NotFound`."""
    if not tx.wrote(_CHANGE, {"of": account, "by": by}):
        raise NotFound(f"There is no account {account}.")


def _put(tx: Transaction, name: str, balance: int) -> bool:
    row = {"id": name, "tenant": "main", "balance": balance, "version": 1}
    return tx.inserted(Account, row)
