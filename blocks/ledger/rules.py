"""The policy in force: the last one that was set, or the defaults."""

from sqlalchemy import insert, select

from blocks.ledger import audit
from blocks.ledger.database import Transaction
from blocks.ledger.tables import PolicyRow
from policies import canonical
from policies.policy import Policy

_DEFAULT = Policy()
_LAST = select(PolicyRow.body).order_by(PolicyRow.seq.desc()).limit(1)
_parsed: dict[str, Policy] = {}


def in_force(tx: Transaction) -> Policy:
    """The policy that every judgement in this transaction uses."""
    row = tx.one(_LAST)
    return _DEFAULT if row is None else _parse(row.body)


def put(tx: Transaction, policy: Policy, actor: str) -> None:
    """Set a new policy; it is in force from this transaction on."""
    body = canonical.canonicalise(policy).decode()
    row = {"version": policy.version, "body": body, "actor": actor, "at": tx.now}
    tx.run(insert(PolicyRow), row)
    audit.append(
        tx,
        audit.ADMIN_CHAIN,
        "policy_set",
        actor=actor,
        policy_version=policy.version,
        gate_version=policy.gate_version,
    )


def _parse(body: str) -> Policy:
    """Parse a policy once per process: it never changes under its text."""
    if body not in _parsed:
        _parsed[body] = Policy.model_validate(canonical.read_json(body))
    return _parsed[body]
