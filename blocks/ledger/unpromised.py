"""Claims for which nothing lies in the outbox: an older version promised nothing.

One that is `claimed` was never sent, so it is promised now. What was sent of any other
is not kept; the guard's `message_lost` ends those that would have to be tried again.
"""

from blocks.domain import Domain
from blocks.ledger import claims, facts, items, outbox, sessions, versions
from blocks.ledger.claims import Claim, Refused
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Stored
from blocks.ledger.outbox import Outgoing
from policies.guard import Executable


def make_good(
    tx: Transaction,
    held: Claim,
    stored: Stored,
    domain: Domain,
    promised: Outgoing | None,
) -> Refused | None:
    """Promise what a claim of ours is to send, as a new claim does: past the guard.

    `promised` is None for an internal effect, and where the payload is gone, to which
    the guard says no.
    """
    if held.state != "claimed" or outbox.find(tx, held.id) is not None:
        return None
    session = sessions.load(tx, held.workflow)
    item = items.load(tx, held.item, lock=True)
    snapshot = versions.load(tx, item.id, held.version).snapshot
    answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    if not isinstance(answer, Executable):
        left = claims.let_go(tx, held, answer)
        return claims.refuse(tx, item, answer, "claim", left)
    if promised is not None:
        outbox.promise(tx, held.workflow, held.id, promised)
        claims.note(tx, item, held, "execution_claimed", **outbox.told_of(promised))
    return None
