"""Questions to people: answered once, or lapsed, and never an approval."""

from typing import get_args

import pytest

from blocks.desk import Outcome
from blocks.ledger import people, questions
from blocks.ledger.verdicts import Acting
from policies import canonical
from policies.decision import Ask
from policies.errors import Conflict
from policies.form import answer_name
from policies.interaction import MINTS_APPROVAL, Interaction, InteractionType
from tasks.waiting import Asking
from tasks.work import Work
from tests import forging
from tests.reading import codes, names, text_of
from tests.smtp_server import RecordingServer
from tests.together import together
from tests.world import FLOW_RUN, TERMINAL, World

YEAR = 365 * 24 * 3600.0
ORDER, TOPIC = "order-number", "topic"


def asking_about(world: World, question: str) -> Work:
    """A request that waits for an answer to this question."""
    message = {"order-number": "Where is my order?", "topic": "Hello there."}
    world.add_ticket("t-2", subject="Hi", message=message[question])
    work, asking = world.form(world.opened(ticket_id="t-2"))
    assert asking is not None
    assert [q.id for q in asking.form.questions] == [question]
    return work


def answer(
    world: World, work: Work, question: str, value: str, by: str = "ada"
) -> Outcome:
    return world.hand_in(work, by=by, answers={question: value})


def reply(world: World, work: Work, mail: RecordingServer) -> str:
    """The reply that comes of it, once it is approved."""
    work, asking = world.form(world.resume(work))
    assert asking is not None
    world.approve(work)
    world.advance(world.resume(work))
    return text_of(mail.received[0])


def test_an_answer_goes_into_the_draft(world: World, mail: RecordingServer) -> None:
    """I1"""
    work = asking_about(world, ORDER)
    assert codes(answer(world, work, ORDER, " 100999 ")) == []
    assert "100999" in reply(world, work, mail)
    told = world.told(work, "interaction_answered")
    said = canonical.digest("evidence", b"100999")
    by = {"actor": "ada", "role": "reviewer", "flow_run": FLOW_RUN}
    way = {"channel": "terminal", "method": "bearer token"}
    assert told == [{"interaction": ORDER, "answer_digest": said, **by, **way}]


def test_a_reviewer_sees_what_was_answered_and_by_whom(world: World) -> None:
    """F7 of the field failures: nothing in a draft has no visible source."""
    work = asking_about(world, TOPIC)
    answer(world, work, TOPIC, "refund")
    work, shown = world.form(world.resume(work))
    assert shown is not None and "refund" in shown.markdown
    assert work.state.review_packet is not None
    (said,) = work.state.review_packet.answers
    assert (said.answer, said.by) == ("refund", "ada")


def test_a_question_is_answered_once(world: World) -> None:
    """B11"""
    work = asking_about(world, TOPIC)
    answer(world, work, TOPIC, "refund")
    again = answer(world, work, TOPIC, "invoice", by="bob")
    assert codes(again) == ["already_answered"]
    assert "refund" in str(again)
    with world.ledger.read() as tx:
        kept = questions.load(tx, work.workflow, TOPIC)
    assert (kept.answer, kept.answered_by) == ("refund", "ada")


def test_of_two_answers_at_once_one_counts(world: World) -> None:
    """B11"""
    work = asking_about(world, TOPIC)
    said = together(
        2, lambda n: answer(world, work, TOPIC, ("refund", "invoice")[n], "ada")
    )
    assert sorted(len(codes(o)) for o in said if not isinstance(o, Exception)) == [0, 1]
    assert names(world.trail(work)).count("interaction_answered") == 1


def test_a_question_that_was_answered_takes_no_second_write(world: World) -> None:
    """B11"""
    work = asking_about(world, TOPIC)
    answer(world, work, TOPIC, "refund")
    with pytest.raises(Conflict) as refused, world.ledger.write() as tx:
        acting = Acting(who=people.load(tx, "bob"), channel=TERMINAL)
        questions.answer(tx, work.workflow, TOPIC, "invoice", acting)
    assert refused.value.code == "already_answered"


def test_an_answer_that_will_not_do_is_refused_with_the_reason(world: World) -> None:
    """I3"""
    world.add("audrey", "auditor")
    world.add("tess", tenant="other")
    work = asking_about(world, TOPIC)
    before = forging.rows(world.ledger, "interactions")
    for value in ("", "  ", "approve", "x" * 10_001, "refund\x00", "\ud800"):
        assert codes(answer(world, work, TOPIC, value)) == ["invalid_answer"]
    assert codes(answer(world, work, TOPIC, "refund", "audrey")) == ["missing_role"]
    assert codes(answer(world, work, TOPIC, "refund", "tess")) == ["not_found"]
    assert forging.rows(world.ledger, "interactions") == before
    assert len(world.told(work, "answer_refused")) == 8


def test_an_optional_question_lapses_and_the_request_goes_on(
    world: World, mail: RecordingServer
) -> None:
    """I2"""
    work = asking_about(world, ORDER)
    world.clock.move(599)
    work, still = world.next_form(work)
    assert still is not None
    world.clock.move(2)
    assert "parcel" in reply(world, work, mail)
    (told,) = world.told(work, "interaction_lapsed")
    assert told["interaction"] == ORDER


def test_the_wait_ends_when_an_optional_question_does(world: World) -> None:
    """I2"""
    work = asking_about(world, ORDER)
    _, asking = world.next_form(work)
    assert isinstance(asking, Asking) and asking.until is not None
    assert 0 < (asking.until - world.clock.now).total_seconds() <= 600


def test_a_required_question_never_lapses(world: World) -> None:
    """I2"""
    work = asking_about(world, TOPIC)
    for _ in range(3):
        world.clock.move(YEAR)
        work, asking = world.next_form(work)
        assert asking is not None and asking.until is None
    with world.ledger.write() as tx:
        questions.lapse(tx, work.workflow, also_untimed=True)
    assert names(world.trail(work)).count("interaction_asked") == 1
    assert codes(answer(world, work, TOPIC, "refund")) == []


def test_an_answer_after_the_question_lapsed_is_told_so(world: World) -> None:
    """C17"""
    work = asking_about(world, ORDER)
    world.clock.move(601)
    world.resume(work)
    assert codes(answer(world, work, ORDER, "100999")) == ["already_answered"]


@pytest.fixture
def revised(world: World) -> Work:
    """A request whose draft was revised: the change is shown beside the verdict."""
    body = "Dear {{Customer Name}}, your order is on its way."
    world.add_ticket("t-2", suggested_reply=body)
    return world.asked(ticket_id="t-2")


def test_to_have_looked_at_a_change_is_not_to_have_approved_it(
    world: World, revised: Work, mail: RecordingServer
) -> None:
    """I4"""
    assert codes(answer(world, revised, "revision", "looks right")) == []
    work, asking = world.next_form(revised)
    assert asking is not None
    assert world.item(work).state == "waiting_for_review"
    assert forging.rows(world.ledger, "verdicts") == []
    assert mail.received == []


def put(world: World, work: Work, kind: str) -> None:
    asked = {"id": kind, "type": kind, "target": "draft", "question": "Send it?"}
    with world.ledger.write() as tx:
        questions.put(tx, work.workflow, 1, Interaction.model_validate(asked))


def test_no_answer_to_any_question_lets_anything_be_sent(
    world: World, revised: Work, mail: RecordingServer
) -> None:
    """I4"""
    taken = {}
    for kind in get_args(InteractionType):
        put(world, revised, kind)
        taken[kind] = codes(answer(world, revised, kind, "approve")) == []
    assert {kind for kind, was in taken.items() if not was} == MINTS_APPROVAL
    assert world.next_form(revised)[1] is not None
    assert world.item(revised).state == "waiting_for_review"
    assert (forging.rows(world.ledger, "verdicts"), mail.received) == ([], [])


def test_an_open_remark_does_not_hold_up_what_is_decided(
    world: World, revised: Work, mail: RecordingServer
) -> None:
    """I2"""
    world.approve(revised)
    world.advance(world.resume(revised))
    assert len(mail.received) == 1
    (told,) = world.told(revised, "interaction_lapsed")
    assert told["interaction"] == "revision"


def test_verdict_and_answer_of_one_submission_are_taken_together(
    world: World, revised: Work
) -> None:
    both = world.hand_in(
        revised, world.says(revised, "approve"), answers={"revision": "perhaps"}
    )
    assert codes(both) == ["invalid_answer"]
    assert world.item(revised).state == "waiting_for_review"
    both = world.hand_in(
        revised, world.says(revised, "approve"), answers={"revision": "looks right"}
    )
    assert codes(both) == []
    assert names(world.trail(revised))[-2:] == ["interaction_answered", "approved"]


def test_questions_are_put_before_anything_is_drafted(world: World) -> None:
    """L2"""
    work = asking_about(world, TOPIC)
    assert "tool_called" not in names(world.trail(work))
    decided = world.told(work, "decision_made")[-1]
    assert decided["decision"] == Ask(questions=(), reasons=()).kind
    _, asking = world.next_form(work)
    assert asking is not None
    assert answer_name(asking.form.questions[0]) == "answer_topic"
