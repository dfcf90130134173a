"""The path of a request: from what was sent back to what it was made from, and by whom.

Refs and digests, names and times; contents stay in the artifact store.
"""

from typing import Any

from blocks.artifacts import ArtifactStore
from blocks.ledger import audit, effects, items, sessions, verdicts, versions
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from blocks.ledger.versions import Version
from policies import canonical
from policies.value import Json, Value


class Row(Value):
    """One item's part of the path, as read in one transaction."""

    item: Item
    versions: tuple[Version, ...]
    verdicts: tuple[dict[str, Any], ...]
    executions: tuple[dict[str, Any], ...]
    settled: tuple[audit.Event, ...]
    """What was found out about an unknown outcome, and reversals: from the trail."""


def read_rows(tx: Transaction, workflow: str) -> tuple[Row, ...]:
    """The rows of every item of a workflow."""
    settled = [e for e in audit.events(tx, workflow) if e.event in _SETTLED]
    return tuple(
        Row(
            item=item,
            versions=versions.of_item(tx, item.id),
            verdicts=verdicts.of_item(tx, item.id),
            executions=effects.results_of(tx, item.id),
            settled=tuple(e for e in settled if e.facts["item"] == item.id),
        )
        for item in items.of_workflow(tx, workflow)
    )


def build(
    artifacts: ArtifactStore, session: sessions.Session, rows: tuple[Row, ...]
) -> dict[str, Any]:
    """The path as one document, oldest cause first."""
    return {
        "workflow_id": session.workflow,
        "request_id": session.request_id,
        "domain": session.domain,
        "tenant": session.tenant,
        "requested_by": session.requested_by,
        "status": session.status,
        "items": [_item(artifacts, row) for row in rows],
    }


def _item(artifacts: ArtifactStore, row: Row) -> dict[str, Any]:
    return {
        "item": row.item.id,
        "action": row.item.action,
        "tool": row.item.action_type,
        "state": row.item.state,
        "versions": [_version(artifacts, version) for version in row.versions],
        "verdicts": [_told(verdict, _VERDICT) for verdict in row.verdicts],
        "executions": [_told(execution, _EXECUTION) for execution in row.executions],
        "settled": [
            {"event": e.event, "at": e.at, **_known(e.facts, _SETTLED[e.event])}
            for e in row.settled
        ],
    }


_VERDICT = (
    "decision_id",
    "version",
    "verdict",
    "reviewer",
    "role",
    "channel",
    "reason",
)
_EXECUTION = ("outcome", "version", "key", "provider_ref", "artifact", "detail")


_WHO = ("actor", "role", "method", "channel", "reason")
_SETTLED: dict[str, tuple[str, ...]] = {
    "reconciled": ("outcome", "payload_version", *_WHO),
    "rolled_back": ("rollback_reference", "payload_version", *_WHO),
}


def _known(facts: dict[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    """These facts, None where there is none: a provider gives no reason."""
    return {name: facts.get(name) for name in names}


def _told(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {**{name: row[name] for name in names}, "at": row["at"].isoformat()}


def _version(artifacts: ArtifactStore, version: Version) -> dict[str, Any]:
    snapshot = version.snapshot
    return {
        "version": version.version,
        "made_by": version.made_by,
        "payload_ref": snapshot.payload.ref,
        "payload_hash": snapshot.payload.hash,
        "snapshot": snapshot.digest,
        "resource": snapshot.intent.resource,
        "resource_version": snapshot.intent.resource_version,
        "evidence": [e.model_dump() for e in snapshot.evidence],
        # An edit keeps the provenance of what it changed; it was made by a person.
        "made_from": None
        if version.diff
        else _provenance(artifacts, version.provenance),
    }


def _provenance(artifacts: ArtifactStore, ref: str | None) -> Json:
    """Which model was asked what, by refs with digests."""
    return None if ref is None else canonical.read_json(artifacts.get(ref))
