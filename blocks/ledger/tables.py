"""The ledger's tables (architecture, section 5). Rows tagged append-only by trigger."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from blocks.ledger.columns import Base


class WorkflowSession(Base):
    """A request's progress. Who holds `lease_token` may write; nobody else."""

    __tablename__ = "workflow_sessions"
    __table_args__ = (Index("sessions_open", "status", "looked_after_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    request_id: Mapped[str] = mapped_column(unique=True)
    request_hash: Mapped[str]
    domain: Mapped[str]
    tenant: Mapped[str]
    requested_by: Mapped[str]
    environment: Mapped[str]
    status: Mapped[str]
    revision: Mapped[int] = mapped_column(default=0)
    round: Mapped[int] = mapped_column(default=0)
    pending: Mapped[dict[str, Any] | None]
    lease_owner: Mapped[str | None]
    lease_token: Mapped[int] = mapped_column(default=0)
    lease_until: Mapped[datetime | None]
    flow_run_id: Mapped[str | None]
    deployed: Mapped[bool] = mapped_column(default=False)
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    closing: Mapped[list[Any] | None]
    looked_after_at: Mapped[datetime | None]
    restarted_at: Mapped[datetime | None]
    restarted_revision: Mapped[int | None]
    restarts: Mapped[int] = mapped_column(server_default="0")
    """How often it was put back to work since it last made progress."""


class DomainSession(Base):
    """A request's business results, tied to its progress by id alone."""

    __tablename__ = "domain_sessions"

    workflow: Mapped[str] = mapped_column(
        ForeignKey("workflow_sessions.id"), primary_key=True
    )
    state: Mapped[dict[str, Any]]


class AuditHead(Base):
    """The last event of each chain, so that a cut tail shows."""

    __tablename__ = "audit_heads"

    chain: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int]
    hash: Mapped[str]


class AuditEvent(Base):
    """Append-only. `facts` is canonical JSON, exactly the text that was hashed."""

    __tablename__ = "audit_events"

    chain: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    event: Mapped[str]
    at: Mapped[str]
    facts: Mapped[str]
    previous: Mapped[str]
    hash: Mapped[str]


class Artifact(Base):
    """Append-only. What lies in the artifact store, by its content."""

    __tablename__ = "artifacts"

    ref: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    version: Mapped[int]
    digest: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]
    made_at: Mapped[datetime]


class Item(Base):
    """One action that waits for a verdict, and how it was gated when it was asked."""

    __tablename__ = "items"
    __table_args__ = (
        UniqueConstraint("workflow", "action", "turn"),
        Index("items_open", "tenant", "state", "risk_rank", "deadline"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    workflow: Mapped[str] = mapped_column(ForeignKey("workflow_sessions.id"))
    action: Mapped[str]
    turn: Mapped[int]
    position: Mapped[int]
    action_type: Mapped[str]
    tenant: Mapped[str]
    requested_by: Mapped[str]
    risk_level: Mapped[str]
    risk_rank: Mapped[int]
    risk_reasons: Mapped[list[Any]]
    summary: Mapped[str]
    evidence: Mapped[list[Any]]
    state: Mapped[str]
    version: Mapped[int]
    held: Mapped[list[Any]]
    permission: Mapped[str]
    role: Mapped[str]
    required_verdicts: Mapped[int]
    signed_in: Mapped[bool]
    assignee: Mapped[str | None]
    term_seconds: Mapped[int]
    deadline: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    gate_version: Mapped[str]
    policy_version: Mapped[str]
    schema_version: Mapped[str]
    rubric_version: Mapped[str]
    created_at: Mapped[datetime]
    assigned_at: Mapped[datetime | None]
    opened_at: Mapped[datetime | None]
    edited_at: Mapped[datetime | None]
    resolved_at: Mapped[datetime | None]


class PayloadVersion(Base):
    """Append-only. What each version of an item's payload was, and its snapshot."""

    __tablename__ = "payload_versions"

    item: Mapped[str] = mapped_column(ForeignKey("items.id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    ref: Mapped[str] = mapped_column(ForeignKey("artifacts.ref"))
    hash: Mapped[str]
    snapshot: Mapped[str]
    snapshot_digest: Mapped[str]
    intent_digest: Mapped[str]
    resource_version: Mapped[int | None]
    precondition: Mapped[str]
    validation_hash: Mapped[str]
    risk: Mapped[dict[str, Any]]
    provenance: Mapped[str | None]
    diff: Mapped[str | None]
    made_by: Mapped[str]
    made_at: Mapped[datetime]


class Verdict(Base):
    """Append-only. A changed mind is a new row."""

    __tablename__ = "verdicts"
    __table_args__ = (
        ForeignKeyConstraint(
            ["item", "version"], ["payload_versions.item", "payload_versions.version"]
        ),
        Index("verdicts_of_item", "item", "version"),
    )

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    decision_id: Mapped[str] = mapped_column(unique=True)
    item: Mapped[str]
    version: Mapped[int]
    verdict: Mapped[str]
    reviewer: Mapped[str]
    role: Mapped[str]
    on_behalf_of: Mapped[str | None]
    conflict_of_interest: Mapped[bool]
    method: Mapped[str]
    channel: Mapped[str]
    reason: Mapped[str]
    policy_version: Mapped[str]
    rubric_version: Mapped[str]
    expires_at: Mapped[datetime | None]
    at: Mapped[datetime]


class ReviewEvent(Base):
    """Append-only. What people did with an item short of a recorded verdict."""

    __tablename__ = "review_events"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    item: Mapped[str] = mapped_column(ForeignKey("items.id"))
    version: Mapped[int]
    event: Mapped[str]
    actor: Mapped[str]
    channel: Mapped[str]
    detail: Mapped[str]
    at: Mapped[datetime]


class Question(Base):
    """A question that was put to people, and its answer."""

    __tablename__ = "interactions"

    workflow: Mapped[str] = mapped_column(
        ForeignKey("workflow_sessions.id"), primary_key=True
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    round: Mapped[int]
    question: Mapped[dict[str, Any]]
    state: Mapped[str]
    answer: Mapped[str | None]
    answered_by: Mapped[str | None]
    channel: Mapped[str | None]
    asked_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]


class Pause(Base):
    """One pause or suspension of a flow run, by its key, and its form's fate."""

    __tablename__ = "pauses"

    workflow: Mapped[str] = mapped_column(
        ForeignKey("workflow_sessions.id"), primary_key=True
    )
    key: Mapped[str] = mapped_column(primary_key=True)
    flow_run_id: Mapped[str]
    round: Mapped[int]
    kind: Mapped[str]
    state: Mapped[str]
    notice: Mapped[str]
    asked_at: Mapped[datetime]


class ResumeBinding(Base):
    """Which outcome has taken a wait's slot; one outcome per slot, for ever."""

    __tablename__ = "resume_bindings"

    workflow: Mapped[str] = mapped_column(
        ForeignKey("workflow_sessions.id"), primary_key=True
    )
    checkpoint: Mapped[int] = mapped_column(primary_key=True)
    interrupt: Mapped[str] = mapped_column(primary_key=True)
    outcome: Mapped[str]
    token: Mapped[int]
    state: Mapped[str]
    bound_at: Mapped[datetime]
    consumed_at: Mapped[datetime | None]


class Reviewer(Base):
    """A person who may decide."""

    __tablename__ = "reviewers"

    id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    role: Mapped[str]
    permissions: Mapped[list[Any]]
    admin: Mapped[bool]
    made_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Credential(Base):
    """A person's proofs: the token's hash, the encrypted seed, wrong codes so far."""

    __tablename__ = "credentials"

    reviewer: Mapped[str] = mapped_column(ForeignKey("reviewers.id"), primary_key=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    seed: Mapped[str]
    wrong_codes: Mapped[int] = mapped_column(default=0)
    locked_until: Mapped[datetime | None]


class UsedCode(Base):
    """One-time codes that have been used, by time step."""

    __tablename__ = "used_codes"

    reviewer: Mapped[str] = mapped_column(ForeignKey("reviewers.id"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class PolicyRow(Base):
    """Append-only. Every policy that was ever in force; the last one is."""

    __tablename__ = "policies"

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    version: Mapped[str]
    body: Mapped[str]
    actor: Mapped[str]
    at: Mapped[datetime]


APPEND_ONLY: tuple[str, ...] = (
    "artifacts",
    "audit_events",
    "executions",
    "freezes",
    "key_tombstones",
    "payload_versions",
    "policies",
    "review_events",
    "verdicts",
)
