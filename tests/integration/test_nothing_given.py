"""An optional question alone: to leave it blank is an answer, and ends it at once."""

from blocks.ledger import questions
from policies.form import answer_name
from policies.value import Json
from tasks import waiting
from tasks.work import Work
from tests.integration.test_questions import ORDER, TOPIC, answer, asking_about
from tests.reading import codes, names, text_of
from tests.smtp_server import RecordingServer
from tests.world import World


def send(world: World, work: Work, by: str = "ada", **values: Json) -> Work:
    """Fill in the form that is shown now, and send it."""
    work, asking = world.next_form(work)
    assert asking is not None
    blank: dict[str, Json] = {answer_name(q): "" for q in asking.form.questions}
    proof: dict[str, Json] = {"reviewer": by, "code": world.code(by)}
    sent = {**blank, **proof, **values}
    return waiting.take_answer(world.services, work, asking.form, sent)


def test_a_blank_form_of_an_optional_question_ends_it_and_the_request_goes_on(
    world: World, mail: RecordingServer
) -> None:
    """I2: nobody is asked again what they have just left blank on purpose."""
    work = send(world, asking_about(world, ORDER))
    work, asking = world.form(world.resume(work))
    assert asking is not None and asking.form.items != ()
    world.approve(work)
    world.advance(world.resume(work))
    assert "parcel" in text_of(mail.received[0])


def test_who_gave_nothing_is_on_record_and_no_answer_is(world: World) -> None:
    """I2"""
    work = send(world, asking_about(world, ORDER))
    (told,) = world.told(work, "interaction_answered")
    assert (told["actor"], "answer_digest" in told) == ("ada", False)
    with world.ledger.read() as tx:
        kept = questions.load(tx, work.workflow, ORDER)
    assert (kept.state, kept.answer, kept.answered_by) == ("answered", None, "ada")
    assert "interaction_lapsed" not in names(world.trail(work))


def test_a_blank_form_without_proof_ends_nothing(world: World) -> None:
    """I3"""
    work = asking_about(world, ORDER)
    world.add("audrey", "auditor")
    for by, code in (("ada", "000000"), ("ada", ""), ("audrey", world.code("audrey"))):
        work = send(world, work, by=by, code=code)
        assert world.next_form(work)[1] is not None
    assert world.told(work, "interaction_answered") == []


def test_a_required_question_that_is_sent_blank_is_asked_again(world: World) -> None:
    """I2, I3"""
    work = send(world, asking_about(world, TOPIC))
    work, asking = world.next_form(work)
    assert asking is not None
    assert "everything was left open" in asking.markdown
    assert world.told(work, "interaction_answered") == []


def test_what_cannot_be_seen_is_nothing_given(world: World) -> None:
    """I2: by the command, too."""
    work = asking_about(world, ORDER)
    assert codes(answer(world, work, ORDER, " \u200b\u2060 ")) == []
    with world.ledger.read() as tx:
        assert questions.load(tx, work.workflow, ORDER).answer is None
    assert codes(answer(world, work, ORDER, "100234")) == ["already_answered"]
