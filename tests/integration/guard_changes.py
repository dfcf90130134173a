"""One change of a real fact for each reason that the guard can give."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import pytest

from blocks.ledger import freezes, people, reservations
from policies.policy import GatePolicy, Policy
from policies.support_email import text
from policies.support_email.adapter import SupportEmail
from policies.support_email.mail import SEND_REPLY
from tasks.work import Work
from tests import forging
from tests.world import SEND, World

BLOCKED, AGAIN, STAYS = "blocked", "reapproval_required", None
_CLAIM = (
    "INSERT INTO execution_claims (id, scope, key, digest, workflow, item, version,"
    " state, owner, token, session_token, lease_until, claimed_at)"
    " SELECT 'c-forged' || i.id, :scope, :key, :digest, workflow, id, :version,"
    " 'executed', 'nobody', 1, 1, deadline, created_at FROM items i WHERE id = :item"
)
_BURIED = (
    "INSERT INTO key_tombstones SELECT :scope, :key, :digest, 'c-buried', 'executed',"
    " opened_at, opened_at FROM workflow_sessions LIMIT 1"
)
_NEWER = (
    "INSERT INTO payload_versions SELECT item, version + 1, ref, hash, snapshot,"
    " snapshot_digest, intent_digest, resource_version, precondition, validation_hash,"
    " risk, provenance, diff, made_by, made_at FROM payload_versions WHERE item = :item"
)
_WITHDRAWN = (
    "INSERT INTO verdicts (decision_id, item, version, verdict, reviewer, role,"
    " conflict_of_interest, method, channel, reason, policy_version, rubric_version,"
    " at) SELECT 'd-forged' || item, item, version, 'withdrawn', reviewer, role,"
    " conflict_of_interest, method, channel, reason, policy_version, rubric_version, at"
    " FROM verdicts WHERE item = :item"
)


class Change(NamedTuple):
    """What is done to each request, what the guard finds, where the item goes."""

    do: Callable[[World, Work, pytest.MonkeyPatch], None]
    also: tuple[str, ...] = ()
    to: str | None = AGAIN


def item_id(world: World, work: Work) -> str:
    return world.item(work).id


def _say_withdrawn(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    forging.run(world.ledger, _WITHDRAWN, item=item_id(world, work))


def _claim(world: World, work: Work, key: str, digest: str) -> None:
    scope = world.version(work).snapshot.scope
    values = {"scope": scope, "key": key, "digest": digest, "version": 1}
    forging.run(world.ledger, _CLAIM, item=item_id(world, work), **values)


def _spend(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    _claim(world, work, f"op-other-{work.workflow}", "sha256:0")


def _bind_key(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    key = world.version(work).snapshot.key
    rebind = "UPDATE execution_claims SET digest = 'sha256:0' WHERE key = :key"
    if not forging.run(world.ledger, rebind, key=key):
        _claim(world, work, key, "sha256:0")


def _set_session(column: str, value: str) -> Callable[..., None]:
    def do(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
        change = f"UPDATE workflow_sessions SET {column} = :value WHERE id = :id"
        forging.run(world.ledger, change, value=value, id=work.workflow)

    return do


def _deny(world: World, _: Work, __: pytest.MonkeyPatch) -> None:
    world.set_policy(Policy(denied={"agent": (SEND,)}))


def _change_gate(world: World, _: Work, __: pytest.MonkeyPatch) -> None:
    gates = {**Policy().gates, "low": GatePolicy(role="reviewer")}
    world.set_policy(Policy(gates=gates))


def _change_tool(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    other = "UPDATE items SET action_type = :tool WHERE workflow = :id"
    tool = "support_email.send_acknowledgement"
    forging.run(world.ledger, other, tool=tool, id=work.workflow)


def _point_elsewhere(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    elsewhere = (
        "UPDATE payload_versions SET ref = (SELECT max(ref) FROM artifacts"
        " WHERE kind = 'evidence') WHERE item = :item"
    )
    item = item_id(world, work)
    forging.forge(world.ledger, "payload_versions", elsewhere, item=item)


def overwrite(world: World, ref: str, data: bytes = b'{"forged":true}') -> None:
    """Change stored bytes behind everybody's back."""
    name = ref.partition("sha256:")[2]
    (found,) = world.folder.rglob(name)
    found.write_bytes(data)


def _alter_payload(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    overwrite(world, world.version(work).snapshot.payload.ref)


def _alter_evidence(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    overwrite(world, world.version(work).snapshot.evidence[0].ref)


def _slip_in_a_version(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    forging.run(world.ledger, _NEWER, item=item_id(world, work))


def _change_rules(_: World, __: Work, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(text, "RULES_VERSION", "support-email-rules-next")


def _change_schema(_: World, __: Work, patch: pytest.MonkeyPatch) -> None:
    newer = SEND_REPLY.model_copy(update={"schema_version": "next"})
    tools = {**SupportEmail.tools, SEND_REPLY.name: newer}
    patch.setattr(SupportEmail, "tools", MappingProxyType(tools))


def _move_address(world: World, _: Work, __: pytest.MonkeyPatch) -> None:
    world.edit_address("c-1", "grace@new.example.com")


def _let_it_run_out(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    expires = world.item(work).expires_at
    assert expires is not None
    world.clock.set(max(expires, world.clock.now))


def _revoke(world: World, _: Work, __: pytest.MonkeyPatch) -> None:
    with world.ledger.write() as tx:
        if not people.load(tx, "ada").revoked:
            people.revoke(tx, reviewer="ada", actor="bob")


def _bury_key(world: World, work: Work, _: pytest.MonkeyPatch) -> None:
    snapshot = world.version(work).snapshot
    values = {"scope": snapshot.scope, "key": snapshot.key}
    forging.run(world.ledger, _BURIED, digest=snapshot.intent_digest, **values)


def _freeze(world: World, _: Work, __: pytest.MonkeyPatch) -> None:
    scope = freezes.Scope(tenant="main", tool=None)
    with world.ledger.write() as tx:
        freezes.put(tx, scope, frozen=True, actor="ada", reason="an incident")


def _reserve(world: World, work: Work, patch: pytest.MonkeyPatch) -> None:
    exclusive = SEND_REPLY.model_copy(update={"exclusive": True})
    tools = {**SupportEmail.tools, SEND_REPLY.name: exclusive}
    patch.setattr(SupportEmail, "tools", MappingProxyType(tools))
    with world.ledger.write() as tx:
        resource = world.version(work).snapshot.intent.resource
        reservations.take(tx, "main", resource, "op-another")


CHANGES: dict[str, Change] = {
    "not_approved": Change(_say_withdrawn, to=STAYS),
    "approval_spent": Change(_spend, to=STAYS),
    "key_conflict": Change(_bind_key, to=STAYS),
    "cancelled": Change(_set_session("status", "cancelled"), to=STAYS),
    "permission_missing": Change(_deny, to=BLOCKED),
    "tool_mismatch": Change(_change_tool, ("intent_mismatch",), BLOCKED),
    "tenant_mismatch": Change(
        _set_session("tenant", "other"), ("resource_version_changed",), BLOCKED
    ),
    "payload_ref_mismatch": Change(_point_elsewhere, to=BLOCKED),
    "payload_hash_mismatch": Change(_alter_payload, ("validation_changed",), BLOCKED),
    "payload_version_mismatch": Change(_slip_in_a_version),
    "validation_changed": Change(_change_rules),
    "evidence_changed": Change(_alter_evidence),
    "intent_mismatch": Change(_set_session("requested_by", "mallory")),
    "resource_version_changed": Change(_move_address),
    "schema_version_changed": Change(_change_schema),
    "policy_version_changed": Change(_change_gate),
    "approval_expired": Change(_let_it_run_out, to="expired"),
    "approver_not_permitted": Change(_revoke),
    "key_expired": Change(_bury_key, to=STAYS),
    "frozen": Change(_freeze, to=STAYS),
    "resource_reserved": Change(_reserve, to=STAYS),
}
