"""Who may settle, note a reversal or freeze; what is recorded where they may not."""

from typing import Any

import pytest

from blocks import path
from blocks.control import By
from blocks.ledger import sessions
from blocks.ledger.audit import ADMIN_CHAIN
from blocks.ledger.freezes import Scope
from blocks.ledger.people import TokenProof
from policies.errors import Conflict, InvalidInput, PlacetError, Refused
from tasks.work import Work
from tests.reading import codes
from tests.smtp_server import RecordingServer
from tests.world import TERMINAL, World

MAIN = Scope(tenant="main", tool=None)
REPLY = "support_email.send_reply"


def by(world: World, who: str, reason: str = "an incident", token: str = "") -> By:
    proof = TokenProof(token=token or world.people[who].token)
    return By(reviewer=who, proof=proof, channel=TERMINAL, reason=reason)


def freeze(
    world: World, scope: Scope = MAIN, frozen: bool = True, who: str = "ada"
) -> None:
    world.services.control.freeze(scope, by(world, who), frozen=frozen)


def refused(kind: type[PlacetError], act: Any, *given: Any, **more: Any) -> PlacetError:
    with pytest.raises(kind) as found:
        act(*given, **more)
    return found.value


@pytest.mark.parametrize("tenant", ["mian", "", "Main"])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_tenant_that_nobody_knows_cannot_be_frozen(
    world: World, tenant: str, frozen: bool
) -> None:
    """X9: a slip would stop nothing and look as if it did."""
    scope = Scope(tenant=tenant, tool=None)
    error = refused(InvalidInput, freeze, world, scope, frozen)
    assert (error.code, error.hint) == ("unknown_tenant", "Known: main.")


@pytest.mark.parametrize("tool", ["support_email.send_repyl", "", "support_email"])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_tool_that_no_domain_has_cannot_be_frozen(
    world: World, tool: str, frozen: bool
) -> None:
    """X9"""
    scope = Scope(tenant="main", tool=tool)
    error = refused(InvalidInput, freeze, world, scope, frozen)
    assert error.code == "unknown_tool"
    assert error.hint is not None and REPLY in error.hint


def test_a_tenant_is_known_by_its_reviewers(world: World) -> None:
    world.add("zoe", "owner", tenant="acme")
    scope = Scope(tenant="acme", tool=REPLY)
    freeze(world, scope, who="zoe")
    freeze(world, scope, frozen=False, who="zoe")
    assert len(world.told(ADMIN_CHAIN, "unfrozen")) == 1


def test_a_refused_freeze_stands_in_the_trail_of_administration(world: World) -> None:
    """R1, X9"""
    everybody = Scope(tenant=None, tool=REPLY)
    assert refused(Refused, freeze, world, everybody, who="bob").code == "missing_role"
    (told,) = world.told(ADMIN_CHAIN, "freeze_refused")
    wanted = {"actor": "bob", "tool": REPLY, "asked": "freeze", "code": "missing_role"}
    assert wanted.items() <= told.items()
    assert "tenant" not in told


def test_a_wrong_proof_stands_there_too_and_the_slip_in_a_scope(world: World) -> None:
    """R1"""
    control = world.services.control
    stranger = by(world, "nobody\u202e", token="guessed")
    refused(Refused, control.freeze, MAIN, stranger, frozen=True)
    refused(InvalidInput, freeze, world, Scope(tenant="x" * 500, tool=None))
    told = world.told(ADMIN_CHAIN, "freeze_refused")
    assert [one["code"] for one in told] == ["wrong_proof", "unknown_tenant"]
    assert told[0]["actor"] == "nobody⟦U+202E⟧"
    assert told[1]["tenant"] == "x" * 100


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("  ", "reason_required"),
        ("x" * 4001, "invalid_reason"),
        ("a\x00b", "invalid_reason"),
        ("\udcff", "invalid_reason"),
    ],
)
def test_a_reason_is_bounded_for_every_act(
    world: World, reason: str, code: str
) -> None:
    control, who = world.services.control, by(world, "ada", reason)
    acts: tuple[tuple[Any, ...], ...] = (
        (control.freeze, MAIN, who, {"frozen": True}),
        (control.settle, "wf-1", who, {"happened": True}),
        (control.roll_back, "wf-1", who, {"reference": "op-9"}),
    )
    found = [refused(InvalidInput, act, *given, **more) for act, *given, more in acts]
    assert [error.code for error in found] == [code] * 3


def executed(world: World) -> Work:
    work, _ = world.advance(world.resumed())
    return work


def roll_back(world: World, work: Work, reference: str, who: str = "ada") -> str:
    control = world.services.control
    return control.roll_back(work.workflow, by(world, who), reference)


def test_the_same_reversal_is_recorded_once(
    world: World, mail: RecordingServer
) -> None:
    """R1"""
    work = executed(world)
    roll_back(world, work, "refund-1")
    again = refused(Conflict, roll_back, world, work, " refund-1 ", "bob")
    assert again.code == "already_so"
    assert len(world.told(work, "rolled_back")) == 1
    (told,) = world.told(work, "roll_back_refused")
    assert (told["actor"], told["code"]) == ("bob", "already_so")


def test_another_reference_is_a_second_reversal(
    world: World, mail: RecordingServer
) -> None:
    work = executed(world)
    for reference in ("refund-1", "refund-2"):
        roll_back(world, work, reference)
    told = world.told(work, "rolled_back")
    assert [one["rollback_reference"] for one in told] == ["refund-1", "refund-2"]


@pytest.mark.parametrize("reference", ["x" * 201, "op\udcff"])
def test_a_reference_is_bounded(
    world: World, mail: RecordingServer, reference: str
) -> None:
    work = executed(world)
    error = refused(InvalidInput, roll_back, world, work, reference)
    assert error.code == "invalid_reference"


def test_a_refused_settlement_stands_in_the_request_s_trail(
    world: World, mail: RecordingServer
) -> None:
    """R1"""
    mail.behaviour = "drop_before_reply"
    work = executed(world)
    world.add("zoe", "owner", tenant="acme")
    settle = world.services.control.settle
    who = by(world, "zoe")
    error = refused(Refused, settle, work.workflow, who, happened=True)
    assert error.code == "missing_permission"
    (told,) = world.told(work, "settle_refused")
    wanted = {"actor": "zoe", "happened": True, "code": "missing_permission"}
    assert wanted.items() <= told.items()
    assert told["item"] == world.item(work).id


def test_what_is_frozen_is_not_approved_and_says_what_stands_over_it(
    world: World,
) -> None:
    """X9: by whom, why, of what and since when."""
    work = world.asked()
    freeze(world, Scope(tenant="main", tool=REPLY))
    outcome = world.hand_in(work, world.says(work, "approve"))
    assert codes(outcome) == ["frozen"]
    since = f"{world.clock.now:%Y-%m-%d %H:%M} UTC"
    words = f"{REPLY} of tenant main is frozen since {since} by ada: an incident"
    assert words in str(outcome)
    assert world.item(work).state == "waiting_for_review"


def test_what_is_frozen_may_be_rejected(world: World) -> None:
    """X9"""
    work = world.asked()
    freeze(world)
    assert codes(world.hand_in(work, world.says(work, "reject"))) == []


def test_the_path_tells_who_settled_and_who_noted_a_reversal(
    world: World, mail: RecordingServer
) -> None:
    """R2: with when and why."""
    mail.behaviour = "drop_before_reply"
    work = executed(world)
    settle = world.services.control.settle
    settle(work.workflow, by(world, "ada", "it arrived"), happened=True)
    roll_back(world, work, "refund-1", "bob")
    with world.ledger.read() as tx:
        rows = path.read_rows(tx, work.workflow)
        session = sessions.load(tx, work.workflow)
    (item,) = path.build(world.services.artifacts, session, rows)["items"]
    told = [(one["event"], one["actor"], one["reason"]) for one in item["settled"]]
    assert told == [
        ("reconciled", "ada", "it arrived"),
        ("rolled_back", "bob", "an incident"),
    ]
    assert item["settled"][1]["rollback_reference"] == "refund-1"
    assert item["settled"][0]["at"] < item["settled"][1]["at"]
