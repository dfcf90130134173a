"""The guard lets through what was approved, and names everything that differs."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import guard
from policies.guard import (
    RULES,
    Blocked,
    Consequence,
    Executable,
    Facts,
    ReapprovalRequired,
    ReasonCode,
)
from policies.intent import EffectiveIntent
from policies.lifecycle import State
from policies.snapshot import EvidenceRef
from tests.unit.values import EVIDENCE, INTENT, NOW, facts, snapshot, texts, unhurried

SNAPSHOT = snapshot()
BLOCKED = (Blocked, State.BLOCKED)
STAYS = (Blocked, None)
AGAIN = (ReapprovalRequired, State.REAPPROVAL_REQUIRED)


class Difference(NamedTuple):
    """One fact that differs, and what must follow by architecture.md's table."""

    code: ReasonCode
    changes: dict[str, Any]
    answer: tuple[type[Blocked | ReapprovalRequired], State | None]


def intent(**changes: Any) -> dict[str, EffectiveIntent]:
    return {"intent": INTENT.model_copy(update=changes)}


DIFFERENCES = (
    Difference("not_approved", {"approved": False}, STAYS),
    Difference("approval_spent", {"spent_by": "op-2"}, STAYS),
    Difference("key_conflict", {"key_digest": "sha256:00"}, STAYS),
    Difference("key_expired", {"key_expired": True}, STAYS),
    Difference("cancelled", {"cancelled": True}, STAYS),
    Difference("permission_missing", {"principal_permitted": False}, BLOCKED),
    Difference("tool_mismatch", {"tool": "none"}, BLOCKED),
    Difference("tenant_mismatch", intent(tenant="other"), BLOCKED),
    Difference("payload_ref_mismatch", {"payload_ref": "payload/2"}, BLOCKED),
    Difference("payload_hash_mismatch", {"payload_hash": "missing"}, BLOCKED),
    Difference("payload_version_mismatch", {"payload_version": 3}, AGAIN),
    Difference("validation_changed", {"validation_hash": "sha256:00"}, AGAIN),
    Difference("evidence_changed", {"evidence": EVIDENCE[:1]}, AGAIN),
    Difference("intent_mismatch", intent(precondition="none"), AGAIN),
    Difference("resource_version_changed", intent(resource_version=5), AGAIN),
    Difference("schema_version_changed", intent(schema_version="2"), AGAIN),
    Difference("policy_version_changed", intent(policy_version="sha256:8"), AGAIN),
    Difference(
        "approval_expired", {"expires_at": NOW}, (ReapprovalRequired, State.EXPIRED)
    ),
    Difference("approver_not_permitted", {"approvers_permitted": False}, AGAIN),
    Difference("message_lost", {"message_lost": True}, AGAIN),
    Difference("message_changed", {"message_changed": True}, BLOCKED),
    Difference("frozen", {"frozen": ("all is frozen by ada: why",)}, STAYS),
    Difference("resource_reserved", {"reserved_by": "op-another"}, STAYS),
)
ORDER = [rule.code for rule in RULES]
GRAVITY: tuple[Consequence, ...] = (
    "blocked",
    "stays",
    "expired",
    "frozen",
    "reapproval",
)
CONSEQUENCE = {rule.code: rule.then for rule in RULES}


def codes(answer: guard.GuardAnswer) -> list[ReasonCode]:
    assert not isinstance(answer, Executable)
    return [reason.code for reason in answer.reasons]


def together(differences: list[Difference]) -> Facts:
    """All of these differences at once."""
    of_intent: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for difference in differences:
        changed = difference.changes.get("intent")
        if changed is None:
            others |= difference.changes
        else:
            of_intent |= {
                name: value for name, value in changed if value != getattr(INTENT, name)
            }
    return facts(SNAPSHOT, **others, **intent(**of_intent))


def test_what_is_as_it_was_approved_may_be_executed() -> None:
    assert guard.check(SNAPSHOT, facts(SNAPSHOT), NOW) == Executable()


def test_every_reason_has_a_difference_that_shows_it() -> None:
    assert [difference.code for difference in DIFFERENCES] == ORDER
    assert set(ORDER) == set(get_args(ReasonCode))


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: d.code)
def test_one_difference_gives_its_reason_alone_and_its_own_outcome(
    difference: Difference,
) -> None:
    """A3: one reason code each, with its kind of answer and next state."""
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, **difference.changes), NOW)
    assert codes(answer) == [difference.code]
    kind, to = difference.answer
    assert isinstance(answer, kind)
    assert answer.to == to


@unhurried
@given(st.lists(st.sampled_from(DIFFERENCES), min_size=1, unique_by=lambda d: d.code))
def test_all_differences_are_told_in_the_tables_order(found: list[Difference]) -> None:
    """A3: any difference stops execution, with all reasons."""
    answer = guard.check(SNAPSHOT, together(found), NOW)
    assert codes(answer) == sorted((d.code for d in found), key=ORDER.index)


@unhurried
@given(st.lists(st.sampled_from(DIFFERENCES), min_size=1, unique_by=lambda d: d.code))
def test_the_gravest_difference_decides_what_follows(found: list[Difference]) -> None:
    answer = guard.check(SNAPSHOT, together(found), NOW)
    assert not isinstance(answer, Executable)
    gravest = min(found, key=lambda d: GRAVITY.index(CONSEQUENCE[d.code]))
    assert (type(answer), answer.to) == gravest.answer


def test_a_freeze_does_not_keep_an_expired_approval_alive() -> None:
    frozen = facts(SNAPSHOT, frozen=("all",), expires_at=NOW)
    answer = guard.check(SNAPSHOT, frozen, NOW)
    assert isinstance(answer, ReapprovalRequired)
    assert answer.to == State.EXPIRED


def test_what_was_tampered_with_is_never_offered_for_approval_again() -> None:
    moved = facts(SNAPSHOT, payload_hash="sha256:0", payload_version=9, expires_at=NOW)
    answer = guard.check(SNAPSHOT, moved, NOW)
    assert isinstance(answer, Blocked)
    assert answer.to == State.BLOCKED


def test_the_same_bytes_for_another_tenant_are_blocked() -> None:
    """S2, A2: same hash, other tenant: not executed."""
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, **intent(tenant="b")), NOW)
    assert isinstance(answer, Blocked)
    assert "was main when approved and is b now" in answer.reasons[0].detail


def test_policy_8_does_not_honour_what_was_approved_under_policy_7() -> None:
    """A2: the same bytes under another policy version are refused."""
    seven = snapshot(**intent(policy_version="7"))
    answer = guard.check(seven, facts(seven, **intent(policy_version="8")), NOW)
    assert codes(answer) == ["policy_version_changed"]


@pytest.mark.parametrize(
    ("expires_at", "executed"),
    [
        (NOW + timedelta(microseconds=1), True),
        (NOW, False),
        (NOW - timedelta(days=365), False),
    ],
)
def test_past_its_term_nothing_is_executed_though_every_hash_agrees(
    expires_at: datetime, executed: bool
) -> None:
    """A5: an approval past its term is refused though every hash agrees."""
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, expires_at=expires_at), NOW)
    assert isinstance(answer, Executable) is executed


def test_the_operation_that_used_an_approval_may_go_on_with_it() -> None:
    own = facts(SNAPSHOT, spent_by=SNAPSHOT.key, key_digest=SNAPSHOT.intent_digest)
    assert guard.check(SNAPSHOT, own, NOW) == Executable()


def test_a23_what_must_not_exist_yet_is_refused_once_it_exists() -> None:
    """A23 of the field failures: absence is asserted like any version."""
    absent = snapshot(intent=INTENT.model_copy(update={"resource_version": None}))
    assert guard.check(absent, facts(absent), NOW) == Executable()
    created = guard.check(absent, facts(absent, intent=INTENT), NOW)
    assert codes(created) == ["resource_version_changed"]


@pytest.mark.parametrize("name", ["principal", "permission", "action", "resource"])
def test_every_other_part_of_the_intent_is_compared_and_named(name: str) -> None:
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, **intent(**{name: "x"})), NOW)
    assert codes(answer) == ["intent_mismatch"]
    assert not isinstance(answer, Executable)
    assert answer.reasons[0].detail == f"the intent differs in {name}"


@pytest.mark.parametrize(
    "evidence",
    [
        (),
        EVIDENCE[::-1],
        (*EVIDENCE, EVIDENCE[0]),
        (EVIDENCE[0].model_copy(update={"version": 4}), EVIDENCE[1]),
        (EVIDENCE[0].model_copy(update={"digest": "sha256:00"}), EVIDENCE[1]),
    ],
)
def test_any_change_of_the_evidence_is_one(evidence: tuple[EvidenceRef, ...]) -> None:
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, evidence=evidence), NOW)
    assert codes(answer) == ["evidence_changed"]


@pytest.mark.parametrize(
    "forged",
    [
        {"intent": INTENT.model_copy(update={"principal": "mallory"})},
        {"payload": SNAPSHOT.payload.model_copy(update={"hash": "sha256:00"})},
        {"intent_digest": "sha256:00"},
    ],
)
def test_a_snapshot_that_contradicts_its_own_digest_is_never_executable(
    forged: dict[str, Any],
) -> None:
    altered = SNAPSHOT.model_copy(update=forged)
    answer = guard.check(altered, facts(altered), NOW)
    assert "intent_mismatch" in codes(answer)


@unhurried
@given(st.data())
def test_no_single_field_can_differ_and_be_executed(data: st.DataObject) -> None:
    """A3: whatever field of whatever value differs, the effect does not happen."""
    compared = ("tool", "payload_ref", "payload_hash", "validation_hash")
    name = data.draw(st.sampled_from((*compared, *EffectiveIntent.model_fields)))
    present = INTENT if name in EffectiveIntent.model_fields else facts(SNAPSHOT)
    kind = st.integers() | st.none() if name == "resource_version" else texts
    value = data.draw(kind.filter(lambda v: v != getattr(present, name)))
    changes = {name: value} if name in compared else intent(**{name: value})
    answer = guard.check(SNAPSHOT, facts(SNAPSHOT, **changes), NOW)
    assert not isinstance(answer, Executable)


@unhurried
@given(
    tool=texts,
    intent=st.builds(EffectiveIntent, resource_version=st.none() | st.integers(0, 9)),
    evidence=st.lists(st.builds(EvidenceRef, version=st.integers(0, 9))).map(tuple),
    left=st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(9)),
)
def test_equal_facts_are_always_executable(
    tool: str,
    intent: EffectiveIntent,
    evidence: tuple[EvidenceRef, ...],
    left: timedelta,
) -> None:
    taken = snapshot(tool=tool, intent=intent, evidence=evidence)
    present = facts(taken, expires_at=NOW + left)
    assert guard.check(taken, present, NOW) == Executable()
