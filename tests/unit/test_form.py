"""A form's choices carry what is decided on; nothing else is read as a verdict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.canonical import short
from policies.form import (
    LEAVE_OPEN,
    Form,
    FormItem,
    answer_name,
    field_name,
    filled_with,
    form_of,
    read_answer,
    verdict_name,
)
from policies.interaction import Interaction
from policies.plan import ItemVerdict, PacketField
from policies.value import Json
from tests.unit.values import field, json_values, packet_item, texts, unhurried

FIRST, SECOND = "it-0123456789ab", "it-ba9876543210"
DIGEST = "sha256:a1b2c3d4" + "0" * 56
ids = st.from_regex(r"it-[0-9a-f]{12}", fullmatch=True)
names = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True) | st.sampled_from(
    ["verdict", "answer", "edit", "reason", "reviewer", "code", "a_it_0123456789ab"]
)
questions = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True) | ids


def form_item(*fields: PacketField, **changes: Any) -> FormItem:
    """Version 2 of an item, with these fields."""
    parts = {"number": 1, "item": FIRST, "title": "Send", "version": 2}
    return FormItem(**{**parts, "snapshot": "a1b2c3d4", "fields": fields, **changes})


def asked(name: str) -> Interaction:
    return Interaction(id=name, type="INPUT", target="t", question="?")


def read(item: FormItem, choice: Json, **values: Json) -> tuple[ItemVerdict, ...]:
    """The verdicts of a form with one item, with this choice."""
    form = Form(items=(item,), questions=())
    return read_answer(form, {verdict_name(item): choice, **values}).verdicts


# Choices


def test_a_choice_carries_the_version_and_digest_that_are_decided_on() -> None:
    """A3: what was shown comes back with the verdict."""
    assert form_item(field("body", "x")).choices == (
        "approve v2 a1b2c3d4",
        "reject v2 a1b2c3d4",
        "edit v2 a1b2c3d4",
        "leave open",
    )


def test_the_form_shows_the_packets_version_digest_and_number() -> None:
    shown = (packet_item(), packet_item(item=SECOND, snapshot=DIGEST))
    form = form_of(shown, (asked("q"),), decided=frozenset({FIRST}))
    (item,) = form.items
    assert (item.number, item.item) == (2, SECOND)
    assert (item.version, item.snapshot) == (2, short(DIGEST))


def test_the_second_form_of_an_edit_offers_the_edit_alone() -> None:
    """A4: nothing can be approved or rejected beside fields that are being changed."""
    shown = (packet_item(), packet_item(item=SECOND))
    form = form_of(shown, (asked("q"),), editing=SECOND)
    (item,) = form.items
    assert (item.item, item.number, form.questions) == (SECOND, 2, ())
    assert [choice.partition(" ")[0] for choice in item.choices] == ["edit", "leave"]


def test_an_item_that_was_decided_meanwhile_is_not_edited() -> None:
    shown = (packet_item(), packet_item(item=SECOND))
    form = form_of(shown, (), decided=frozenset({SECOND}), editing=SECOND)
    assert [(item.item, item.editing) for item in form.items] == [(FIRST, False)]


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_choice_is_a_verdict_on_exactly_what_it_names(word: str) -> None:
    (verdict,) = read(form_item(field("body", "x")), f"{word} v2 a1b2c3d4", reason="r")
    assert verdict == ItemVerdict.model_validate(
        {
            "item": FIRST,
            "verdict": word,
            "version": 2,
            "snapshot": "a1b2c3d4",
            "reason": "r",
        }
    )


def test_to_choose_edit_in_the_first_form_decides_nothing() -> None:
    """I4: it asks for the fields, and leaves the other items' verdicts alone."""
    one = form_item(field("body", "x"))
    two = form_item(item=SECOND, number=2)
    form = Form(items=(one, two), questions=())
    chosen: dict[str, Json] = {
        verdict_name(one): "edit v2 a1b2c3d4",
        verdict_name(two): "approve v2 a1b2c3d4",
    }
    said = read_answer(form, chosen)
    assert said.wants_to_edit == FIRST
    assert [(v.item, v.verdict) for v in said.verdicts] == [(SECOND, "approve")]


@pytest.mark.parametrize(
    "choice",
    [
        LEAVE_OPEN,
        "approve v1 a1b2c3d4",
        "approve v2 a1b2c3d5",
        "approve v02 a1b2c3d4",
        "approve v٢ a1b2c3d4",
        "approve v2 A1B2C3D4",
        "approve v2 a1b2c3d4\n",
        " approve v2 a1b2c3d4",
        "approve v2 a1b2c3d4 approve v2 a1b2c3d4",
        "approve",
        "withdraw v2 a1b2c3d4",
        "edit v2 a1b2c3d4",
        "",
        None,
        True,
        ["approve v2 a1b2c3d4"],
    ],
)
def test_a_stale_foreign_or_forged_choice_is_never_a_verdict(choice: Json) -> None:
    """A4, I3: only what stands on this very form counts; the rest is left open."""
    assert read(form_item(), choice) == ()


def test_a_choice_of_one_item_decides_no_other() -> None:
    """A13, C28 of the field failures: answers cannot swap."""
    one = form_item()
    two = form_item(item=SECOND, number=2, snapshot="ffffffff")
    form = Form(items=(one, two), questions=())
    swapped: dict[str, Json] = {
        verdict_name(one): two.choices[0],
        verdict_name(two): one.choices[0],
    }
    assert read_answer(form, swapped).verdicts == ()


@unhurried
@given(st.integers(1, 99), st.from_regex(r"[0-9a-f]{8}", fullmatch=True), json_values)
def test_nothing_is_read_as_a_verdict_but_a_choice_of_the_form(
    version: int, snapshot: str, choice: Any
) -> None:
    """A4: whatever a raw resume sends in its place."""
    item = form_item(field("body", "x"), version=version, snapshot=snapshot)
    for sent in (choice, f"approve v{version} {choice}", f"approve {choice}"):
        assert read(item, sent) == ()
    (verdict,) = read(item, item.choices[0])
    assert (verdict.version, verdict.snapshot) == (version, snapshot)


def test_a_form_without_its_choice_decides_nothing() -> None:
    """D14: a resume with an empty body is no verdict."""
    form = Form(items=(form_item(),), questions=(asked("q"),))
    said = read_answer(form, {})
    assert (said.verdicts, said.answers, said.reviewer, said.code) == ((), {}, "", "")


# Edits


def edited(shown: Json, sent: Json) -> dict[str, Json] | None:
    item = form_item(field("body", shown), editing=True)
    values = {field_name(item, item.fields[0]): sent}
    (verdict,) = read(item, "edit v2 a1b2c3d4", **values)
    return verdict.edit


@pytest.mark.parametrize("same", ["a\nb", "a\r\nb", "a\rb"])
def test_what_a_browser_sends_back_unchanged_is_no_edit(same: str) -> None:
    """A4: browsers turn line ends into CR LF; that is no change."""
    assert edited("a\nb", same) == {}


def test_a_changed_field_is_an_edit_with_line_feeds() -> None:
    """A4: the new value, and only of the field that was changed."""
    item = form_item(field("subject", "S"), field("body", "a"), editing=True)
    subject, body = (field_name(item, f) for f in item.fields)
    sent: dict[str, Json] = {subject: "S", body: "a\r\nb "}
    (verdict,) = read(item, "edit v2 a1b2c3d4", **sent)
    assert verdict.edit == {"body": "a\nb "}


@pytest.mark.parametrize(
    ("shown", "sent"), [("a", ""), ("a", "a "), (1, 2), (True, False), (["a"], [])]
)
def test_every_other_value_is_an_edit(shown: Json, sent: Json) -> None:
    assert edited(shown, sent) == {"body": sent}


@pytest.mark.parametrize(("shown", "cleared"), [("a", ""), (1, None), (["a"], None)])
def test_a_field_that_was_not_sent_was_cleared(shown: Json, cleared: Json) -> None:
    """A4: both of Prefect's pages leave a cleared field out; it is not put back."""
    (verdict,) = read(form_item(field("body", shown), editing=True), "edit v2 a1b2c3d4")
    assert verdict.edit == {"body": cleared}


@unhurried
@given(json_values)
def test_a_value_that_comes_back_as_it_went_is_never_an_edit(value: Any) -> None:
    item = form_item(field("body", value), editing=True)
    sent = {field_name(item, item.fields[0]): value} if item.editable else {}
    (verdict,) = read(item, "edit v2 a1b2c3d4", **sent)
    assert verdict.edit == {}


@pytest.mark.parametrize(
    ("typed", "filled"),
    [("b\r\n", "b\r\n"), (None, ""), ("pay\u202e001", "a"), (7, "a"), ("a", "a")],
)
def test_what_was_typed_before_a_slip_need_not_be_typed_again(
    typed: Json, filled: Json
) -> None:
    """I3: a wrong code costs nobody their words; hidden characters are not kept."""
    item = form_item(field("body", "a"), editing=True)
    (body,) = item.fields
    sent: dict[str, Json] = {
        verdict_name(item): item.choices[0],
        field_name(item, body): typed,
    }
    assert filled_with(item, body, sent) == filled


def test_what_was_typed_for_another_version_or_in_no_edit_is_not_kept() -> None:
    """A4: words for version 1 would be taken for an edit of version 2."""
    item = form_item(field("body", "a"), editing=True)
    (body,) = item.fields
    typed: dict[str, Json] = {field_name(item, body): "b"}
    stale: dict[str, Json] = {verdict_name(item): "edit v1 a1b2c3d4", **typed}
    assert filled_with(item, body, stale) == filled_with(item, body, typed) == "a"
    assert filled_with(item, body, {verdict_name(item): item.choices[0]}) == "a"


@pytest.mark.parametrize(
    "hidden",
    [
        field("body", "a", editable=False),
        field("body", "secret, not shown", secret=True),
        field("body", "pay\u202e001"),
        field("body", "a\r\nb"),
        field("body", ["zero\u200bwidth"]),
        field("body", {"zero\u200bwidth": 1}),
    ],
)
def test_what_a_text_area_would_lose_or_hide_cannot_be_edited_there(
    hidden: PacketField,
) -> None:
    """Q8: neither foreign, secret nor invisible text gets a field or is read."""
    item = form_item(hidden)
    assert item.editable == ()
    assert not any(choice.startswith("edit") for choice in item.choices)
    (verdict,) = read(item, item.choices[0], **{field_name(item, hidden): "b"})
    assert verdict.edit is None


# Questions, proof and names


def test_only_answers_that_say_something_are_handed_in() -> None:
    """I2: an optional question may be left blank."""
    form = Form(items=(), questions=(asked("fill-a"), asked("fill-b"), asked("c")))
    values: dict[str, Json] = {"answer_fill_a": " x ", "answer_fill_b": " ", "c": "y"}
    assert read_answer(form, values).answers == {"fill-a": " x "}


def optional(name: str) -> Interaction:
    return asked(name).model_copy(update={"required": False})


def test_optional_questions_alone_that_are_left_blank_are_answered_so() -> None:
    """I2: to send such a form says that nothing is given."""
    alone = Form(items=(), questions=(optional("a"), optional("b")))
    assert read_answer(alone, {"answer_a": "x"}).answers == {"a": "x", "b": ""}
    beside = Form(items=(form_item(),), questions=(optional("a"),))
    assert read_answer(beside, {}).answers == {}
    required = Form(items=(), questions=(asked("q"), optional("a")))
    assert read_answer(required, {"answer_q": " "}).answers == {}
    assert read_answer(required, {"answer_q": "y"}).answers == {"q": "y", "a": ""}


def test_an_answer_is_never_taken_for_a_verdict() -> None:
    """I4: correction, selection and approval are different acts."""
    form = Form(items=(), questions=(asked("q"),))
    said = read_answer(form, {"answer_q": "approve v2 a1b2c3d4"})
    assert (said.verdicts, said.answers) == ((), {"q": "approve v2 a1b2c3d4"})


def test_who_and_code_are_read_without_blanks_around_them() -> None:
    said = read_answer(
        Form(items=(), questions=()), {"reviewer": " ada ", "code": "123456\n"}
    )
    assert (said.reviewer, said.code) == ("ada", "123456")


@unhurried
@given(
    st.dictionaries(ids, st.lists(names, unique=True, max_size=4), max_size=4),
    st.lists(questions, unique=True, max_size=4),
)
def test_no_two_fields_of_a_form_ever_share_a_name(
    items: dict[str, list[str]], put: list[str]
) -> None:
    """A13: whatever the tools' fields and the questions are called."""
    rows = [form_item(*[field(n, "x") for n in f], item=i) for i, f in items.items()]
    all_names = [verdict_name(row) for row in rows]
    all_names += [field_name(row, shown) for row in rows for shown in row.fields]
    all_names += [answer_name(asked(name)) for name in put]
    all_names += ["reason", "reviewer", "code"]
    assert len(set(all_names)) == len(all_names)


@unhurried
@given(texts, texts)
def test_an_edit_lands_in_its_own_item(one: str, two: str) -> None:
    first = form_item(field("body", "-"), editing=True)
    second = form_item(
        field("body", "-"), item=SECOND, snapshot="ffffffff", editing=True
    )
    sent: dict[str, Json] = {}
    for item, text in ((first, one), (second, two)):
        sent |= {verdict_name(item): item.choices[0]}
        sent |= {field_name(item, item.fields[0]): text}
    said = read_answer(Form(items=(first, second), questions=()), sent)
    plain = [text.replace("\r\n", "\n").replace("\r", "\n") for text in (one, two)]
    assert [(v.edit or {"body": "-"})["body"] for v in said.verdicts] == plain
