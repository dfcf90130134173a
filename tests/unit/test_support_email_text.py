"""Reading and checking texts: placeholders, topics, order numbers, promises."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.mail_address import check_header_text
from policies.support_email.text import (
    TOPICS,
    check_text,
    fill,
    order_number,
    placeholders,
    promises,
    reply_subject,
    topic_of,
)
from tests.cases import case_files, case_lines, cases, needs_cases
from tests.unit.values import texts, unhurried

TICKETS = case_lines("tickets", "tickets.jsonl") if cases().is_dir() else []
braced = st.text(st.sampled_from("{} aé\n%#"), max_size=15)
fills = st.dictionaries(braced.map(str.strip), braced | texts, max_size=3)


def draft(case: dict[str, str]) -> str:
    return case["draft_reply"].replace("\r\n", "\n")


# Placeholders


def test_the_open_placeholders_are_named_once_and_in_order() -> None:
    text = "{{ Order Number }}, {{Website Name}}, {{Order Number}}"
    assert placeholders(text) == ("Order Number", "Website Name")


def test_a_placeholder_may_be_as_long_as_a_draft_makes_it() -> None:
    assert placeholders("{{ " + "x" * 5000 + "\ny }}") == ("x" * 5000 + "\ny",)


def test_what_is_known_is_filled_and_the_rest_stays_open() -> None:
    text = "{{Order Number}} at {{ Website Name }}"
    assert fill(text, {"Order Number": "00108"}) == "00108 at {{ Website Name }}"


@pytest.mark.parametrize(
    "text",
    [
        "{{ 7*7 }}",
        "{% for x in y %}{{x}}{% endfor %}",
        "{{ config.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "${7*7} #{7*7} <%= 7*7 %>",
    ],
)
def test_nothing_but_a_known_placeholder_is_ever_rendered(text: str) -> None:
    """Architecture section 7: a draft is data and never a template."""
    assert fill(text, {"7": "49", "x": "{{7*7}}"}).replace("{{7*7}}", "{{x}}") == text


def test_what_is_filled_in_is_never_filled_again() -> None:
    filled = fill("{{A}} {{B}}", {"A": "{{B}}", "B": "{{A}} \\1 \\g<0>"})
    assert filled == "{{B}} {{A}} \\1 \\g<0>"


@unhurried
@given(braced, fills)
def test_a_text_without_known_placeholders_stays_as_it_is(
    text: str, known: dict[str, str]
) -> None:
    unknown = {n: v for n, v in known.items() if n not in placeholders(text)}
    assert fill(text, unknown) == text


@pytest.mark.parametrize(
    "body",
    [
        "Dear {{Name}},",
        "{{" + "x" * 81 + "}}",
        "{{\nlong\n}}",
        "{{}}",
        "{{ }}",
        "{{a{b}c}}",
        "{{{A}}}",
        "Dear {{Name},",
        "Dear {Name}},",
        "{{ {{ }} }}",
    ],
)
def test_no_placeholder_of_any_shape_passes_the_checks(body: str) -> None:
    """An open placeholder must never reach a customer."""
    assert not check_text("Re: x", body).ok


@unhurried
@given(braced)
def test_a_text_that_passes_has_no_double_braces(body: str) -> None:
    if check_text("Re: x", body).ok:
        assert "{{" not in body
        assert "}}" not in body


@needs_cases
def test_the_published_drafts_with_placeholders_are_all_held_back() -> None:
    """Cases, tickets: 78 of 108 drafts hold one."""
    held = [c["ticket_id"] for c in TICKETS if not check_text("Re: x", draft(c)).ok]
    marked = [c["ticket_id"] for c in TICKETS if c["has_double_braces"]]
    assert held == marked
    assert len(held) == 78


@needs_cases
def test_the_published_drafts_pass_once_every_placeholder_is_filled() -> None:
    for case in TICKETS:
        known = dict.fromkeys(placeholders(draft(case)), "as agreed")
        assert check_text("Re: x", fill(draft(case), known)).ok


@needs_cases
@pytest.mark.parametrize(
    "path", case_files("hostile", pattern="*.jsonl"), ids=lambda path: path.stem
)
def test_hostile_texts_come_out_of_filling_as_they_went_in(path: Path) -> None:
    """Cases, hostile: a text with `{{7*7}}` comes out unchanged, never rendered."""
    texts = [case["text"] for case in case_lines("hostile", path.name)]
    assert [fill(text, {"Order Number": "1"}) for text in texts] == texts


def test_hostile_braces_are_read_in_no_time() -> None:
    for text in ("{{" * 50_000, "{{" + " " * 100_000, "{{a}" * 30_000):
        assert placeholders(text) == ()
        assert fill(text, {"a": "b"}) == text


@pytest.mark.parametrize(
    ("subject", "body", "problem"),
    [
        ("Re: {{A}}", "text", "the subject's placeholder {{A}} is not filled"),
        ("Re: x", "{{A}}", "the placeholder {{A}} is not filled"),
        ("Re: x", " \n\t", "the reply has no text"),
        ("Re: x", "x" * 20_001, "the reply is longer than 20000 characters"),
        ("Re: x\nBcc: y", "text", "the subject must not hold the character U+000A"),
        ("", "text", "the subject must not be empty"),
    ],
)
def test_each_problem_is_told_in_words(subject: str, body: str, problem: str) -> None:
    """I3, L3: what is wrong is what the reviser and the person are told."""
    (told,) = check_text(subject, body).problems
    assert told.startswith(problem)


# Topics and order numbers


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("Where is my parcel?", "order_status"),
        ("I WANT MY MONEY BACK", "refund"),
        ("cancel it", "cancellation"),
        ("it arrived broken, refund me", None),
        ("hello", None),
        ("", None),
    ],
)
def test_a_topic_is_known_only_if_exactly_one_fits(
    message: str, topic: str | None
) -> None:
    """Context that is weak is asked for, never guessed."""
    assert topic_of(message) == topic


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_is_found_by_its_own_words(topic: str) -> None:
    assert topic in {topic_of(word) for word in TOPICS[topic]}


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("order 00004587345 please", "00004587345"),
        ("invoice #00108", "00108"),
        ("order AB-12345.", "AB-12345"),
        ("order 113542617735902", "113542617735902"),
        ("12345 and again 12345", "12345"),
        ("12345 or 54321", None),
        ("order 1234", None),
        ("card 4111111111111111", None),
        ("refund 160 dollars", None),
    ],
)
def test_an_order_number_is_the_customers_own_to_the_digit(
    message: str, number: str | None
) -> None:
    """Cases, tickets: leading zeros and digits are part of it; two are none."""
    assert order_number(message) == number


@needs_cases
def test_no_digit_of_a_published_order_number_is_lost() -> None:
    """Cases, tickets: some extracted entities lost zeros; the message has them."""
    found = {}
    for case in TICKETS:
        number = order_number(case["customer_message"])
        if number is not None:
            found[number] = case
            assert f"0{number}" not in case["customer_message"]
            assert number.lstrip("0") in case["entity"]["value"]
    zeros = {number for number in found if number.startswith("0")}
    assert zeros == {"00004587345", "00123842", "00108"}


# Subjects and promises


@pytest.mark.parametrize(
    ("subject", "reply"),
    [
        ("My order", "Re: My order"),
        ("  two\r\nlines\tand tabs ", "Re: two lines and tabs"),
        ("pay\u202e001", "Re: pay001"),
        ("x\x00y", "Re: xy"),
        ("", "Your message to us"),
        ("\r\n", "Your message to us"),
        ("x" * 500, "Re: " + "x" * 180),
    ],
)
def test_a_customers_subject_is_cleaned_for_the_answer(
    subject: str, reply: str
) -> None:
    assert reply_subject(subject) == reply


@unhurried
@given(texts | st.text(st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp", "Cs"])))
def test_no_subject_of_a_customer_breaks_the_header_of_the_answer(text: str) -> None:
    """Cases, hostile: CR or LF never makes a second header."""
    answer = reply_subject(text)
    assert check_header_text(answer) == answer


@pytest.mark.parametrize(
    "text",
    [
        "We will refund you.",
        "You will receive a full refund within a week.",
        "I\u2019ll refund you the full price.",
        "we'll gladly reimburse you",
        "You have been granted compensation",
        "We guarantee delivery by Friday.",
        "We waive the fee",
        "WE SHALL BE LIABLE",
        "We will, of course,\nrefund the price",
    ],
)
def test_a_promise_of_money_or_of_a_right_is_seen(text: str) -> None:
    """A9: a legal effect is checked in the text, whatever a model says of it."""
    assert promises(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You asked for a refund.",
        "How do I get a refund?",
        "We will look into it. A refund needs your order number.",
        "We will answer soon\n\nRefund policy: see below",
    ],
)
def test_talk_of_money_alone_is_no_promise(text: str) -> None:
    assert not promises(text)


@needs_cases
def test_the_published_drafts_that_promise_a_refund_are_found() -> None:
    """Cases, tickets: replies promise things."""
    found = {case["intent"] for case in TICKETS if promises(draft(case))}
    assert found == {"get_refund", "track_refund", "check_refund_policy"}
