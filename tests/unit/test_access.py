"""Who may decide: one matrix, whatever the way in."""

from datetime import UTC, datetime
from itertools import product
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.access import Channel, Gate, Reviewer, may_decide, may_use
from policies.policy import DecidingRole, Role
from tests.unit.values import unhurried

ROLES: tuple[Role, ...] = get_args(Role)
DECIDING: tuple[DecidingRole, ...] = get_args(DecidingRole)
GATE = Gate(
    tenant="main", permission="mail.send", role="reviewer", requested_by="agent"
)
ADA = Reviewer(id="ada", tenant="main", role="reviewer", permissions=("mail.send",))
ENOUGH: dict[DecidingRole, set[Role]] = {
    "reviewer": {"reviewer", "owner", "manager"},
    "owner": {"owner", "manager"},
    "manager": {"manager"},
}
Case = tuple[Role, DecidingRole, bool, bool, bool, bool, str | None]
MATRIX = cast(
    "list[Case]",
    list(product(ROLES, DECIDING, *[(True, False)] * 4, (None, "ada", "bob"))),
)


def decided(case: Case) -> str | None:
    """What the product says of a case: None, or the code of the first no."""
    role, needed, ours, permitted, own, revoked, assignee = case
    who = Reviewer(
        id="ada",
        tenant="main" if ours else "other",
        role=role,
        permissions=("mail.send",) if permitted else ("mail.read",),
        revoked=revoked,
    )
    gate = Gate(
        tenant="main",
        permission="mail.send",
        role=needed,
        requested_by="ada" if own else "agent",
        assignee=assignee,
    )
    denied = may_decide(who, gate)
    return denied.code if denied else None


def expected(case: Case) -> str | None:
    role, needed, ours, permitted, own, revoked, assignee = case
    rules = (
        (revoked, "revoked"),
        (not ours, "missing_permission"),
        (role not in ENOUGH[needed], "missing_role"),
        (not permitted, "missing_permission"),
        (own, "conflict_of_interest"),
        (assignee == "bob", "not_assignee"),
    )
    return next((code for broken, code in rules if broken), None)


def test_only_who_passes_every_rule_may_decide_and_the_first_no_is_told() -> None:
    """Q4: role, permission, tenant, own request, assignee, revoked, all together."""
    wrong = [case for case in MATRIX if decided(case) != expected(case)]
    assert wrong == []
    assert len(MATRIX) == 720


def test_whoever_passes_every_rule_may_decide() -> None:
    assert may_decide(ADA, GATE) is None


@pytest.mark.parametrize("role", ["auditor", "admin"])
@pytest.mark.parametrize("needed", ROLES)
def test_an_auditor_or_admin_never_decides_by_that(role: Role, needed: Role) -> None:
    """Q4: who reads or sets up people has no verdict by it, even on such a gate."""
    who = ADA.model_copy(update={"role": role, "admin": True})
    denied = may_decide(who, GATE.model_copy(update={"role": needed}))
    assert denied is not None
    assert denied.code == "missing_role"


def test_being_an_admin_as_well_takes_no_right_from_a_reviewer_and_gives_none() -> None:
    both = ADA.model_copy(update={"admin": True})
    assert may_decide(both, GATE) is None
    denied = may_decide(both, GATE.model_copy(update={"role": "owner"}))
    assert denied is not None


@pytest.mark.parametrize("permission", ["mail", "mail.*", "*", "mail.send.all", ""])
def test_a_permission_is_the_whole_word_and_never_a_pattern(permission: str) -> None:
    denied = may_decide(ADA.model_copy(update={"permissions": (permission,)}), GATE)
    assert denied is not None
    assert denied.message == "ada does not have the permission mail.send"


def test_a_denial_of_a_foreign_tenant_does_not_name_the_tenant() -> None:
    denied = may_decide(ADA.model_copy(update={"tenant": "other"}), GATE)
    assert denied is not None
    assert "main" not in denied.message


@unhurried
@given(
    st.sampled_from(["revoked", "tenant", "role", "permissions", "id"]),
    st.builds(
        Reviewer,
        id=st.sampled_from(["ada", "agent"]),
        tenant=st.sampled_from(["main", "other"]),
        permissions=st.sampled_from([(), ("mail.send",)]),
        locked_until=st.none() | st.just(datetime(2026, 3, 1, tzinfo=UTC)),
    ),
)
def test_taking_a_right_away_never_lets_somebody_in(worse: str, who: Reviewer) -> None:
    less = {
        "revoked": True,
        "tenant": "third",
        "role": "auditor",
        "permissions": (),
        "id": "agent",
    }
    assert may_decide(who.model_copy(update={worse: less[worse]}), GATE) is not None


@pytest.mark.parametrize(
    ("signed_in", "needed", "let_in"),
    [
        (True, True, True),
        (True, False, True),
        (False, False, True),
        (False, True, False),
    ],
)
def test_where_a_signed_in_channel_is_asked_no_other_will_do(
    signed_in: bool, needed: bool, let_in: bool
) -> None:
    """Q5: a form's code lies in Prefect's database until it is read."""
    channel = Channel(name="prefect form", method="code", signed_in=signed_in)
    denied = may_use(channel, GATE.model_copy(update={"signed_in": needed}))
    assert (denied is None) is let_in
    assert denied is None or denied.code == "signed_in_channel_required"
