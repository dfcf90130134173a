"""Facts that move between two looks: what is shown and decided is how they are now."""

from typing import Any

import pytest

from blocks import packets
from blocks.ledger import proposals
from policies.decision import CallTool, Decision
from policies.errors import Unavailable
from policies.policy import Policy, RiskPolicy
from policies.state import Step
from tasks import asking as asking_task
from tasks import deciding
from tasks.work import Work, reload
from tests.integration.guard_changes import overwrite
from tests.reading import codes, names, text_of
from tests.smtp_server import RecordingServer
from tests.world import World

NEW = "grace@new.example.com"
NEWER = "grace@newer.example.com"
PROMISE = "We will refund you the full price."


def just_before(world: World, work: Work, step: Step) -> tuple[Work, Decision]:
    """On to the moment in which this step is decided and not yet done."""
    while True:
        decision = deciding.decide(world.services, work)
        if isinstance(decision, CallTool) and decision.tool == step:
            return work, decision
        work = world.perform(work, decision)


def once_after(
    patch: pytest.MonkeyPatch, module: object, name: str, happens: Any
) -> None:
    """Let something happen once, in the moment after this function has looked."""
    real = getattr(module, name)

    def look(*given: Any, **more: Any) -> Any:
        patch.setattr(module, name, real)
        seen = real(*given, **more)
        happens()
        return seen

    patch.setattr(module, name, look)


def test_who_was_refused_at_the_terminal_finds_the_new_version_without_more_ado(
    world: World, mail: RecordingServer
) -> None:
    """A2"""
    work = world.asked()
    world.edit_address("c-1", NEW)
    refused = world.hand_in(work, world.says(work, "approve"))
    assert codes(refused) == ["intent_mismatch"]
    work, asking = world.next_form(reload(world.services, work.held))
    assert asking is not None and asking.form.items[0].version == 2
    world.approve(work)
    world.advance(world.resume(work))
    assert [sent.recipients for sent in mail.received] == [(NEW,)]


def test_an_edit_while_a_form_is_made_is_on_that_form(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A3, A4"""
    work, _ = world.advance(world.opened())
    edit = lambda: world.edit(work, by="bob", body="Soon.")  # noqa: E731
    once_after(monkeypatch, packets, "build", edit)
    shown, asking = world.next_form(work)
    assert asking is not None
    assert asking.form.items[0].version == world.item(work).version == 2
    assert "Soon." in asking.markdown
    world.approve(shown)
    world.advance(world.resume(shown))
    assert [text_of(sent) for sent in mail.received] == ["Soon."]


def test_an_approval_while_a_form_is_made_needs_no_form(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B11"""
    work, _ = world.advance(world.opened())
    once_after(monkeypatch, packets, "build", lambda: world.approve(work))
    resumed, asking = world.next_form(work)
    assert asking is None
    world.advance(resumed)
    assert len(mail.received) == 1


def test_an_address_that_moves_again_while_it_is_read_is_read_again(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A2"""
    work = world.asked()
    world.edit_address("c-1", NEW)
    again = lambda: world.edit_address("c-1", NEWER)  # noqa: E731
    once_after(monkeypatch, asking_task, "_collect", again)
    work, asking = world.refreshed(work)
    assert NEWER in asking.markdown and NEW not in asking.markdown
    world.approve(work)
    world.advance(world.resume(work))
    assert [sent.recipients for sent in mail.received] == [(NEWER,)]


def test_a_policy_that_changes_while_a_risk_is_judged_judges_it(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A9: an item is never let through by a policy that is no longer in force."""
    work = world.opened(reply="acknowledgement")
    work, decision = just_before(world, work, "resolve_review")
    stricter = Policy(risk=RiskPolicy(external_exposure=12))
    once_after(monkeypatch, proposals, "prepare", lambda: world.set_policy(stricter))
    work, _ = world.form(world.perform(work, decision))
    item = world.item(work)
    assert (item.state, item.risk_level) == ("waiting_for_review", "critical")
    assert item.gate_version == stricter.gate_version
    assert mail.received == []


def test_facts_that_move_never_talk_a_risk_down(world: World) -> None:
    """A9"""
    world.add("olga", "owner")
    world.add_ticket("t-2", suggested_reply=PROMISE)
    work = world.asked(ticket_id="t-2")
    world.edit(work, by="olga", body="Thank you.")
    world.edit_address("c-1", NEW)
    work, _ = world.refreshed(work)
    item = world.item(work)
    assert (item.version, item.risk_level, item.role) == (3, "high", "owner")
    assert world.version(work).snapshot.term_seconds == 3600


def test_an_address_that_became_unfit_before_anything_was_asked_blocks_the_request(
    world: World, mail: RecordingServer
) -> None:
    """A8"""
    work = world.opened(recipients=["c-1", "c-2"])
    work, decision = just_before(world, work, "resolve_review")
    world.edit_address("c-2", "no address")
    work, _ = world.advance(world.perform(work, decision))
    assert work.session.status == "blocked"
    assert "address" in " ".join(work.session.closing)
    assert {item.state.value for item in world.items(work)} <= {"cancelled"}
    assert mail.received == []


def test_a_ticket_that_is_not_there_blocks_the_request(
    world: World, mail: RecordingServer
) -> None:
    """A8"""
    work, _ = world.advance(world.opened(ticket_id="t-0"))
    assert work.session.status == "blocked"
    assert "There is no ticket t-0" in " ".join(work.session.closing)
    assert names(world.trail(work))[-1] == "request_closed"
    assert (world.items(work), mail.received) == ((), [])


def test_a_payload_that_was_tampered_with_does_not_hold_up_its_neighbour(
    world: World, mail: RecordingServer
) -> None:
    """A3, L10"""
    work = world.asked(recipients=["c-1", "c-2"])
    overwrite(world, world.version(work).snapshot.payload.ref)
    second = world.items(work)[1]
    world.hand_in(work, world.says(work, "edit", second, edit={"body": "Soon."}))
    work, asking = world.next_form(reload(world.services, work.held))
    assert asking is not None
    assert [item.item for item in asking.form.items] == [second.id]
    assert "altered" in str(world.told(work, "cancelled")[0]["reason"])
    world.approve(work)
    world.advance(world.resume(work))
    assert [sent.recipients for sent in mail.received] == [("alan@example.com",)]


def test_a_payload_that_was_tampered_with_after_its_approval_stops_itself_alone(
    world: World, mail: RecordingServer
) -> None:
    """A3, L10"""
    work = world.resumed(recipients=["c-1", "c-2"])
    overwrite(world, world.version(work).snapshot.payload.ref)
    work, _ = world.advance(work)
    assert [item.state for item in world.items(work)] == ["blocked", "executed"]
    assert work.session.status == "blocked"
    assert [sent.recipients for sent in mail.received] == [("alan@example.com",)]


@pytest.mark.parametrize("point", ["asked", "approved", "resumed"])
def test_a_store_that_is_away_for_a_moment_ends_nothing(
    world: World, mail: RecordingServer, point: str
) -> None:
    """An unmounted folder is no tampering: the same approval is executed later."""
    work = getattr(world, point)()
    place, away = world.folder / "artifacts", world.folder / "away"
    place.rename(away)
    place.mkdir()
    looks = {"asked": world.refreshed, "approved": world.resume}
    with pytest.raises(Unavailable):
        looks.get(point, world.advance)(reload(world.services, work.held))
    with pytest.raises(Unavailable):
        world.advance(world.opened("request-2"))
    assert not any(place.iterdir())
    place.rmdir()
    away.rename(place)
    if point == "asked":
        world.approve(work)
    work, _ = world.form(reload(world.services, work.held))
    world.advance(work)
    assert (world.item(work).state, len(mail.received)) == ("executed", 1)
