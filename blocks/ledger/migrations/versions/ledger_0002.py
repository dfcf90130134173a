"""What is promised and held: outbox, reservations, tombstones, freezes; claims' counts.

Executions say by themselves which operation they were, so that a claim can be buried.
"""

import sqlalchemy as sa
from alembic import op

from blocks.ledger import append_only

revision = "ledger_0002"
down_revision = "ledger_0001"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables and columns, then guard what is append-only again."""
    _extend_sessions()
    _extend_claims()
    _extend_executions()
    _make_tables()
    append_only.guard(op.get_bind(), ("executions", "freezes", "key_tombstones"))


def _extend_sessions() -> None:
    with op.batch_alter_table("workflow_sessions") as sessions:
        sessions.add_column(sa.Column("looked_after_at", _TIME, nullable=True))
        sessions.add_column(sa.Column("restarted_at", _TIME, nullable=True))
        sessions.add_column(sa.Column("restarted_revision", sa.Integer()))
        sessions.add_column(
            sa.Column("restarts", sa.Integer(), nullable=False, server_default="0")
        )
        sessions.create_index("sessions_open", ["status", "looked_after_at"])


def _extend_claims() -> None:
    with op.batch_alter_table("execution_claims") as claims:
        for count in ("attempts", "lookups"):
            claims.add_column(
                sa.Column(count, sa.Integer(), nullable=False, server_default="0")
            )
        claims.add_column(sa.Column("due_at", _TIME, nullable=True))
        claims.create_index("claims_by_state", ["state", "lease_until"])
        claims.create_index("claims_of_item", ["item", "version"])
    op.execute(
        "UPDATE execution_claims SET attempts = 1 WHERE dispatched_at IS NOT NULL"
    )


def _extend_executions() -> None:
    """A new table with the old rows: a guarded one cannot be altered in place."""
    op.execute("CREATE TABLE old_executions AS SELECT * FROM executions")
    op.drop_table("executions")
    op.create_table(
        "executions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=False),
        sa.Column("provider_ref", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["artifact"], ["artifacts.ref"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute(
        "INSERT INTO executions (id, claim, workflow, item, version, scope, key, token,"
        " outcome, detail, artifact, provider_ref, at) "
        "SELECT e.id, e.claim, c.workflow, c.item, c.version, c.scope, c.key, e.token,"
        " e.outcome, e.detail, e.artifact, e.provider_ref, e.at "
        "FROM old_executions e JOIN execution_claims c ON c.id = e.claim"
    )
    op.drop_table("old_executions")
    op.create_index("executions_by_provider_ref", "executions", ["provider_ref"])
    op.create_index("executions_of_item", "executions", ["item"])


def _make_tables() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("envelope", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("done_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["workflow"], ["workflow_sessions.id"]),
        sa.ForeignKeyConstraint(["message"], ["artifacts.ref"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("outbox_open", "outbox", ["state", "made_at"])
    op.create_table(
        "reservations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "resource"),
    )
    op.create_index("ix_reservations_key", "reservations", ["key"])
    op.create_table(
        "key_tombstones",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("finished_at", _TIME, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("scope", "key"),
    )
    op.create_table(
        "freezes",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=True),
        sa.Column("frozen", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
