"""What an error means to whoever called: the exit code, and how it is told.

The one place where errors become exit codes (contract: 0 done, 1 unexpected, 2 usage or
invalid input, 3 refused by policy, 4 not found, 5 conflict).
"""

from typing import Any

from policies.errors import (
    Conflict,
    InvalidInput,
    Misconfigured,
    NotFound,
    PlacetError,
    Refused,
    Superseded,
)

_EXIT: tuple[tuple[type[PlacetError], int], ...] = (
    (InvalidInput, 2),
    (Misconfigured, 2),
    (Refused, 3),
    (NotFound, 4),
    (Conflict, 5),
    (Superseded, 5),
)


def exit_code(error: BaseException) -> int:
    """The exit code of an error."""
    return next((code for kind, code in _EXIT if isinstance(error, kind)), 1)


def as_document(error: PlacetError) -> dict[str, Any]:
    """An error as one JSON document."""
    told = {"code": error.code, "message": error.message, "hint": error.hint}
    return {"error": {**told, **error.facts}}
