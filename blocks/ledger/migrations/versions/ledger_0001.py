"""The ledger's first tables, and the triggers of those that are append-only."""

import sqlalchemy as sa
from alembic import op

from blocks.ledger import append_only

revision = "ledger_0001"
down_revision = None
branch_labels = ("ledger",)
depends_on = None

_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON()
_APPEND_ONLY = (
    "artifacts",
    "audit_events",
    "executions",
    "payload_versions",
    "policies",
    "review_events",
    "verdicts",
)


def upgrade() -> None:
    """Make every table, then guard the append-only ones."""
    op.create_table(
        "artifacts",
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("ref"),
    )
    op.create_table(
        "audit_events",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq"),
    )
    op.create_table(
        "audit_heads",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain"),
    )
    op.create_table(
        "policies",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_table(
        "reviewers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("permissions", _JSON, nullable=False),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("revoked_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "workflow_sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("environment", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("pending", _JSON, nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Integer(), nullable=False),
        sa.Column("lease_until", _TIME, nullable=True),
        sa.Column("flow_run_id", sa.Text(), nullable=True),
        sa.Column("deployed", sa.Boolean(), nullable=False),
        sa.Column("opened_at", _TIME, nullable=False),
        sa.Column("closed_at", _TIME, nullable=True),
        sa.Column("closing", _JSON, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("request_id"),
    )
    op.create_table(
        "credentials",
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("wrong_codes", sa.Integer(), nullable=False),
        sa.Column("locked_until", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["reviewer"],
            ["reviewers.id"],
        ),
        sa.PrimaryKeyConstraint("reviewer"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_table(
        "domain_sessions",
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("state", _JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("workflow"),
    )
    op.create_table(
        "interactions",
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("question", _JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("answered_by", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("asked_at", _TIME, nullable=False),
        sa.Column("answered_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("workflow", "id"),
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("action_type", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("risk_level", sa.Text(), nullable=False),
        sa.Column("risk_rank", sa.Integer(), nullable=False),
        sa.Column("risk_reasons", _JSON, nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("evidence", _JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("held", _JSON, nullable=False),
        sa.Column("permission", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("required_verdicts", sa.Integer(), nullable=False),
        sa.Column("signed_in", sa.Boolean(), nullable=False),
        sa.Column("assignee", sa.Text(), nullable=True),
        sa.Column("term_seconds", sa.Integer(), nullable=False),
        sa.Column("deadline", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.Column("gate_version", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("schema_version", sa.Text(), nullable=False),
        sa.Column("rubric_version", sa.Text(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("assigned_at", _TIME, nullable=True),
        sa.Column("opened_at", _TIME, nullable=True),
        sa.Column("edited_at", _TIME, nullable=True),
        sa.Column("resolved_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workflow", "action", "turn"),
    )
    op.create_index(
        "items_open",
        "items",
        ["tenant", "state", "risk_rank", "deadline"],
        unique=False,
    )
    op.create_table(
        "pauses",
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("flow_run_id", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("notice", sa.Text(), nullable=False),
        sa.Column("asked_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("workflow", "key"),
    )
    op.create_table(
        "resume_bindings",
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("checkpoint", sa.Integer(), nullable=False),
        sa.Column("interrupt", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("bound_at", _TIME, nullable=False),
        sa.Column("consumed_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("workflow", "checkpoint", "interrupt"),
    )
    op.create_table(
        "used_codes",
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["reviewer"],
            ["reviewers.id"],
        ),
        sa.PrimaryKeyConstraint("reviewer", "step"),
    )
    op.create_table(
        "execution_claims",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("session_token", sa.Integer(), nullable=False),
        sa.Column("lease_until", _TIME, nullable=False),
        sa.Column("claimed_at", _TIME, nullable=False),
        sa.Column("dispatched_at", _TIME, nullable=True),
        sa.Column("finished_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["item"],
            ["items.id"],
        ),
        sa.ForeignKeyConstraint(
            ["workflow"],
            ["workflow_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("scope", "key"),
    )
    op.create_table(
        "payload_versions",
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("snapshot_digest", sa.Text(), nullable=False),
        sa.Column("intent_digest", sa.Text(), nullable=False),
        sa.Column("resource_version", sa.Integer(), nullable=True),
        sa.Column("precondition", sa.Text(), nullable=False),
        sa.Column("validation_hash", sa.Text(), nullable=False),
        sa.Column("risk", _JSON, nullable=False),
        sa.Column("provenance", sa.Text(), nullable=True),
        sa.Column("diff", sa.Text(), nullable=True),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["item"],
            ["items.id"],
        ),
        sa.ForeignKeyConstraint(
            ["ref"],
            ["artifacts.ref"],
        ),
        sa.PrimaryKeyConstraint("item", "version"),
    )
    op.create_table(
        "review_events",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["item"],
            ["items.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "executions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=False),
        sa.Column("provider_ref", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact"],
            ["artifacts.ref"],
        ),
        sa.ForeignKeyConstraint(
            ["claim"],
            ["execution_claims.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "executions_by_provider_ref", "executions", ["provider_ref"], unique=False
    )
    op.create_table(
        "verdicts",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("decision_id", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("on_behalf_of", sa.Text(), nullable=True),
        sa.Column("conflict_of_interest", sa.Boolean(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("rubric_version", sa.Text(), nullable=False),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["item", "version"],
            ["payload_versions.item", "payload_versions.version"],
        ),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("decision_id"),
    )
    op.create_index("verdicts_of_item", "verdicts", ["item", "version"], unique=False)
    append_only.guard(op.get_bind(), _APPEND_ONLY)
