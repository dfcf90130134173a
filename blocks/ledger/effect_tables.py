"""The tables of what is done to the world: claims, promises, and what came of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from blocks.ledger.columns import Base


class ExecutionClaim(Base):
    """The one right to an effect. Every write repeats token, owner and state."""

    __tablename__ = "execution_claims"
    __table_args__ = (
        UniqueConstraint("scope", "key"),
        Index("claims_by_state", "state", "lease_until"),
        Index("claims_of_item", "item", "version"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    scope: Mapped[str]
    key: Mapped[str]
    digest: Mapped[str]
    workflow: Mapped[str] = mapped_column(ForeignKey("workflow_sessions.id"))
    item: Mapped[str] = mapped_column(ForeignKey("items.id"))
    version: Mapped[int]
    state: Mapped[str]
    owner: Mapped[str]
    token: Mapped[int]
    session_token: Mapped[int]
    lease_until: Mapped[datetime]
    claimed_at: Mapped[datetime]
    dispatched_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(server_default="0")
    """How often it was sent."""
    lookups: Mapped[int] = mapped_column(server_default="0")
    """How often the provider was asked what became of it."""
    due_at: Mapped[datetime | None]
    """When it may be sent again, or asked for again."""
    lost_at: Mapped[datetime | None]
    """When the newest send was lost that may still arrive, as far as is known."""


class Execution(Base):
    """Append-only. What a provider answered, or that it cannot be known.

    It says by itself which operation it was: claims are buried, executions stay.
    """

    __tablename__ = "executions"
    __table_args__ = (
        Index("executions_by_provider_ref", "provider_ref"),
        Index("executions_of_item", "item"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    claim: Mapped[str]
    workflow: Mapped[str]
    item: Mapped[str]
    version: Mapped[int]
    scope: Mapped[str]
    key: Mapped[str]
    token: Mapped[int]
    outcome: Mapped[str]
    detail: Mapped[str]
    artifact: Mapped[str] = mapped_column(ForeignKey("artifacts.ref"))
    provider_ref: Mapped[str]
    at: Mapped[datetime]


class OutboxRow(Base):
    """What was promised with the record that causes it: an effect, or a wake.

    An effect's `message` is the artifact whose bytes are sent, at every attempt.
    """

    __tablename__ = "outbox"
    __table_args__ = (Index("outbox_open", "state", "made_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    workflow: Mapped[str] = mapped_column(ForeignKey("workflow_sessions.id"))
    claim: Mapped[str | None]
    message: Mapped[str | None] = mapped_column(ForeignKey("artifacts.ref"))
    envelope: Mapped[dict[str, Any]]
    state: Mapped[str]
    made_at: Mapped[datetime]
    done_at: Mapped[datetime | None]


class Reservation(Base):
    """A resource that one operation holds until its outcome is known."""

    __tablename__ = "reservations"

    tenant: Mapped[str] = mapped_column(primary_key=True)
    resource: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(index=True)
    at: Mapped[datetime]


class KeyTombstone(Base):
    """Append-only. A key that was used and is past its retention: bound for ever."""

    __tablename__ = "key_tombstones"

    scope: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    claim: Mapped[str]
    outcome: Mapped[str]
    finished_at: Mapped[datetime]
    at: Mapped[datetime]


class FreezeRow(Base):
    """Append-only. Every freeze and unfreeze; the last row of a scope counts."""

    __tablename__ = "freezes"

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    tenant: Mapped[str | None]
    tool: Mapped[str | None]
    frozen: Mapped[bool]
    actor: Mapped[str]
    reason: Mapped[str]
    at: Mapped[datetime]
