"""Who may decide an item. Asked at the verdict, at the resume and before the effect."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

from policies.policy import Role
from policies.value import Value

DenialCode: TypeAlias = Literal[
    "wrong_proof",
    "revoked",
    "locked_out",
    "missing_role",
    "missing_permission",
    "conflict_of_interest",
    "not_assignee",
    "signed_in_channel_required",
]

# A manager may decide what an owner may; an admin sets up people and decides nothing
# by that; an auditor reads.
_RANK: dict[Role, int] = {
    "auditor": 0,
    "admin": 0,
    "reviewer": 1,
    "owner": 2,
    "manager": 3,
}


class Reviewer(Value):
    """A person who may decide, as the ledger knows them now."""

    id: str
    tenant: str
    role: Role
    permissions: tuple[str, ...]
    admin: bool = False
    revoked: bool = False
    locked_until: datetime | None = None


class Gate(Value):
    """What an item asks of whoever decides it."""

    tenant: str
    permission: str
    role: Role
    requested_by: str
    assignee: str | None = None
    """The one reviewer it is assigned to; None means whoever has the permission."""
    signed_in: bool = False


class Channel(Value):
    """The way in by which a person acts, and whether it is a signed-in one."""

    name: str
    method: str
    signed_in: bool


class Denied(Value):
    """Why this person may not decide this item."""

    code: DenialCode
    message: str


Check: TypeAlias = Callable[[Reviewer, Gate], str | None]


def _revoked(who: Reviewer, gate: Gate) -> str | None:
    return f"{who.id} is no longer a reviewer" if who.revoked else None


def _tenant(who: Reviewer, gate: Gate) -> str | None:
    if who.tenant == gate.tenant:
        return None
    return f"{who.id} does not work for this tenant"


def _role(who: Reviewer, gate: Gate) -> str | None:
    if _RANK[who.role] >= _RANK[gate.role] and _RANK[who.role] > 0:
        return None
    return f"this needs the role {gate.role}; {who.id} has the role {who.role}"


def _permission(who: Reviewer, gate: Gate) -> str | None:
    if gate.permission in who.permissions:
        return None
    return f"{who.id} does not have the permission {gate.permission}"


def _own_request(who: Reviewer, gate: Gate) -> str | None:
    if not is_own_request(who.id, gate.requested_by):
        return None
    return f"{who.id} asked for this action and so may not decide it"


def _assignee(who: Reviewer, gate: Gate) -> str | None:
    if gate.assignee in (None, who.id):
        return None
    return f"this is assigned to {gate.assignee}"


RULES: tuple[tuple[DenialCode, Check], ...] = (
    ("revoked", _revoked),
    ("missing_permission", _tenant),
    ("missing_role", _role),
    ("missing_permission", _permission),
    ("conflict_of_interest", _own_request),
    ("not_assignee", _assignee),
)


def is_own_request(reviewer: str, requested_by: str) -> bool:
    """Whether these are one person; ids that differ by case alone are."""
    return reviewer.lower() == requested_by.lower()


def may_decide(who: Reviewer, gate: Gate) -> Denied | None:
    """None if this person may decide; otherwise the first rule that says no."""
    for code, rule in RULES:
        message = rule(who, gate)
        if message is not None:
            return Denied(code=code, message=message)
    return None


def may_freeze(who: Reviewer, tenant: str | None, *, lifting: bool) -> Denied | None:
    """None if this person may stop effects, or let them go on (`lifting`).

    Whoever may decide may stop what happens for their tenant; to let it go on takes an
    owner, and every tenant at once takes an admin or a manager.
    """
    if who.revoked:
        return Denied(code="revoked", message=f"{who.id} is no longer a reviewer")
    if who.admin or (tenant is None and who.role == "manager"):
        return None
    if tenant is None:
        message = f"every tenant at once takes an admin or a manager, not {who.id}"
        return Denied(code="missing_role", message=message)
    if who.tenant != tenant:
        message = f"{who.id} does not work for the tenant {tenant}"
        return Denied(code="missing_permission", message=message)
    needed: Role = "owner" if lifting else "reviewer"
    if _RANK[who.role] < _RANK[needed]:
        message = f"this needs the role {needed}; {who.id} has the role {who.role}"
        return Denied(code="missing_role", message=message)
    return None


def may_use(channel: Channel, gate: Gate) -> Denied | None:
    """None if a verdict on this item may come by this channel."""
    if channel.signed_in or not gate.signed_in:
        return None
    return Denied(
        code="signed_in_channel_required",
        message="at this risk a verdict needs a signed-in channel: use `placet review`",
    )
