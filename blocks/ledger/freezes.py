"""Freezes: no effect at all in a scope, from this moment until it is lifted."""

from sqlalchemy import bindparam, insert, or_, select

from blocks.ledger import audit
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import FreezeRow
from policies.value import Value

_INSERT = insert(FreezeRow)
_OVER = (
    select(FreezeRow)
    .where(
        or_(FreezeRow.tenant.is_(None), FreezeRow.tenant == bindparam("tenant")),
        or_(FreezeRow.tool.is_(None), FreezeRow.tool == bindparam("tool")),
    )
    .order_by(FreezeRow.seq)
)
_ALL = select(FreezeRow).order_by(FreezeRow.seq)


class Scope(Value):
    """What a freeze stops: None is every tenant, or every tool."""

    tenant: str | None
    tool: str | None


class Freeze(Scope):
    """A freeze that stands: of which scope, by whom and why."""

    actor: str
    reason: str


def put(
    tx: Transaction, scope: Scope, *, frozen: bool, actor: str, reason: str
) -> None:
    """Freeze a scope or lift its freeze; recorded with who and why."""
    tx.run(
        _INSERT,
        {
            **scope.model_dump(),
            "frozen": frozen,
            "actor": actor,
            "reason": reason,
            "at": tx.now,
        },
    )
    audit.append(
        tx,
        audit.ADMIN_CHAIN,
        "frozen" if frozen else "unfrozen",
        tenant=scope.tenant,
        tool=scope.tool,
        actor=actor,
        reason=reason,
    )


def is_frozen(tx: Transaction, tenant: str, tool: str) -> bool:
    """Whether a freeze stands over this tool of this tenant."""
    return bool(_standing(tx.all(_OVER, {"tenant": tenant, "tool": tool})))


def standing(tx: Transaction) -> tuple[Freeze, ...]:
    """Every freeze that stands."""
    return _standing(tx.all(_ALL))


def _standing(rows: object) -> tuple[Freeze, ...]:
    last = {(row.tenant, row.tool): row for row in rows}  # type: ignore[attr-defined]
    return tuple(
        Freeze(tenant=row.tenant, tool=row.tool, actor=row.actor, reason=row.reason)
        for row in last.values()
        if row.frozen
    )
