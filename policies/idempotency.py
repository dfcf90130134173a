"""One operation, one key: where a key is unique and what it is made of."""

import json
from base64 import b32encode

from policies import canonical


def scope(environment: str, tenant: str, tool: str) -> str:
    """The space in which a key may be used once: environment, tenant and tool.

    A JSON array, so that no name can be split in two ways.
    """
    return canonical.canonical_bytes([environment, tenant, tool]).decode()


def tool_of(scope: str) -> str:
    """The tool whose operations a scope is for."""
    _, _, tool = json.loads(scope)
    return str(tool)


def short_id(prefix: str, hashed: str) -> str:
    """An id made of a digest: 128 of its bits in 26 small letters and digits (base 32).

    As many, since whoever sends a request chooses what is hashed and must not find two
    that meet; not more, since people read and type it.
    """
    bits = bytes.fromhex(hashed.removeprefix("sha256:")[:32])
    return prefix + b32encode(bits).decode().rstrip("=").lower()


def operation_key(workflow: str, action: str, payload_version: int) -> str:
    """The key of one action's one payload version; the guard computes it again.

    Equal payloads of different actions have different keys: three equal transfers in
    a plan are three operations.
    """
    parts = canonical.canonical_bytes([workflow, action, payload_version])
    return "op-" + canonical.digest("request", parts).removeprefix("sha256:")[:40]
