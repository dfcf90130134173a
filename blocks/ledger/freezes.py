"""Freezes: no effect at all in a scope, from this moment until it is lifted."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import bindparam, insert, literal, or_, select, union

from blocks.ledger import audit
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import FreezeRow
from blocks.ledger.tables import Reviewer, WorkflowSession
from policies.value import Value
from policies.visible import make_visible

DEFAULT_TENANT = "main"
# Of a reason, in an answer that says more; the freeze itself holds all of it.
_SHOWN_OF_A_REASON = 200

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
_TENANTS = union(
    select(Reviewer.tenant),
    select(WorkflowSession.tenant),
    select(literal(DEFAULT_TENANT)),
)


class Scope(Value):
    """What a freeze stops: None is every tenant, or every tool."""

    tenant: str | None
    tool: str | None

    @property
    def in_words(self) -> str:
        """Which effects of whom."""
        whose = "every tenant" if self.tenant is None else f"tenant {self.tenant}"
        return f"{self.tool or 'every effect'} of {whose}"

    def covers(self, tenant: str, tools: Collection[str]) -> bool:
        """Whether it stops one of these tools of a tenant."""
        whose = self.tenant in (None, tenant)
        return whose and (self.tool is None or self.tool in tools)


class Freeze(Scope):
    """A freeze that stands: of which scope, since when, by whom and why."""

    actor: str
    reason: str
    since: datetime

    @property
    def told(self) -> str:
        """The freeze on one line."""
        why = make_visible(" ".join(self.reason.split()))
        if len(why) > _SHOWN_OF_A_REASON:
            why = f"{why[:_SHOWN_OF_A_REASON]}…"
        since = f"{self.since:%Y-%m-%d %H:%M} UTC"
        return f"{self.in_words} is frozen since {since} by {self.actor}: {why}"


def put(
    tx: Transaction, scope: Scope, *, frozen: bool, actor: str, reason: str
) -> None:
    """Freeze a scope or lift its freeze; recorded with who and why."""
    tx.run(
        _INSERT,
        {
            "tenant": scope.tenant,
            "tool": scope.tool,
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


def over(tx: Transaction, tenant: str, tool: str) -> tuple[Freeze, ...]:
    """The freezes that stand over this tool of this tenant."""
    return _standing(tx.all(_OVER, {"tenant": tenant, "tool": tool}))


def standing(tx: Transaction) -> tuple[Freeze, ...]:
    """Every freeze that stands, the oldest first."""
    return _standing(tx.all(_ALL))


def known_tenants(tx: Transaction) -> tuple[str, ...]:
    """The tenants that somebody reviews for or has asked for, and the default one."""
    return tuple(sorted(row.tenant for row in tx.all(_TENANTS)))


def _standing(rows: object) -> tuple[Freeze, ...]:
    last = {(row.tenant, row.tool): row for row in rows}  # type: ignore[attr-defined]
    standing = [
        Freeze(
            tenant=row.tenant,
            tool=row.tool,
            actor=row.actor,
            reason=row.reason,
            since=row.at,
        )
        for row in last.values()
        if row.frozen
    ]
    return tuple(sorted(standing, key=lambda freeze: freeze.since))
