"""When a send was lost that may still arrive."""

import sqlalchemy as sa
from alembic import op

revision = "ledger_0003"
down_revision = "ledger_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what is unknown was lost when it was sent, at the earliest."""
    time = sa.DateTime(timezone=True)
    with op.batch_alter_table("execution_claims") as claims:
        claims.add_column(sa.Column("lost_at", time, nullable=True))
    op.execute(
        "UPDATE execution_claims SET lost_at = lease_until "
        "WHERE state IN ('unknown', 'retry_ready')"
    )
