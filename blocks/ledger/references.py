"""Which request something belongs to, by whatever of it a person has in hand."""

import re

from sqlalchemy import select

from blocks.ledger import audit, effects, items, sessions
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import Execution, ExecutionClaim
from blocks.ledger.tables import Item, PayloadVersion
from policies.errors import NotFound

# As it stands in the source of what was sent.
_HEADER = re.compile(r"message-id\s*:", re.IGNORECASE)


def workflow_of(tx: Transaction, reference: str) -> str:
    """The workflow of a workflow id, item id, operation id or Message-ID; `NotFound`.

    The chain of people and rules has its own name for it. A Message-ID may come as it
    was copied: with its header's name, or without brackets.
    """
    plain = _HEADER.sub("", reference.strip(), count=1).strip()
    if plain == audit.ADMIN_CHAIN:
        return plain
    if plain.startswith("<") or "@" in plain:
        return _of_message(tx, plain.strip("<> "))
    if plain.startswith("it-"):
        return items.load(tx, plain).workflow
    if plain.startswith("op-"):
        return _of_operation(tx, plain)
    return sessions.load(tx, plain).workflow


def _of_message(tx: Transaction, message_id: str) -> str:
    """A Message-ID is the operation's key at a domain: known before it is recorded."""
    try:
        return effects.workflow_of_provider_ref(tx, f"<{message_id}>")
    except NotFound:
        key = message_id.partition("@")[0]
        if not key.startswith("op-"):
            raise
        return _of_operation(tx, key)


def _of_operation(tx: Transaction, key: str) -> str:
    """An operation has its key from its snapshot on, long before it is claimed."""
    claimed = select(ExecutionClaim.workflow).where(ExecutionClaim.key == key)
    executed = select(Execution.workflow).where(Execution.key == key)
    asked = (
        select(Item.workflow)
        .join(PayloadVersion, PayloadVersion.item == Item.id)
        .where(PayloadVersion.snapshot.contains(f'"{key}"', autoescape=True))
    )
    for query in (claimed, executed, asked):
        row = tx.run(query.limit(1)).first()
        if row is not None:
            return str(row.workflow)
    raise NotFound(f"There is no operation {key}.")
