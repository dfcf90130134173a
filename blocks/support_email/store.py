"""Reading and changing customers and tickets, in the caller's transaction."""

from typing import Any

from pydantic import Field, ValidationError
from sqlalchemy import bindparam, insert, select, update

from blocks.ledger.database import Transaction
from blocks.support_email.tables import Customer, CustomerEmail, Ticket
from policies.adapter import Name
from policies.errors import Conflict, InvalidInput, NotFound
from policies.value import Json, Value

_ADDRESS = (
    select(CustomerEmail.version, CustomerEmail.address)
    .join(Customer, Customer.id == CustomerEmail.customer)
    .where(Customer.id == bindparam("customer"), Customer.tenant == bindparam("tenant"))
)
_LOCKED_ADDRESS = _ADDRESS.with_for_update(read=True, of=CustomerEmail)
_CUSTOMERS = select(
    Customer.id, Customer.name, CustomerEmail.address, CustomerEmail.version
).join(CustomerEmail, CustomerEmail.customer == Customer.id)


class CustomerRecord(Value):
    """A customer to load."""

    id: Name
    tenant: Name = "main"
    name: str = Field(min_length=1, max_length=200)
    email: str


class TicketRecord(Value):
    """A ticket to load; no `customer` where only the sender's address is known."""

    id: Name
    tenant: Name = "main"
    customer: Name | None = None
    sender: str
    subject: str = ""
    message: str = Field(default="", max_length=100_000)
    suggested_reply: str = Field(default="", max_length=100_000)
    language: str = "en"


class Records(Value):
    """Everything that can be loaded at once."""

    customers: tuple[CustomerRecord, ...] = ()
    tickets: tuple[TicketRecord, ...] = ()


class SupportEmailStore:
    """The domain's side of the ledger's transactions."""

    def resource_version(
        self, tx: Transaction, tenant: str, resource: str
    ) -> int | None:
        """The version of `customer:ID/email`; shared-locked until the transaction ends.

        The lock is what makes the precondition hold until the claim is committed.
        """
        customer = _customer_of(resource)
        query = _LOCKED_ADDRESS if tx.locks_rows else _ADDRESS
        row = tx.one(query, {"customer": customer, "tenant": tenant})
        return None if row is None else int(row.version)

    def precondition(self, tx: Transaction, tenant: str, resource: str) -> str | None:
        """The address of `customer:ID/email` as the adapter words it."""
        row = tx.one(_ADDRESS, {"customer": _customer_of(resource), "tenant": tenant})
        return None if row is None else f"the address is {row.address}"

    def load_records(
        self, tx: Transaction, records: dict[str, Json]
    ) -> tuple[str, ...]:
        """Load customers and tickets; the same record again changes nothing."""
        loaded = _read(records)
        for customer in loaded.customers:
            _put_customer(tx, customer)
        for ticket in loaded.tickets:
            _put_ticket(tx, ticket)
        return (*(c.id for c in loaded.customers), *(t.id for t in loaded.tickets))


def _read(records: dict[str, Json]) -> Records:
    try:
        return Records.model_validate(records)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"These are no records: {place}: {first['msg']}.", code="invalid_records"
        ) from error


def ticket(tx: Transaction, tenant: str, ticket_id: str) -> dict[str, Any]:
    """A ticket of a tenant, or `NotFound`."""
    query = select(Ticket).where(Ticket.id == ticket_id, Ticket.tenant == tenant)
    row = tx.one(query)
    if row is None:
        raise NotFound(
            f"There is no ticket {ticket_id} for tenant {tenant}.",
            hint="Load it with `placet load support_email FILE`.",
        )
    return row._asdict()


def customers_by_id(
    tx: Transaction, tenant: str, ids: tuple[str, ...]
) -> tuple[dict[str, Any], ...]:
    """Customers with their addresses, in the order asked; or `NotFound`."""
    query = _CUSTOMERS.where(Customer.tenant == tenant, Customer.id.in_(ids))
    found = {row.id: _customer(row) for row in tx.all(query)}
    missing = [i for i in ids if i not in found]
    if missing:
        raise NotFound(f"Tenant {tenant} has no customer {', '.join(missing)}.")
    return tuple(found[i] for i in ids)


def customers_by_address(
    tx: Transaction, tenant: str, address: str
) -> tuple[dict[str, Any], ...]:
    """Every customer of a tenant who has this address."""
    query = _CUSTOMERS.where(
        Customer.tenant == tenant, CustomerEmail.address == address
    )
    return tuple(_customer(row) for row in tx.all(query.order_by(Customer.id)))


def change_address(tx: Transaction, customer: str, address: str) -> int:
    """Give a customer another address; the new version of the row."""
    moved = (
        update(CustomerEmail)
        .where(CustomerEmail.customer == customer)
        .values(address=address, version=CustomerEmail.version + 1)
    )
    if not tx.wrote(moved):
        raise NotFound(f"There is no customer {customer}.")
    query = select(CustomerEmail.version).where(CustomerEmail.customer == customer)
    return int(tx.run(query).scalar_one())


def _customer_of(resource: str) -> str:
    return resource.removeprefix("customer:").removesuffix("/email")


def _customer(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "email": row.address,
        "email_version": row.version,
    }


def _put_customer(tx: Transaction, record: CustomerRecord) -> None:
    row = {"id": record.id, "tenant": record.tenant, "name": record.name}
    if tx.inserted(Customer, row):
        email = {"customer": record.id, "address": record.email, "version": 1}
        tx.run(insert(CustomerEmail), email)
        return
    mine = _CUSTOMERS.where(Customer.id == record.id, Customer.tenant == record.tenant)
    known = tx.one(mine)
    if known is None or known.name != record.name:
        raise Conflict(
            f"Customer {record.id} is there already, as somebody else.",
            code="already_exists",
        )
    if known.address != record.email:
        change_address(tx, record.id, record.email)


def _put_ticket(tx: Transaction, record: TicketRecord) -> None:
    row = {**record.model_dump(), "version": 1}
    if tx.inserted(Ticket, row):
        return
    mine = select(Ticket).where(Ticket.id == record.id, Ticket.tenant == record.tenant)
    known = tx.one(mine)
    if known is None or {**known._asdict(), "version": 1} != row:
        raise Conflict(
            f"Ticket {record.id} is there already with another content.",
            code="already_exists",
        )
