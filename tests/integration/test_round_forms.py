"""The forms of a round: what they ask, what an answer to them does."""

from blocks.ledger import people
from policies.form import answer_name, field_name, verdict_name
from policies.value import Json
from tasks import waiting
from tasks.waiting import Asking
from tasks.work import Work
from tests import forging
from tests.reading import text_of
from tests.smtp_server import RecordingServer
from tests.world import World


def shown(world: World, work: Work) -> tuple[Work, Asking]:
    """The form as the wait shows it now."""
    work, asking = world.next_form(work)
    assert asking is not None
    return work, asking


def submit(
    world: World, work: Work, asking: Asking, *words: str, **more: Json
) -> tuple[Work, Asking | None]:
    """Fill in a form as ada would: a word per item; then what the wait does next."""
    values: dict[str, Json] = {"reviewer": "ada", "code": world.code("ada")}
    for item, word in zip(asking.form.items, words, strict=False):
        choices = {c.partition(" v")[0]: c for c in item.choices}
        values[verdict_name(item)] = choices.get(word, word)
    after = waiting.take_answer(world.services, work, asking.form, {**values, **more})
    world.clock.move(30)
    return world.next_form(after)


def unfolded(asking: Asking) -> str:
    """The text above the form, without the marks where long lines were folded."""
    return asking.markdown.replace("\n\u21aa ", "")


def test_a_form_that_is_approved_ends_the_round(
    world: World, mail: RecordingServer
) -> None:
    """L12"""
    work, asking = shown(world, world.asked())
    work, after = submit(world, work, asking, "approve")
    assert after is None
    world.advance(work)
    assert len(mail.received) == 1


def test_an_edit_comes_in_a_form_of_its_own_and_is_asked_again(
    world: World, mail: RecordingServer
) -> None:
    """A4, I4"""
    work, asking = shown(world, world.asked())
    work, editing = submit(world, work, asking, "edit")
    assert editing is not None and editing.form.editing
    item = editing.form.items[0]
    fields = {field_name(item, f): f.value for f in item.editable}
    fields[next(name for name in fields if "body" in name)] = "Soon.\r\nAda"
    work, after = submit(world, work, editing, "edit", **fields)
    assert after is not None and after.form.items[0].version == 2
    work, _ = submit(world, work, after, "approve")
    world.advance(work)
    assert text_of(mail.received[0]) == "Soon.\nAda"


def test_a_stale_form_decides_nothing_and_the_new_one_says_why(world: World) -> None:
    """A10"""
    work, stale = shown(world, world.asked())
    world.edit(work, by="bob", body="Soon.")
    work, after = submit(world, work, stale, "approve")
    assert after is not None and after.form.items[0].version == 2
    assert world.item(work).state == "waiting_for_review"
    assert [r[3] for r in forging.rows(world.ledger, "verdicts")] == [1]


def test_a_made_up_choice_decides_nothing(world: World) -> None:
    """D14"""
    work, asking = shown(world, world.asked())
    choice = asking.form.items[0].choices[0]
    for word in (choice.replace("v1", "v2"), choice[:-1], "approved: true", ""):
        work, after = submit(world, work, asking, word)
        assert after is not None
        assert "Not recorded yet" in after.markdown
    assert forging.rows(world.ledger, "verdicts") == []


def test_a_slip_is_told_in_the_next_form(world: World) -> None:
    """I3"""
    work, asking = shown(world, world.asked())
    work, after = submit(world, work, asking, "reject")
    assert after is not None
    assert "Not recorded yet" in after.markdown
    assert "to reject needs a" in after.markdown
    work, after = submit(world, work, after, "approve", code="000000")
    assert after is not None and "do not fit together" in unfolded(after)
    assert submit(world, work, after, "reject", reason="too rude")[1] is None


def test_a_slip_is_not_told_any_more_once_it_was_mended(world: World) -> None:
    """I3"""
    work, asking = shown(world, world.asked(recipients=["c-1", "c-2"]))
    work, after = submit(world, work, asking, "approve", "leave open", code="0")
    assert after is not None and "Not recorded yet" in after.markdown
    work, after = submit(world, work, after, "approve", "leave open")
    assert after is not None and "Not recorded yet" not in after.markdown


def test_what_is_left_open_is_asked_again_alone(
    world: World, mail: RecordingServer
) -> None:
    """L10"""
    work, asking = shown(world, world.asked(recipients=["c-1", "c-2"]))
    work, after = submit(world, work, asking, "leave open", "approve")
    assert after is not None
    assert [item.number for item in after.form.items] == [1]
    work, over = submit(world, work, after, "reject", reason="no")
    assert over is None
    world.advance(work)
    assert [m.recipients for m in mail.received] == [("alan@example.com",)]


def test_two_edits_in_one_form_come_one_after_the_other(world: World) -> None:
    """A4, I3"""
    work, asking = shown(world, world.asked(recipients=["c-1", "c-2"]))
    first, second = asking.form.items
    work, editing = submit(world, work, asking, "edit", "edit")
    assert editing is not None and editing.form.editing
    assert [item.item for item in editing.form.items] == [first.item]
    assert "One edit at a time" in unfolded(editing)
    fields = {field_name(first, f): f.value for f in first.editable}
    fields[next(name for name in fields if "body" in name)] = "Soon."
    work, after = submit(world, work, editing, "edit", **fields)
    assert after is not None and not after.form.editing
    assert "One edit at a time" not in unfolded(after)
    versions = {item.item: item.version for item in after.form.items}
    assert versions == {first.item: 2, second.item: 1}


def test_to_choose_an_edit_needs_no_code_and_spends_none(world: World) -> None:
    """Q5"""
    work, asking = shown(world, world.asked())
    for code in ("", world.code("ada")):
        _, editing = submit(world, work, asking, "edit", code=code)
        assert editing is not None and editing.form.editing
        assert "Not recorded yet" not in editing.markdown
    assert forging.rows(world.ledger, "used_codes") == []


def test_an_approval_without_any_code_is_asked_again_and_locks_nobody(
    world: World,
) -> None:
    """I3, Q5"""
    work, asking = shown(world, world.asked())
    for _ in range(people.WRONG_CODES):
        work, after = submit(world, work, asking, "approve", code="")
        assert after is not None and "a one-time code is needed" in unfolded(after)
    assert world.item(work).state == "waiting_for_review"
    assert submit(world, work, asking, "approve")[1] is None


def test_p10_each_pause_has_a_key_that_prefect_can_keep(world: World) -> None:
    """P10"""
    work, first = shown(world, world.asked())
    _, second = shown(world, work)
    keys = [first.pause.key, second.pause.key]
    assert len(set(keys)) == 2
    assert all(key.replace("-", "").isalnum() and key.islower() for key in keys)


def test_a_form_that_nobody_read_is_taken_by_the_next_process(world: World) -> None:
    """C5"""
    work, asking = shown(world, world.asked())
    values: dict[str, Json] = {
        verdict_name(asking.form.items[0]): asking.form.items[0].choices[0],
        "reviewer": "ada",
        "code": world.code("ada"),
    }
    for pause in waiting.unread_pauses(world.services, work):
        answer = values if pause.key == asking.pause.key else None
        work = waiting.take_stored_answer(world.services, work, pause, answer)
    assert world.item(work).state == "approved"
    assert waiting.unread_pauses(world.services, work) == ()


def test_an_answer_beside_a_verdict_is_taken_with_it(world: World) -> None:
    """I1"""
    world.add_ticket("t-2", suggested_reply="Dear {{Customer Name}}, soon.")
    work, asking = shown(world, world.asked(ticket_id="t-2"))
    name = answer_name(asking.form.questions[0])
    work, over = submit(world, work, asking, "approve", **{name: "looks right"})
    assert over is None
    assert len(world.told(work, "interaction_answered")) == 1


def test_the_form_shows_what_is_decided_on_and_nothing_secret(world: World) -> None:
    """Q8"""
    _, asking = shown(world, world.asked())
    for part in ("Please track order 100234", "grace@example.com", "medium", "v1"):
        assert part in asking.markdown
    prompt = "You have no power to send"
    hidden = [p.seed for p in world.people.values()] + [prompt]
    assert [text for text in hidden if text in asking.markdown] == []
