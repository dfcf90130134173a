"""Which request or item a person means, by whatever id of it they have in hand."""

from typing import NamedTuple

from blocks.ledger import items, references, sessions
from policies.errors import InvalidInput, NotFound
from tasks.services import Services


class Named(NamedTuple):
    """A request; `item` is the one whose id it was named by."""

    workflow: str
    item: str | None


def request(services: Services, reference: str) -> Named:
    """By its id, or that of an item, an operation or a message of it.

    The ledger does not know one that has not begun: its id is taken as it is.
    """
    plain = reference.strip()
    if plain.startswith("wf-"):
        return Named(plain, None)
    with services.ledger.read() as tx:
        found = references.workflow_of(tx, plain)
    return Named(found, plain if plain.startswith("it-") else None)


def item(services: Services, reference: str) -> str:
    """By its id, or its request's where that has one only.

    `InvalidInput` (ambiguous_item) where it has several, `NotFound` where it has none.
    """
    plain = reference.strip()
    if not plain.startswith("wf-"):
        return plain
    with services.ledger.read() as tx:
        sessions.load(tx, plain)
        found = [one.id for one in items.of_workflow(tx, plain)]
    if not found:
        raise NotFound(
            f"{plain} is a request that has asked for nothing yet.",
            hint=f"`placet status {plain}` tells where it is.",
        )
    if len(found) > 1:
        raise InvalidInput(
            f"{plain} is a request with {len(found)} items.",
            code="ambiguous_item",
            hint=f"Name one of them instead: {', '.join(found)}.",
        )
    return found[0]
