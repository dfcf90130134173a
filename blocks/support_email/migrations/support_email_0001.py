"""The domain's first tables."""

import sqlalchemy as sa
from alembic import op

revision = "support_email_0001"
down_revision = None
branch_labels = ("support_email",)
depends_on = None


def upgrade() -> None:
    """Make customers, addresses and tickets."""

    op.create_table(
        "customers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_customers_tenant"), "customers", ["tenant"], unique=False)
    op.create_table(
        "customer_emails",
        sa.Column("customer", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["customer"],
            ["customers.id"],
        ),
        sa.PrimaryKeyConstraint("customer"),
    )
    op.create_index(
        op.f("ix_customer_emails_address"), "customer_emails", ["address"], unique=False
    )
    op.create_table(
        "tickets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("customer", sa.Text(), nullable=True),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("suggested_reply", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["customer"],
            ["customers.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
