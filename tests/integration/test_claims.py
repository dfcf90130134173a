"""Claims: one right to an effect, fenced, and an outcome for whatever happens."""

import pytest

from blocks import gate, smtp
from blocks.gate import Operation
from blocks.ledger import claims, effects, facts, outbox
from blocks.ledger.claims import Claim
from blocks.ledger.effects import Result
from policies.errors import Conflict, Refused, Superseded
from policies.lifecycle import State
from tasks.support_email import tools
from tasks.work import reload
from tests import forging
from tests.reading import names
from tests.smtp_server import Behaviour, RecordingServer
from tests.world import World

SEND = "support_email.send_reply"


def act(world: World, claim: Claim) -> Result:
    """The tool with this claim and token; the result is not recorded."""
    result: Result = tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
    return result


def finish(world: World, claim: Claim, result: Result) -> bool:
    with world.ledger.write() as tx:
        return effects.finish(tx, claim, result)


def take_over(world: World, claim: Claim) -> Claim:
    """Once its holder's lease has run out."""
    world.clock.move(61)
    with world.ledger.write() as tx:
        return claims.take_over(tx, claim, "another", 60)


def present(world: World, claim: Claim) -> Claim:
    with world.ledger.read() as tx:
        return claims.load(tx, claim.id)


def test_the_same_intent_again_finds_its_claim(world: World) -> None:
    """X1"""
    work, claim = world.claimed()
    assert world.claim(work, owner="somebody else") == claim
    assert names(world.trail(work)).count("execution_claimed") == 1


def test_b7_an_executed_intent_again_finds_its_claim(
    world: World, mail: RecordingServer
) -> None:
    """B7"""
    work = world.resumed()
    for _ in range(3):
        work = world.execute(work)
    found = world.claim(work)
    assert isinstance(found, Claim) and found.state == "executed"
    assert len(mail.received) == 1
    assert len(work.state.execution_result) == 1


def test_s8_another_intent_under_the_same_key_is_refused_and_kept(world: World) -> None:
    """S8"""
    work, claim = world.claimed()
    forging.run(world.ledger, "UPDATE execution_claims SET digest = 'sha256:0'")
    refused = world.claim(work)
    assert isinstance(refused, claims.Refused)
    assert [reason.code for reason in refused.answer.reasons] == ["key_conflict"]
    conflict = world.told(work, "idempotency_conflict")[0]
    assert conflict["asked"] == claim.digest


@pytest.mark.parametrize(
    ("behaviour", "state", "status", "event", "mails"),
    [
        ("accept", State.EXECUTED, "completed", "executed", 1),
        ("refuse_recipient", State.FAILED, "failed", "execution_failed", 0),
        (
            "drop_before_reply",
            State.EXECUTION_UNKNOWN,
            "unknown",
            "execution_unknown",
            1,
        ),
    ],
)
def test_each_outcome_is_kept_as_what_it_is(
    world: World,
    mail: RecordingServer,
    behaviour: Behaviour,
    state: State,
    status: str,
    event: str,
    mails: int,
) -> None:
    """A8"""
    mail.behaviour = behaviour
    work, _ = world.advance(world.resumed())
    assert (world.item(work).state, work.session.status) == (state, status)
    told = world.told(work, event)[0]
    answer = world.services.artifacts.get(str(told["execution_artifact"]))
    assert b'"answer"' in answer
    assert len(mail.received) == mails
    assert names(world.trail(work)).count("dispatched") == 1


def test_a_send_that_failed_says_how_far_it_came(
    world: World, mail: RecordingServer
) -> None:
    mail.behaviour = "drop_after_recipient"
    work, _ = world.advance(world.resumed())
    (failed,) = work.state.execution_result
    assert failed.detail == (
        "The connection to the mail server ended at the DATA command: "
        "Connection unexpectedly closed. Nothing was sent."
    )


def test_a_process_that_ended_after_its_claim_is_taken_over_and_sends_once(
    world: World, mail: RecordingServer
) -> None:
    """X8"""
    work, claim = world.claimed()
    work = world.execute(world.superseded(work))
    assert world.item(work).state == "executed"
    assert present(world, claim).token == 2
    assert names(world.trail(work)).count("claim_taken_over") == 1
    assert len(mail.received) == 1


@pytest.mark.parametrize("sent", [False, True])
def test_a_process_that_ended_in_the_effect_leaves_an_unknown_outcome(
    world: World, mail: RecordingServer, sent: bool
) -> None:
    """S9"""
    work, claim = world.claimed()
    if sent:
        act(world, claim)
    else:
        gate.open_for(world.services.gate, claim.id, claim.token, SEND)
    world.clock.move(61)
    work, _ = world.advance(world.execute(work))
    assert world.item(work).state == "execution_unknown"
    assert work.session.status == "unknown"
    assert len(mail.received) == int(sent)


def test_a_process_that_ended_before_it_told_the_session_goes_on(
    world: World, mail: RecordingServer
) -> None:
    """X8"""
    work, claim = world.claimed()
    assert finish(world, claim, act(world, claim))
    work, _ = world.advance(reload(world.services, work.held))
    assert work.session.status == "completed"
    assert len(mail.received) == 1


def test_a_tool_that_breaks_in_the_effect_leaves_an_unknown_outcome(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A8"""

    def break_down(*_: object, **__: object) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr(smtp, "send", break_down)
    work = world.execute(world.resumed())
    assert world.item(work).state == "execution_unknown"
    assert "RuntimeError" in str(world.told(work, "execution_unknown")[0]["detail"])


def test_a_tool_that_breaks_before_the_effect_can_be_tried_again(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = world.resumed()

    def break_down(*_: object) -> Result:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        broken = tools.EFFECTS[SEND]._replace(tool=break_down)
        patch.setitem(tools.EFFECTS, SEND, broken)
        with pytest.raises(RuntimeError):
            world.execute(work)
    world.execute(reload(world.services, work.held))
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)


def test_only_the_newest_token_may_send(world: World, mail: RecordingServer) -> None:
    """X2"""
    _, old = world.claimed()
    new = take_over(world, old)
    with pytest.raises(Superseded):
        act(world, old)
    assert mail.received == []
    assert finish(world, new, act(world, new))
    assert len(mail.received) == 1


def test_an_old_token_passes_neither_the_gate_s_look_nor_its_write(
    world: World,
) -> None:
    """X2"""
    work, old = world.claimed()
    take_over(world, old)
    version = world.version(work)
    adapter = world.domain.adapter
    stored = facts.read_stored(world.services.artifacts, adapter, version.snapshot)
    with pytest.raises(Superseded), world.ledger.write() as tx:
        effects.dispatch(tx, old, version.snapshot, stored, world.domain, None)
    assert "dispatched" not in names(world.trail(work))


def test_s10_a_late_result_changes_nothing_and_is_kept(world: World) -> None:
    """S10"""
    work, old = world.claimed()
    late = act(world, old)
    world.clock.move(61)
    world.execute(work)
    assert world.item(work).state == "execution_unknown"
    before = forging.rows(world.ledger, "executions")
    assert finish(world, old, late) is False
    assert world.item(work).state == "execution_unknown"
    assert forging.rows(world.ledger, "executions") == before
    assert world.told(work, "late_write_refused")[0]["outcome"] == "executed"


def test_s10_a_fenced_holder_s_result_is_refused(
    world: World,
) -> None:
    """S10"""
    work, old = world.claimed()
    new = take_over(world, old)
    result = act(world, new)
    assert finish(world, old, result) is False
    assert finish(world, new, result) is True
    assert finish(world, new, result) is False
    assert len(forging.rows(world.ledger, "executions")) == 1
    assert names(world.trail(work)).count("late_write_refused") == 2


def test_a_dispatched_claim_cannot_be_taken_over(world: World) -> None:
    """S9: not before its holder's lease has run out; it may be sending."""
    _, claim = world.claimed()
    gate.open_for(world.services.gate, claim.id, claim.token, SEND)
    with pytest.raises(Superseded), world.ledger.write() as tx:
        claims.take_over(tx, claim, "another", 60)
    assert take_over(world, present(world, claim)).token == 2


def test_s7_the_gate_opens_once(world: World) -> None:
    """S7"""
    _, claim = world.claimed()
    operation = gate.open_for(world.services.gate, claim.id, claim.token, SEND)
    assert operation.take_body().startswith(b"From: ")
    with pytest.raises(Conflict) as spent:
        operation.take_body()
    assert spent.value.code == "approval_spent"
    with pytest.raises(Superseded):
        gate.open_for(world.services.gate, claim.id, claim.token, SEND)


def test_the_gate_is_shut_without_a_claim_for_this_very_tool(
    world: World, mail: RecordingServer
) -> None:
    """C23"""
    work, claim = world.claimed()
    acknowledgement = "support_email.send_acknowledgement"
    for claim_id, tool in (("c-0", SEND), (claim.id, acknowledgement)):
        with pytest.raises(Refused) as refused:
            tools.EFFECTS[tool].tool(world.services, claim_id, 1)
        assert refused.value.code == "not_claimed"
    with pytest.raises(Superseded):
        tools.EFFECTS[SEND].tool(world.services, claim.id, 2)
    with world.ledger.read() as tx:
        promised = outbox.of_claim(tx, claim.id)
    with pytest.raises(Refused):
        Operation(object(), claim, promised, b"anything", 0, float)
    assert (present(world, claim).state, mail.received) == ("claimed", [])
    assert "dispatched" not in names(world.trail(work))


def test_d13_an_item_that_is_not_approved_cannot_be_claimed(world: World) -> None:
    """D13"""
    work = world.asked()
    refused = world.claim(work)
    assert isinstance(refused, claims.Refused)
    assert [r.code for r in refused.answer.reasons] == ["not_approved"]
    assert forging.rows(world.ledger, "execution_claims") == []
    assert world.item(work).state == "waiting_for_review"


def test_the_provider_is_given_the_operation_s_own_name(
    world: World, mail: RecordingServer
) -> None:
    """R2"""
    work, _ = world.advance(world.resumed())
    key = world.version(work).snapshot.key
    message_id = f"<{key}@placet.test>"
    assert f"Message-ID: {message_id}".encode() in mail.received[0].content
    with world.ledger.read() as tx:
        assert effects.workflow_of_provider_ref(tx, message_id) == work.workflow


def test_equal_actions_of_one_plan_are_different_operations(
    world: World, mail: RecordingServer
) -> None:
    """A13"""
    work = world.resumed(recipients=["c-1", "c-2"])
    keys = {world.version(work, item).snapshot.key for item in world.items(work)}
    assert len(keys) == 2
    world.advance(work)
    assert len(mail.received) == 2
