"""What meets in a narrow moment, or in a name: one outcome, and never a stranger's."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from blocks import path
from blocks.desk import NotTaken, Taken
from blocks.ledger import items, people, resumes, sessions
from blocks.ledger.database import Transaction
from blocks.ledger.people import CodeProof
from blocks.vault import Vault
from policies.errors import Conflict, Misconfigured, NotFound, Superseded
from policies.form import verdict_name
from tasks import asking, opening, resuming, waiting
from tasks.work import Work, reload
from tests import forging
from tests.installed import VAULT
from tests.smtp_server import RecordingServer
from tests.together import together, until_blocked
from tests.world import FLOW_RUN, World

ON_POSTGRESQL = pytest.mark.parametrize("dialect", ["postgresql"])


def test_an_item_of_another_request_is_never_taken_for_one_s_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X1: not even if two ids should ever meet."""
    first = world.item(world.asked("request-1"))
    monkeypatch.setattr(items, "item_id", lambda *_: first.id)
    with pytest.raises(Conflict, match="belongs to another request"):
        world.asked("request-2")
    with world.ledger.read() as tx:
        assert items.load(tx, first.id) == first


def test_a_slip_s_code_is_used_up_and_the_form_says_so(world: World) -> None:
    """I3: it has lain in Prefect's database, and must be worth nothing any more."""
    work, shown = world.form(world.opened())
    assert shown is not None
    item = shown.form.items[0]
    reject = next(c for c in item.choices if c.startswith("reject"))
    sent = {verdict_name(item): reject, "reviewer": "ada", "code": world.code("ada")}
    work = waiting.take_answer(world.services, work, shown.form, {**sent})
    _, again = world.next_form(reload(world.services, work.held))
    assert again is not None and "The code is used up" in again.markdown
    proof = CodeProof(code=str(sent["code"]))
    said = world.hand_in(work, world.says(work, "approve"), proof=proof)
    assert isinstance(said, NotTaken) and said.refusals[0].code == "wrong_proof"


def test_ids_that_differ_by_case_alone_are_one_person(world: World) -> None:
    """Q: or one person would fill a quorum of two."""
    with pytest.raises(Conflict, match="There is a reviewer ada already"):
        world.add("Ada")


@ON_POSTGRESQL
def test_of_those_who_are_added_first_one_is_the_admin(world: World) -> None:
    """A18"""
    forging.run(world.ledger, "TRUNCATE reviewers CASCADE")
    together(4, lambda number: world.add(f"first-{number}"))
    with world.ledger.read() as tx:
        assert sum(who.admin for who in people.everybody(tx)) == 1


@ON_POSTGRESQL
@pytest.mark.parametrize("how", ["rotate", "revoke"])
def test_a_rotation_waits_for_the_verdict_that_the_old_proof_is_giving(
    world: World, how: str
) -> None:
    """E: it comes before or after, never in between."""
    work = world.asked()
    said = world.says(work, "approve")

    def change(tx: Transaction) -> None:
        if how == "rotate":
            people.rotate(tx, VAULT, reviewer="ada", actor="bob")
        else:
            people.revoke(tx, reviewer="ada", actor="bob")

    def give_up() -> None:
        with world.ledger.write() as tx:
            change(tx)

    with ThreadPoolExecutor(2) as pool:
        with world.ledger.write() as tx:
            items.load(tx, said.item, lock=True)
            verdict = pool.submit(world.hand_in, work, said)
            until_blocked(world.ledger, verdict)
            changed = pool.submit(give_up)
            until_blocked(world.ledger, changed)
            assert not changed.done()
        assert isinstance(verdict.result(10), Taken)
        changed.result(10)


@ON_POSTGRESQL
def test_an_approval_that_ends_while_a_send_waits_is_not_sent(
    world: World, mail: RecordingServer
) -> None:
    """A5: the time counts at which the lock was got, not at which it was asked for."""
    work, _ = world.claimed()
    expires = world.item(work).expires_at
    assert expires is not None
    release = threading.Event()

    def hold() -> None:
        with world.ledger.write() as tx:
            sessions.load(tx, work.workflow, lock=True)
            locked.set()
            release.wait(20)

    locked = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        holder = pool.submit(hold)
        assert locked.wait(10)
        sending = pool.submit(world.execute, work)
        until_blocked(world.ledger, sending)
        world.clock.set(expires)
        release.set()
        holder.result(10)
        # The claim's lease has run out as well: whoever takes it over asks the guard.
        with pytest.raises(Superseded):
            sending.result(20)
    world.execute(world.superseded(work))
    assert (mail.received, world.item(work).state) == ([], "expired")


def test_a_withdrawal_as_the_next_process_takes_the_slot_is_asked_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X7: bound by a process that died, withdrawn just as another one looks."""
    work = world.approved()
    die_once(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        world.next_form(reload(world.services, work.held))
    monkeypatch.undo()
    whole = resuming.resume

    def withdrawn(services: object, found: Work) -> Work | None:
        monkeypatch.setattr(resuming, "resume", whole)
        world.hand_in(work, world.says(work, "withdraw"))
        return whole(world.services, found)

    monkeypatch.setattr(resuming, "resume", withdrawn)
    _, shown = world.next_form(reload(world.services, work.held))
    assert shown is not None
    assert world.item(work).state == "waiting_for_review"


def die_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(resumes, "consume", die)


def test_a_superseded_process_cancels_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X2: its own store may be what is missing."""
    work = world.asked()
    world.clock.move(100)
    assert opening.take_lease(world.another(), work.workflow, FLOW_RUN) is not None

    def gone(*_: object) -> bytes:
        raise NotFound("gone")

    monkeypatch.setattr(type(world.services.artifacts), "read_unverified", gone)
    with pytest.raises(Superseded):
        asking.refresh_items(world.services, work)
    assert world.item(work).state == "waiting_for_review"


def test_a_key_that_was_changed_under_a_run_is_told_in_the_form(world: World) -> None:
    """I1: the run goes on and asks again once the installation is mended."""
    work, shown = world.form(world.opened())
    assert shown is not None
    with world.ledger.write() as tx:
        people.re_encrypt(tx, VAULT, Vault("another key, long enough"), "tests")
    item = shown.form.items[0]
    values = {
        verdict_name(item): next(c for c in item.choices if c.startswith("approve")),
        "reviewer": "ada",
        "code": world.code("ada"),
    }
    work = waiting.take_answer(world.services, work, shown.form, {**values})
    _, again = world.next_form(reload(world.services, work.held))
    assert again is not None and "must be mended" in again.markdown
    assert world.item(work).state == "waiting_for_review"


def test_a_secret_key_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(Misconfigured, match="shorter than 16 characters"):
        Vault("0123456789").check()


def test_whoever_edited_a_version_is_told_as_its_maker(world: World) -> None:
    """R2: the text is a person's, whatever it was made from."""
    work = world.asked()
    world.edit(work, body="Dear Grace,\n\nit is on its way.\n")
    with world.ledger.read() as tx:
        rows = path.read_rows(tx, work.workflow)
        session = sessions.load(tx, work.workflow)
    told = path.build(world.services.artifacts, session, rows)["items"][0]["versions"]
    assert [bool(version["made_from"]) for version in told] == [True, False]
    assert told[1]["made_by"] == "ada"
