"""Items: one action each that waits for a verdict, its versions and its states.

Every move is one statement whose WHERE repeats the state and version that the caller
saw; `lifecycle` says which moves there are.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from blocks.ledger import audit, versions
from blocks.ledger.columns import setting, to_columns
from blocks.ledger.database import Transaction
from blocks.ledger.tables import Item as ItemTable
from blocks.ledger.tables import ReviewEvent
from blocks.ledger.versions import Version
from policies import canonical, lifecycle
from policies.access import Gate
from policies.errors import Conflict, NotFound
from policies.idempotency import short_id
from policies.lifecycle import Event, State
from policies.policy import LEVELS, GatePolicy, Policy, RiskLevel, Role
from policies.risk import Risk
from policies.snapshot import EvidenceRef
from policies.state import ItemView
from policies.value import Value


class Item(Value):
    """An item as it stands."""

    id: str
    workflow: str
    action: str
    turn: int
    position: int
    action_type: str
    tenant: str
    requested_by: str
    risk_level: RiskLevel
    risk_reasons: tuple[str, ...]
    summary: str
    evidence: tuple[EvidenceRef, ...]
    state: State
    version: int
    held: tuple[str, ...]
    permission: str
    role: Role
    required_verdicts: int
    signed_in: bool
    assignee: str | None
    term_seconds: int
    deadline: datetime
    expires_at: datetime | None
    gate_version: str
    policy_version: str
    schema_version: str
    rubric_version: str
    created_at: datetime

    @property
    def gate(self) -> Gate:
        """What the item asks of whoever decides it."""
        return Gate(
            tenant=self.tenant,
            permission=self.permission,
            role=self.role,
            requested_by=self.requested_by,
            assignee=self.assignee,
            signed_in=self.signed_in,
        )

    @property
    def view(self) -> ItemView:
        """What a decision needs to know of it."""
        return ItemView(
            item=self.id,
            action=self.action,
            state=self.state,
            version=self.version,
            risk_level=self.risk_level,
            held=self.held,
        )


class NewItem(Value):
    """What an item is asked with; everything that gated it is kept with it."""

    workflow: str
    action: str
    turn: int = 1
    position: int
    action_type: str
    tenant: str
    requested_by: str
    risk: Risk
    gate: GatePolicy
    summary: str
    evidence: tuple[EvidenceRef, ...]
    permission: str
    term_seconds: int
    decide_within_seconds: int
    gate_version: str
    policy_version: str
    schema_version: str
    rubric_version: str


_COLUMNS = select(*(getattr(ItemTable, name) for name in Item.model_fields))
_ITEM = _COLUMNS.where(ItemTable.id == bindparam("id"))
_LOCKED_ITEM = _ITEM.with_for_update()
_OF_WORKFLOW = _COLUMNS.where(ItemTable.workflow == bindparam("workflow")).order_by(
    ItemTable.position, ItemTable.turn
)
_MOVE = update(ItemTable).where(
    ItemTable.id == bindparam("of"),
    ItemTable.state == bindparam("from_state"),
    ItemTable.version == bindparam("from_version"),
)


def item_id(workflow: str, action: str, turn: int) -> str:
    """The id of an action's item; the same turn of the same action, the same id."""
    body = canonical.canonical_bytes([workflow, action, turn])
    return short_id("it-", canonical.digest("request", body))


def ask(tx: Transaction, new: NewItem, first: Version) -> Item:
    """Make an item with deadline and first version, or find the one that is there."""
    made = item_id(new.workflow, new.action, new.turn)
    if not tx.inserted(ItemTable, _row(tx, made, new, first.version)):
        found = load(tx, made)
        if (found.workflow, found.action, found.turn) != (
            new.workflow,
            new.action,
            new.turn,
        ):
            raise Conflict(f"Item {made} belongs to another request.")
        return found
    versions.insert_version(tx, made, first)
    item = load(tx, made)
    audit.append(
        tx,
        new.workflow,
        "item_queued",
        action_type=new.action_type,
        risk=new.risk.level,
        risk_reasons=new.risk.reasons,
        deadline=item.deadline,
        **facts(item, first),
    )
    return item


def facts(item: Item, version: Version) -> dict[str, Any]:
    """What an audit event says of an item and the version that it is about."""
    return {
        "item": item.id,
        "action": item.action,
        "policy_version": item.policy_version,
        "schema_version": item.schema_version,
        "rubric_version": item.rubric_version,
        **versions.facts(version),
    }


def present_facts(tx: Transaction, item: Item) -> dict[str, Any]:
    """As `facts`, of the item's present version."""
    return facts(item, versions.load(tx, item.id, item.version))


def load(tx: Transaction, item: str, *, lock: bool = False) -> Item:
    """An item by its id, or `NotFound`; `lock` keeps others from deciding meanwhile."""
    query = _LOCKED_ITEM if lock and tx.locks_rows else _ITEM
    row = tx.one(query, {"id": item})
    if row is None:
        raise NotFound(f"There is no item {item}.", hint="`placet queue` lists them.")
    return _item(row)


def of_workflow(tx: Transaction, workflow: str) -> tuple[Item, ...]:
    """A workflow's items in plan order."""
    return tuple(_item(row) for row in tx.all(_OF_WORKFLOW, {"workflow": workflow}))


def lock_open(tx: Transaction, workflow: str) -> list[tuple[str, int]]:
    """Keep others from deciding a workflow's open items; their ids and versions."""
    locked = (load(tx, i.id, lock=True) for i in of_workflow(tx, workflow))
    return [(i.id, i.version) for i in locked if i.state in lifecycle.OPEN]


def in_order(tx: Transaction, state: str | None, risk: str | None) -> tuple[Item, ...]:
    """What can be decided, or items in one state, by risk, deadline and action type."""
    wanted = ItemTable.state.in_(lifecycle.OPEN) & (ItemTable.deadline > tx.now)
    query = _COLUMNS.where(wanted if state is None else ItemTable.state == state)
    if risk is not None:
        query = query.where(ItemTable.risk_level == risk)
    ordered = query.order_by(
        ItemTable.risk_rank.desc(),
        ItemTable.deadline,
        ItemTable.action_type,
        ItemTable.id,
    )
    return tuple(_item(row) for row in tx.all(ordered))


def move(
    tx: Transaction, item: Item, event: Event, to: State | None = None, **values: Any
) -> Item:
    """Take one step of the state table, if the item is still as the caller saw it."""
    target = lifecycle.advance(item.state, event, to)
    if target in lifecycle.FINAL:
        values["resolved_at"] = tx.now
    new = {"state": target, **values}
    seen = {"of": item.id, "from_state": item.state, "from_version": item.version}
    if not tx.wrote(setting(_MOVE, *new), {**seen, **to_columns(new)}):
        raise Conflict(
            f"Item {item.id} has moved on meanwhile.", code="already_decided"
        )
    known = {name: values[name] for name in Item.model_fields if name in values}
    return item.model_copy(update={**known, "state": target})


def assign_and_open(tx: Transaction, item: Item, opened: Mapping[str, Any]) -> Item:
    """An item goes to whoever has the permission, and is open; an open one, again.

    `opened` is what the audit event says of how: who saw it, or where it is shown to
    whom while nobody is known to have seen it.
    """
    told = present_facts(tx, item)
    if item.state == State.QUEUED:
        item = move(tx, item, Event.ASSIGN, assigned_at=tx.now)
        to = item.assignee or item.role
        audit.append(
            tx,
            item.workflow,
            "item_assigned",
            actor="system",
            to=to,
            permission=item.permission,
            seen_by=[],
            **told,
        )
    item = move(tx, item, Event.OPEN, opened_at=tx.now)
    audit.append(tx, item.workflow, "item_opened", **opened, **told)
    return item


def add_version(
    tx: Transaction,
    item: Item,
    event: Event,
    new: Version,
    policy: Policy,
    **told: Any,
) -> Item:
    """A new version, judged by `policy`; what was said about earlier ones is void.

    One that is asked after the guard's no gets the policy's whole time to be decided;
    an edit has what is left, and not more than its risk's time from now on. `told` is
    what the audit event says beside it, such as who decided on the edit.
    """
    risk, gate = new.risk, policy.gates[new.risk.level]
    due = deadline(tx, policy, risk.level)
    again = event == Event.NEW_VERSION
    versions.insert_version(tx, item.id, new)
    move(
        tx,
        item,
        event,
        version=new.version,
        edited_at=tx.now,
        deadline=due if again else min(due, item.deadline),
        expires_at=None,
        held=[],
        evidence=[e.model_dump() for e in new.snapshot.evidence],
        risk_level=risk.level,
        risk_rank=LEVELS.index(risk.level),
        risk_reasons=list(risk.reasons),
        role=gate.role,
        required_verdicts=gate.verdicts,
        signed_in=gate.signed_in,
        term_seconds=new.snapshot.term_seconds,
        gate_version=new.snapshot.intent.policy_version,
        policy_version=policy.version,
        schema_version=new.snapshot.intent.schema_version,
    )
    edited = load(tx, item.id)
    audit.append(
        tx,
        item.workflow,
        "payload_edited",
        cause=event,
        risk=risk.level,
        deadline=edited.deadline,
        **facts(edited, new),
        **{"actor": new.made_by, **told},
    )
    return edited


def deadline(tx: Transaction, policy: Policy, level: RiskLevel) -> datetime:
    """When what is asked now has to be decided by, at a level of risk."""
    return tx.now + timedelta(seconds=policy.terms[level].decide_within_seconds)


def note(
    tx: Transaction, item: Item, event: str, actor: str, channel: str, detail: str
) -> None:
    """Keep what a person did with an item, beside its verdicts."""
    tx.run(
        insert(ReviewEvent),
        {
            "item": item.id,
            "version": item.version,
            "event": event,
            "actor": actor,
            "channel": channel,
            "detail": detail,
            "at": tx.now,
        },
    )


def _row(tx: Transaction, made: str, new: NewItem, version: int) -> dict[str, Any]:
    return {
        **new.model_dump(exclude={"risk", "gate", "evidence", "decide_within_seconds"}),
        "id": made,
        "state": lifecycle.advance(None, Event.ASK),
        "version": version,
        "held": [],
        "evidence": [e.model_dump() for e in new.evidence],
        "risk_level": new.risk.level,
        "risk_rank": LEVELS.index(new.risk.level),
        "risk_reasons": list(new.risk.reasons),
        "role": new.gate.role,
        "required_verdicts": new.gate.verdicts,
        "signed_in": new.gate.signed_in,
        "deadline": tx.now + timedelta(seconds=new.decide_within_seconds),
        "created_at": tx.now,
    }


def _item(row: Row[Any]) -> Item:
    return Item.model_validate(row._asdict())
