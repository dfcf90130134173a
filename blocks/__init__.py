"""Connections to the outside: ledger, artifacts, mail, models. Only these do I/O.

The Prefect Blocks are members of this package, so that `prefect block register -m
blocks` finds them; they are imported only when asked for, since Prefect is slow to
import and most commands need none of it.
"""

from importlib import import_module
from typing import Any

_PREFECT_BLOCKS = {
    "DraftingModelBlock": "blocks.model",
    "HttpProviderBlock": "blocks.http_block",
    "LedgerBlock": "blocks.ledger_block",
    "MailServer": "blocks.mail",
    "WorkflowModelBlock": "blocks.model",
}


def __getattr__(name: str) -> Any:
    if name in _PREFECT_BLOCKS:
        return getattr(import_module(_PREFECT_BLOCKS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_PREFECT_BLOCKS)
