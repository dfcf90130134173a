"""One operation, one key: where a key is unique and what it is made of."""

from policies import canonical

ID_DIGITS = 32
"""Hex digits of an id that is a hash: 128 bits, since whoever sends a request chooses
what is hashed, and must not find two that meet."""


def scope(environment: str, tenant: str, tool: str) -> str:
    """The space in which a key may be used once: environment, tenant and tool.

    A JSON array, so that no name can be split in two ways.
    """
    return canonical.canonical_bytes([environment, tenant, tool]).decode()


def operation_key(workflow: str, action: str, payload_version: int) -> str:
    """The key of one action's one payload version; the guard computes it again.

    Equal payloads of different actions have different keys: three equal transfers in
    a plan are three operations.
    """
    parts = canonical.canonical_bytes([workflow, action, payload_version])
    return "op-" + canonical.digest("request", parts).removeprefix("sha256:")[:40]
