"""Rows that permit something must stand in a trail: each is vouched for by an event.

A chain of hashes shows that nothing told was altered. A row that was written past the
scripts was never told, and one that was taken away is told still: of verdicts, approved
items, reviewers and policies that shows here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Row, select

from blocks.ledger.effect_tables import OutboxRow
from blocks.ledger.tables import Item, PolicyRow, Reviewer, Verdict
from policies import canonical
from policies.lifecycle import State
from policies.value import Json

if TYPE_CHECKING:
    from blocks.ledger.database import Transaction

_WORDS = MappingProxyType(
    {
        "approve_requested": "approved",
        "approved": "approved",
        "rejected": "rejected",
        "withdrawn": "withdrawn",
        "payload_edited": "edited",
    }
)
_ADMIN = MappingProxyType(
    {
        "reviewer_added": ("reviewer", "reviewer"),
        "policy_set": ("policy", "policy_version"),
    }
)
_CLAIMED = "execution_claimed"
_TELLING = frozenset({*_WORDS, *_ADMIN, _CLAIMED})
_RESTS_ON_APPROVAL = (
    State.APPROVED,
    State.RESUME_CLAIMED,
    State.GRAPH_RESUMED,
    State.EXECUTION_CLAIMED,
    State.EXECUTION_UNKNOWN,
    State.EXECUTED,
)
_VERDICTS = select(
    Item.workflow, Verdict.decision_id, Verdict.item, Verdict.reviewer, Verdict.verdict
).join(Item, Item.id == Verdict.item)
_APPROVED = select(Item.workflow, Item.id, Item.version).where(
    Item.state.in_(_RESTS_ON_APPROVAL)
)


_PROMISED = select(
    OutboxRow.workflow, OutboxRow.claim, OutboxRow.message, OutboxRow.envelope
).where(OutboxRow.kind == "effect")


class Vouched(NamedTuple):
    """What an event vouches for, or a row needs: in which chain, and which facts."""

    chain: str
    what: str
    facts: tuple[Json, ...]

    @property
    def untold(self) -> str:
        """What is said where no event vouches for it."""
        return f"no event tells of this {self.what}: {self._named}"

    @property
    def gone(self) -> str:
        """What is said where an event vouches for it and it is not there."""
        return f"this {self.what} was told of and is gone: {self._named}"

    @property
    def _named(self) -> str:
        return " ".join(map(str, self.facts))


def needed(tx: Transaction, admin: str) -> set[Vouched]:
    """What the tables hold now that must have been told; `admin` is people's chain.

    Read it before the trails: what is told later than it was read is no fault.
    """
    of_people = [Vouched(admin, "reviewer", (r.id,)) for r in tx.all(select(Reviewer))]
    policies = select(PolicyRow.version)
    of_rules = [Vouched(admin, "policy", (r.version,)) for r in tx.all(policies)]
    said = [Vouched(r.workflow, "verdict", tuple(r)[1:]) for r in tx.all(_VERDICTS)]
    items = [Vouched(r.workflow, "approval", tuple(r)[1:]) for r in tx.all(_APPROVED)]
    promised = [
        _promise(r.workflow, {"claim": r.claim, **message_facts(r.message, r.envelope)})
        for r in tx.all(_PROMISED)
    ]
    return {*of_people, *of_rules, *said, *items, *promised}


def gone(tx: Transaction, admin: str, told: set[Vouched]) -> set[Vouched]:
    """What trails tell of and the tables no longer hold.

    An item may well move on, and what was promised is forgotten with its claim.
    """
    lasting = {row for row in told if row.what not in ("approval", "message")}
    return lasting - needed(tx, admin)


def told(row: Row[Any]) -> Iterator[Vouched]:
    """What an event of a trail vouches for."""
    if row.event not in _TELLING:
        return
    facts = canonical.read_json(row.facts)
    assert isinstance(facts, dict)
    if row.event == _CLAIMED:
        if "message" in facts:
            yield _promise(row.chain, facts)
        return
    if row.event in _ADMIN:
        what, name = _ADMIN[row.event]
        yield Vouched(row.chain, what, (facts.get(name),))
        return
    said = (*map(facts.get, ("decision_id", "item", "actor")), _WORDS[row.event])
    # Facts that moved make a new version as well, and nobody's verdict.
    if said[0] is not None:
        yield Vouched(row.chain, "verdict", said)
    if row.event == "approved":
        about = (facts.get("item"), facts.get("payload_version"))
        yield Vouched(row.chain, "approval", about)


def message_facts(ref: str, envelope: dict[str, Json]) -> dict[str, str]:
    """What an event tells of a message: its bytes, and a digest of to whom it goes."""
    plain = canonical.canonical_bytes(canonical.normalise(envelope))
    return {"message": ref, "envelope": canonical.digest("envelope", plain)}


def _promise(chain: str, facts: Mapping[str, Json]) -> Vouched:
    named = tuple(map(facts.get, ("claim", "message", "envelope")))
    return Vouched(chain, "message", named)
