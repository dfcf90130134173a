"""Reading and changing customers and tickets, in the caller's transaction."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, ValidationError
from sqlalchemy import bindparam, insert, select, update

from blocks.domain import Loaded
from blocks.ledger.database import Transaction
from blocks.support_email.tables import Customer, CustomerEmail, Ticket
from policies.adapter import Name
from policies.errors import Conflict, InvalidInput, NotFound
from policies.problems import problems_of
from policies.support_email import facts
from policies.support_email.mail import Request
from policies.value import Json, Value
from policies.visible import is_storable

# A file of a thousand wrong records has the same slip in each.
_MOST_TOLD = 5


def _storable(text: str) -> str:
    """Refuse what one of the databases cannot hold, in both."""
    if not is_storable(text):
        raise ValueError("must not hold NUL characters: not every ledger can keep them")
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_storable)]
Became: TypeAlias = Literal["new", "changed", "unchanged"]

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
    name: Text = Field(min_length=1, max_length=200)
    email: Text


class TicketRecord(Value):
    """A ticket to load; no `customer` where only the sender's address is known."""

    id: Name
    tenant: Name = "main"
    customer: Name | None = None
    sender: Text
    subject: Text = ""
    message: Text = Field(default="", max_length=100_000)
    suggested_reply: Text = Field(default="", max_length=100_000)
    language: Text = "en"


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

    def load_records(self, tx: Transaction, records: dict[str, Json]) -> Loaded:
        """Load customers and tickets; the same record again changes nothing."""
        given = _read(records)
        became = [(c.id, _put_customer(tx, c)) for c in given.customers]
        became += [(t.id, _put_ticket(tx, t)) for t in given.tickets]
        return Loaded(
            new=tuple(name for name, word in became if word == "new"),
            changed=tuple(name for name, word in became if word == "changed"),
            unchanged=tuple(name for name, word in became if word == "unchanged"),
        )

    def check_request(self, tx: Transaction, request: dict[str, Json]) -> None:
        """The ticket and whom it is from must be known."""
        asked = Request.model_validate(request)
        found = find_people(tx, asked.tenant, asked)
        problem = facts.nobody_to_answer(found)
        if problem is not None:
            raise InvalidInput(
                f"Ticket {asked.ticket_id}: {problem}.",
                code="invalid_request",
                hint="Load the customer with `placet load support_email FILE`.",
            )


def _read(records: dict[str, Json]) -> Records:
    try:
        return Records.model_validate(records)
    except ValidationError as error:
        found = "; ".join(problems_of(error, "the whole")[:_MOST_TOLD])
        raise InvalidInput(
            f"These are no records: {found}.", code="invalid_records"
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


def find_people(tx: Transaction, tenant: str, request: Request) -> dict[str, Any]:
    """`ticket`, `customers` and `candidates` of a request, as its context names them.

    `NotFound` where the ticket or a named customer is not there.
    """
    found = ticket(tx, tenant, request.ticket_id)
    chosen = request.recipients or tuple(filter(None, (found["customer"],)))
    customers = customers_by_id(tx, tenant, chosen)
    candidates: tuple[dict[str, Any], ...] = ()
    if not chosen:
        candidates = customers_by_address(tx, tenant, found["sender"])
    if len(candidates) == 1:
        customers, candidates = candidates, ()
    return {"ticket": found, "customers": customers, "candidates": candidates}


def customers_by_id(
    tx: Transaction, tenant: str, ids: tuple[str, ...]
) -> tuple[dict[str, Any], ...]:
    """Customers with their addresses, in the order asked; or `NotFound`."""
    query = _CUSTOMERS.where(Customer.tenant == tenant, Customer.id.in_(ids))
    found = {row.id: _customer(row) for row in tx.all(query)}
    missing = [i for i in ids if i not in found]
    if missing:
        raise NotFound(
            f"Tenant {tenant} has no customer {', '.join(missing)}.",
            hint="Load customers with `placet load support_email FILE`.",
        )
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


def _put_customer(tx: Transaction, record: CustomerRecord) -> Became:
    row = {"id": record.id, "tenant": record.tenant, "name": record.name}
    if tx.inserted(Customer, row):
        email = {"customer": record.id, "address": record.email, "version": 1}
        tx.run(insert(CustomerEmail), email)
        return "new"
    mine = _CUSTOMERS.where(Customer.id == record.id, Customer.tenant == record.tenant)
    known = tx.one(mine)
    if known is None or known.name != record.name:
        raise Conflict(
            f"Customer {record.id} is there already, as somebody else.",
            code="already_exists",
        )
    if known.address == record.email:
        return "unchanged"
    change_address(tx, record.id, record.email)
    return "changed"


def _put_ticket(tx: Transaction, record: TicketRecord) -> Became:
    row = {**record.model_dump(), "version": 1}
    if tx.one(select(Ticket.id).where(Ticket.id == record.id)) is None:
        _check_from(tx, record)
    if tx.inserted(Ticket, row):
        return "new"
    mine = select(Ticket).where(Ticket.id == record.id, Ticket.tenant == record.tenant)
    known = tx.one(mine)
    if known is None or {**known._asdict(), "version": 1} != row:
        raise Conflict(
            f"Ticket {record.id} is there already with another content.",
            code="already_exists",
        )
    return "unchanged"


def _check_from(tx: Transaction, record: TicketRecord) -> None:
    """`InvalidInput` for a ticket that nobody could answer."""
    try:
        asked = record.customer
        known = customers_by_id(tx, record.tenant, (asked,)) if asked else ()
    except NotFound as error:
        raise InvalidInput(
            f"Ticket {record.id}: {error.message}",
            code="invalid_records",
            hint="Load the customer before it, or with it.",
        ) from error
    if not (known or customers_by_address(tx, record.tenant, record.sender)):
        raise InvalidInput(
            f"Ticket {record.id} names no customer, and no customer of tenant "
            f"{record.tenant} has the address {record.sender}.",
            code="invalid_records",
            hint='Name its "customer", or load one who has that address.',
        )
