"""Alembic's way into the ledger; `blocks.ledger.schema` gives it the connection."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
