"""The ledger and its artifact store, as a Prefect Block."""

from prefect.blocks.core import Block
from pydantic import Field, SecretStr


class LedgerBlock(Block):
    """Which ledger a deployment works with."""

    _block_type_name = "Placet ledger"
    _block_type_slug = "placet-ledger"
    _description = "The database and the artifact store behind a deployment."

    database_url: SecretStr = Field(
        description="sqlite:///PATH or postgresql://USER@HOST/NAME."
    )
    artifacts: str = Field(description="Folder or fsspec URL of the artifact store.")
    environment: str = Field(
        default="dev", description="Part of every idempotency scope."
    )
