"""Review packets, put together from the ledger and the artifact store alone."""

from datetime import datetime
from typing import cast

from blocks.artifacts import ArtifactStore
from blocks.domain import Domain
from blocks.ledger import items, questions, rounds, sessions, versions
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.ledger.versions import Version
from policies import canonical, lifecycle, packet
from policies.plan import (
    Action,
    PacketAnswer,
    PacketEvidence,
    PacketField,
    PacketItem,
    ReviewPacket,
)
from policies.snapshot import EvidenceRef
from policies.state import RequestState
from policies.tool import ToolSpec
from policies.value import Json, Value


class Rows(Value):
    """What a packet needs of the ledger, read in one transaction."""

    session: Session
    state: RequestState
    items: tuple[tuple[Item, tuple[Version, ...]], ...]
    answers: tuple[PacketAnswer, ...]
    deadlines: dict[tuple[str, int], datetime] = {}  # noqa: RUF012 (pydantic copies it)
    """The deadlines of earlier versions, where particular items are looked at."""


def read_rows(
    tx: Transaction, workflow: str, only: tuple[str, ...] | None = None
) -> Rows:
    """The rows of a workflow's open items, or of the items named in `only`."""
    shown = [
        item
        for item in items.of_workflow(tx, workflow)
        if (item.state in lifecycle.OPEN if only is None else item.id in only)
    ]
    return Rows(
        session=sessions.load(tx, workflow),
        state=sessions.load_state(tx, workflow),
        items=tuple((item, versions.of_item(tx, item.id)) for item in shown),
        deadlines={} if only is None else rounds.deadlines_shown(tx, workflow),
        answers=tuple(
            PacketAnswer(
                question=asked.question.question,
                answer=asked.answer,
                by=asked.answered_by or "",
            )
            for asked in questions.of_workflow(tx, workflow)
            if asked.answer is not None
        ),
    )


def build(
    artifacts: ArtifactStore,
    domain: Domain,
    rows: Rows,
    versions: dict[str, int] | None = None,
) -> ReviewPacket:
    """The packet of these items, at their present versions or those in `versions`."""
    plan = rows.state.agent_plan
    actions = {a.id: a for a in plan.actions} if plan else {}
    chosen = versions or {}
    return ReviewPacket(
        workflow=rows.session.workflow,
        summary=plan.summary if plan else "",
        requested_by=rows.session.requested_by,
        tenant=rows.session.tenant,
        answers=rows.answers,
        items=tuple(
            _item(
                artifacts,
                domain.adapter.tools[item.action_type],
                _as_of(rows, item, chosen.get(item.id, item.version)),
                history,
                actions.get(item.action),
            )
            for item, history in rows.items
        ),
    )


def payload_of(artifacts: ArtifactStore, version: Version) -> dict[str, Json]:
    """The stored payload of a version, verified by its digest."""
    data = artifacts.get(version.snapshot.payload.ref)
    return cast("dict[str, Json]", canonical.read_json(data))


def _as_of(rows: Rows, item: Item, number: int) -> Item:
    """The item at one of its versions, with the deadline that it had then."""
    if number == item.version:
        return item
    deadline = rows.deadlines.get((item.id, number), item.deadline)
    return item.model_copy(update={"version": number, "deadline": deadline})


def _item(
    artifacts: ArtifactStore,
    tool: ToolSpec,
    item: Item,
    history: tuple[Version, ...],
    action: Action | None,
) -> PacketItem:
    by_number = {version.version: version for version in history}
    version = by_number[item.version]
    snapshot = version.snapshot
    fields = _fields(artifacts, tool, version)
    before = by_number.get(item.version - 1)
    diff = before and packet.difference(_fields(artifacts, tool, before), fields)
    return PacketItem(
        item=item.id,
        action=item.action,
        title=tool.title,
        tool=tool.name,
        rationale=action.rationale if action else "",
        payload=snapshot.payload,
        snapshot=snapshot.digest,
        intent=snapshot.intent,
        intent_digest=snapshot.intent_digest,
        evidence=tuple(_evidence(artifacts, e) for e in snapshot.evidence),
        risk_level=version.risk.level,
        risk_reasons=version.risk.reasons,
        reversible=_reversible(tool),
        fields=fields,
        diff=diff or None,
        deadline=item.deadline,
        term_seconds=snapshot.term_seconds,
    )


def _fields(
    artifacts: ArtifactStore, tool: ToolSpec, version: Version
) -> tuple[PacketField, ...]:
    return packet.fields_of(tool, payload_of(artifacts, version))


def _evidence(artifacts: ArtifactStore, evidence: EvidenceRef) -> PacketEvidence:
    text = packet.readable(artifacts.get(evidence.ref))
    return PacketEvidence(name="As collected", evidence=evidence, text=text)


def _reversible(tool: ToolSpec) -> str:
    if tool.reversible_by:
        return f"yes, by {tool.reversible_by}"
    return "no" if tool.traits.irreversible else "yes"
