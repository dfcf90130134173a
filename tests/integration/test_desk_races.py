"""People, and the flow, who act on one item in the same instant."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from blocks.desk import NotTaken, Outcome, Taken
from blocks.ledger import cancelling, items, proposals
from blocks.ledger.claims import Claim
from policies.errors import Conflict
from policies.lifecycle import Event, State
from policies.plan import VerdictWord
from policies.policy import GatePolicy, Policy
from tasks.asking import ask_again
from tasks.work import Work
from tests import forging
from tests.reading import codes, names
from tests.together import RACES, together, until_blocked
from tests.world import World

BY = ("ada", "bob")


def split(outcomes: list[Outcome | Exception]) -> tuple[list[Taken], list[NotTaken]]:
    """Who was taken and who was not; nobody meets an error."""
    taken = [o for o in outcomes if isinstance(o, Taken)]
    refused = [o for o in outcomes if isinstance(o, NotTaken)]
    assert len(taken) + len(refused) == len(outcomes), outcomes
    return taken, refused


def at_once(world: World, work: Work, *words: VerdictWord) -> list[Outcome | Exception]:
    """Each word by another reviewer, all on what they see now."""
    said = [
        world.says(work, word, edit={"body": f"{word} {n}"} if word == "edit" else None)
        for n, word in enumerate(words)
    ]
    return together(len(words), lambda n: world.hand_in(work, said[n], by=BY[n % 2]))


def test_b8_of_two_who_approve_at_once_one_is_told_what_happened(world: World) -> None:
    """B8"""
    for number in range(RACES):
        work = world.asked(f"request-{number}")
        taken, refused = split(at_once(world, work, "approve", "approve"))
        assert (len(taken), len(refused)) == (1, 1)
        assert codes(refused[0]) == ["already_decided"]
        assert "approved v1 by" in str(refused[0].refusals[0].recorded)
        assert names(world.trail(work)).count("approved") == 1


def test_a24_of_an_approval_and_an_edit_at_once_one_is_refused(world: World) -> None:
    """A24"""
    for number in range(RACES):
        work = world.asked(f"request-{number}")
        taken, refused = split(at_once(world, work, "approve", "edit"))
        assert (len(taken), len(refused)) == (1, 1)
        said = (taken[0].recorded[0].verdict, *codes(refused[0]))
        assert said in {("approved", "already_decided"), ("edited", "stale_version")}


def test_of_many_verdicts_at_once_one_counts(world: World) -> None:
    """B16"""
    for number in range(RACES):
        work = world.asked(f"request-{number}")
        words: tuple[VerdictWord, ...] = ("approve", "reject", "edit") * 3
        taken, _ = split(at_once(world, work, *words))
        assert len(taken) == 1
    assert len(forging.rows(world.ledger, "verdicts")) == RACES


def test_two_who_fill_a_quorum_at_once_make_one_approval(world: World) -> None:
    """Q4"""
    gate = GatePolicy(role="reviewer", verdicts=2)
    world.set_policy(Policy(gates={**Policy().gates, "medium": gate}))
    for number in range(RACES):
        work = world.asked(f"request-{number}")
        taken, refused = split(at_once(world, work, "approve", "approve"))
        assert (len(taken), refused) == (2, [])
        assert world.item(work).state == "approved"
        told = names(world.trail(work))
        assert (told.count("approved"), told.count("approve_requested")) == (1, 1)


def test_one_code_with_two_verdicts_at_once_proves_one(world: World) -> None:
    """Q5"""
    first, second = world.asked("request-1"), world.asked("request-2")
    said = {w.workflow: world.says(w, "approve") for w in (first, second)}
    outcomes = together(
        2, lambda n: world.by_code(w := (first, second)[n], said[w.workflow])
    )
    taken, refused = split(outcomes)
    assert (len(taken), codes(refused[0])) == (1, ["wrong_proof"])
    states = sorted(world.item(w).state for w in (first, second))
    assert states == ["approved", "waiting_for_review"]


def test_c17_an_approval_in_the_moment_of_expiry_is_taken_or_told(world: World) -> None:
    """C17"""
    for number in range(RACES):
        work = world.asked(f"request-{number}")
        world.clock.set(world.item(work).deadline)
        _, refused = split(at_once(world, work, "approve", "approve"))
        assert [codes(r) for r in refused] == [["item_expired"]] * 2
        assert names(world.trail(work)).count("expired") == 1


def test_b15_a_cancel_and_an_approval_at_once_leave_one_truth(world: World) -> None:
    """B15"""

    def act(number: int) -> object:
        if number:
            return world.hand_in(work, said)
        with world.ledger.write() as tx:
            return cancelling.cancel(
                tx, work.workflow, "system", "the run was cancelled"
            )

    for number in range(RACES):
        work = world.asked(f"request-{number}")
        said = world.says(work, "approve")
        cancelled, handed = together(2, act)
        assert isinstance(cancelled, tuple) and len(cancelled) == 1, cancelled
        assert isinstance(handed, Taken | NotTaken), handed
        assert world.item(work).state == "cancelled"
        assert codes(handed) in ([], ["already_decided"])


def test_b15_a_withdrawal_and_the_claim_at_once_leave_one_truth(world: World) -> None:
    """B15"""

    def act(number: int) -> object:
        return world.hand_in(work, said) if number else world.claim(work)

    for number in range(RACES):
        work = world.resumed(f"request-{number}")
        said = world.says(work, "withdraw")
        claim, handed = together(2, act)
        assert isinstance(handed, Taken | NotTaken), handed
        won = isinstance(claim, Claim)
        assert codes(handed) == (["already_decided"] if won else [])
        expected = "execution_claimed" if won else "waiting_for_review"
        assert world.item(work).state == expected


def test_a_step_from_an_older_state_is_refused(world: World) -> None:
    """A24"""
    work = world.asked()
    seen = world.item(work)
    world.approve(work)
    for stale, event in (
        (seen, Event.REJECT),
        (seen.model_copy(update={"state": State.APPROVED, "version": 2}), Event.CANCEL),
    ):
        with pytest.raises(Conflict) as refused, world.ledger.write() as tx:
            items.move(tx, stale, event)
        assert refused.value.code == "already_decided"
    assert world.item(work).state == "approved"


def test_submissions_that_name_items_in_another_order_do_not_block_each_other(
    world: World,
) -> None:
    work = world.asked(recipients=["c-1", "c-2"])
    first, second = (world.says(work, "approve", i) for i in world.items(work))
    with ThreadPoolExecutor(2) as pool:
        with world.ledger.write() as tx:
            items.load(tx, second.item, lock=True)
            one = pool.submit(world.hand_in, work, second, first, by="ada")
            until_blocked(world.ledger, one)
            other = pool.submit(world.hand_in, work, first, second, by="bob")
            until_blocked(world.ledger, one, other)
        taken, refused = split([one.result(10), other.result(10)])
    assert (len(taken), len(refused)) == (1, 1)


def test_what_a_reviewer_decides_while_an_item_is_made_anew_stands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A24"""
    prepare = proposals.prepare
    words: tuple[VerdictWord, ...] = ("approve", "edit", "reject")
    for number, word in enumerate(words):
        work = world.asked(f"request-{number}")
        item = world.item(work)
        said = world.says(work, word, edit={"body": "Hi."} if word == "edit" else None)

        def late(*args: object, **more: object) -> object:
            """Somebody decides after the facts were read and before they are bound."""
            monkeypatch.setattr(proposals, "prepare", prepare)
            made = prepare(*args, **more)  # type: ignore[arg-type]
            assert codes(world.hand_in(work, said)) == []  # noqa: B023
            return made

        monkeypatch.setattr(proposals, "prepare", late)
        ask_again(world.services, work, item, Event.EDIT)
        decided = world.item(work)
        assert (decided.state, decided.version) in {
            ("approved", 1),
            ("waiting_for_review", 2),
            ("rejected", 1),
        }
        assert world.version(work).made_by == ("ada" if word == "edit" else "agent")
