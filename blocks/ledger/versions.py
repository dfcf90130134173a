"""The versions of an item's payload, and what a verdict on each is bound to."""

from typing import Any

from sqlalchemy import Row, bindparam, insert, select

from blocks.ledger.database import Transaction
from blocks.ledger.tables import PayloadVersion as VersionTable
from policies import canonical
from policies.errors import NotFound
from policies.risk import Risk
from policies.snapshot import ApprovalSnapshot
from policies.value import Value


class Version(Value):
    """One version of an item's payload, and what a verdict on it is bound to."""

    version: int
    snapshot: ApprovalSnapshot
    validation_hash: str
    risk: Risk
    provenance: str | None
    diff: str | None
    made_by: str


_VERSION = select(VersionTable).where(
    VersionTable.item == bindparam("item"), VersionTable.version == bindparam("version")
)
_VERSIONS = (
    select(VersionTable)
    .where(VersionTable.item == bindparam("item"))
    .order_by(VersionTable.version)
)


def load(tx: Transaction, item: str, version: int) -> Version:
    """One version of an item's payload."""
    known: Version | None = tx.unchanging.get((item, version))
    if known is not None:
        return known
    row = tx.one(_VERSION, {"item": item, "version": version})
    if row is None:
        raise NotFound(f"Item {item} has no version {version}.")
    found = tx.unchanging[item, version] = _version(row)
    return found


def of_item(tx: Transaction, item: str) -> tuple[Version, ...]:
    """All versions of an item's payload, the first one first."""
    return tuple(_version(row) for row in tx.all(_VERSIONS, {"item": item}))


def next_number(tx: Transaction, item: str) -> int:
    """One above every version there is, shown or not: no number is used twice."""
    return of_item(tx, item)[-1].version + 1


def facts(version: Version) -> dict[str, Any]:
    """What an audit event says of a payload version: refs and digests, no content."""
    snapshot = version.snapshot
    return {
        "payload_ref": snapshot.payload.ref,
        "payload_version": snapshot.payload.version,
        "payload_hash": snapshot.payload.hash,
        "intent": snapshot.intent.model_dump(),
        "intent_digest": snapshot.intent_digest,
        "snapshot": snapshot.digest,
        "evidence": [e.model_dump() for e in snapshot.evidence],
        "provenance": version.provenance,
        "idempotency_scope": snapshot.scope,
        "idempotency_key": snapshot.key,
    }


def insert_version(tx: Transaction, item: str, new: Version) -> None:
    snapshot = new.snapshot
    body = canonical.canonical_bytes(snapshot.model_dump(mode="json")).decode()
    tx.run(
        insert(VersionTable),
        {
            "item": item,
            "version": new.version,
            "ref": snapshot.payload.ref,
            "hash": snapshot.payload.hash,
            "snapshot": body,
            "snapshot_digest": snapshot.digest,
            "intent_digest": snapshot.intent_digest,
            "resource_version": snapshot.intent.resource_version,
            "precondition": snapshot.intent.precondition,
            "validation_hash": new.validation_hash,
            "risk": new.risk.model_dump(mode="json"),
            "provenance": new.provenance,
            "diff": new.diff,
            "made_by": new.made_by,
            "made_at": tx.now,
        },
    )


def _version(row: Row[Any]) -> Version:
    return Version(
        version=row.version,
        snapshot=ApprovalSnapshot.model_validate(canonical.read_json(row.snapshot)),
        validation_hash=row.validation_hash,
        risk=Risk.model_validate(row.risk),
        provenance=row.provenance,
        diff=row.diff,
        made_by=row.made_by,
    )
