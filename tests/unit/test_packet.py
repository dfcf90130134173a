"""The packet shows everything that is hashed, in order, and nothing that is secret."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict

from policies.canonical import canonical_bytes, short
from policies.interaction import Interaction, Option
from policies.packet import as_markdown, as_text, difference, fields_of, readable
from policies.plan import PacketItem
from policies.tool import RiskTraits, ToolSpec
from policies.value import Json
from policies.visible import GOES_ON, make_visible
from tests.unit.values import (
    INTENT,
    field,
    json_objects,
    json_values,
    packet,
    packet_item,
    unhurried,
)

MARKDOWN = MarkdownIt("commonmark").enable("table")


class Payment(BaseModel):
    """A tool's input that takes fields that it does not know."""

    model_config = ConfigDict(extra="allow")

    to: str
    amount: int = 0
    pin: str = ""


TOOL = ToolSpec(
    name="pay",
    title="Pay",
    input_model=Payment,
    schema_version="1",
    permission="pay",
    effect="external",
    traits=RiskTraits(),
    editable=("amount",),
    multiline=("to",),
    secret=("pin",),
)


# Order and completeness


def headings(markdown: str) -> list[str]:
    tokens = MARKDOWN.parse(markdown)
    return [
        tokens[place + 1].content
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def test_a_packet_is_read_in_one_order() -> None:
    """Q8: request, payload, evidence, risk, editable fields; then the verdict."""
    shown = packet(packet_item(diff="- a"), packet_item(risk_level="high"))
    assert headings(as_markdown(shown, notice="wrong code")) == [
        "⚠ Not recorded yet",
        "Request",
        "1. Send a reply (medium risk)",
        "What will be done",
        "Evidence",
        "Risk and policy",
        "What changed since the last version",
        "What can be edited",
        "2. Send a reply (high risk)",
        "What will be done",
        "Evidence",
        "Risk and policy",
        "What can be edited",
    ]


def test_what_was_judged_is_called_as_the_command_calls_it() -> None:
    """`placet decide … --version 2 --snapshot DIGEST` takes what stands here."""
    item = packet_item()
    told = as_markdown(packet(item))
    assert f"- **Version** `v2`\n- **Snapshot** `{short(item.snapshot)}`" in told


def test_many_items_have_numbers_that_match_the_form() -> None:
    items: list[PacketItem] = [packet_item(item=f"it-{n}") for n in range(12)]
    assert "12. Send a reply (medium risk)" in headings(as_markdown(packet(*items)))


def test_a_decided_item_keeps_its_number_and_is_told_with_its_state_alone() -> None:
    """I3: the form has no field for it any more, and the packet says why."""
    shown = packet(packet_item(item="it-1"), packet_item(item="it-2"))
    told = as_markdown(shown, decided={"it-1": "approved"})
    first, second = told.split("## 2. Send a reply (medium risk)")
    assert "**Decided** `approved`" in first
    assert "### What will be done" not in first
    assert "### What will be done" in second and "Decided" not in second


def test_questions_follow_with_what_there_is_to_look_at_and_to_choose() -> None:
    """I1: a question in the same form as the verdicts is shown in full."""
    question = Interaction(
        id="revision",
        type="REVIEW_DIFF",
        target="ticket:t1",
        question="It was revised.",
        detail="-a\n+b",
        options=(Option(value="looks right", label="It does"),),
    )
    shown = as_markdown(packet(packet_item()), "", (question,))
    assert headings(shown)[-1] == "Question"
    last = shown.rpartition("## Question")[2]
    told = ("`revision`", "It was revised.", "-a\n+b", "`looks right`")
    places = [last.find(words) for words in told]
    assert places == sorted(places)
    assert places[0] > 0


def test_the_version_digest_and_resource_are_told() -> None:
    """A3: what a verdict is bound to is what is shown."""
    item = packet_item()
    told = as_markdown(packet(item)).replace(f"\n{GOES_ON}", "")
    bound = (short(item.snapshot), item.payload.hash, "v2", "customer:c1/email")
    condition = ("at version 4", "the address is ada@example.com")
    assert [words for words in bound + condition if words not in told] == []


def test_a_fact_too_long_for_its_line_stands_whole_in_a_block() -> None:
    """F1 of the field failures: the end of an address is never out of sight."""
    words = "the address is " + "a" * 60 + "@example.com"
    told = as_markdown(
        packet(packet_item(intent=INTENT.model_copy(update={"precondition": words})))
    )
    assert f"`{words}`" not in told
    assert f"**Only if**\n\n```\n{words}\n```" in _unfolded(told)


def test_a_resource_that_must_not_exist_is_told_as_such() -> None:
    absent = INTENT.model_copy(update={"resource_version": None})
    told = as_markdown(packet(packet_item(intent=absent)))
    assert "which must not exist" in told
    assert "which must not exist" not in as_markdown(packet(packet_item()))


def test_the_risk_its_reasons_and_the_policy_are_told() -> None:
    item = packet_item(risk_level="high", risk_reasons=("it commits us legally",))
    told = as_markdown(packet(item))
    assert "**high**: it commits us legally. Policy `77777777`." in told


@unhurried
@given(json_objects.filter(lambda payload: "pin" not in payload))
def test_everything_that_is_hashed_can_be_read(payload: dict[str, Json]) -> None:
    """F1, F7: every field of the payload, unknown ones too, in full."""
    told = as_markdown(packet(packet_item(fields=fields_of(TOOL, payload))))
    code = [
        _unfolded(token.content.removesuffix("\n"))
        for block in MARKDOWN.parse(told)
        for token in (block, *(block.children or ()))
        if token.type in ("fence", "code_inline")
    ]
    for shown in fields_of(TOOL, payload):
        marked = make_visible(as_text(shown))
        assert any(text in code for text in (marked, _inline(marked)))


def _unfolded(shown: str) -> str:
    """A code block's text with its long lines whole again."""
    return shown.replace(f"\n{GOES_ON}", "").replace("⟦U+21AA⟧", "↪")


def _inline(text: str) -> str:
    """As in a code span: `|` and a blank at either end are marks, too."""
    text = text.replace("|", "⟦U+007C⟧")
    text = "⟦U+0020⟧" + text[1:] if text.startswith(" ") else text
    return text[:-1] + "⟦U+0020⟧" if text.endswith(" ") else text or " "


@unhurried
@given(json_values.filter(lambda value: not isinstance(value, str)))
def test_a_value_that_is_no_text_is_shown_as_json(value: Any) -> None:
    assert json.loads(as_text(field("x", value))) == value


def test_fields_stand_in_the_models_order_and_unknown_ones_follow() -> None:
    shown = fields_of(TOOL, {"zeta": 1, "amount": 2, "alpha": 3, "to": "ada"})
    assert [row.name for row in shown] == ["to", "amount", "zeta", "alpha"]
    assert [row.editable for row in shown] == [False, True, False, False]
    assert [row.multiline for row in shown] == [True, False, False, False]


# Secrets


def test_a_secret_is_shown_as_a_digest_and_never_in_clear() -> None:
    """Q8: it counts as readable and stands in clear nowhere, in no diff either."""
    before, fields = (
        fields_of(TOOL, {"to": "ada", "pin": pin}) for pin in ("hunter2", "hunter3")
    )
    item = packet_item(fields=fields, diff=difference(before, fields))
    told = as_markdown(packet(item)) + item.model_dump_json()
    assert "hunter" not in told
    assert told.count("secret, not shown (digest ") == 6


def test_a_changed_secret_is_seen_to_have_changed() -> None:
    one, other = (fields_of(TOOL, {"pin": pin}) for pin in ("1", "2"))
    assert difference(one, other) is not None
    assert difference(one, fields_of(TOOL, {"pin": "1"})) is None


# Differences


def test_a_diff_tells_field_by_field_what_changed() -> None:
    """A4: a new version comes with its diff."""
    before = (field("subject", "Hi"), field("body", "a\nb\nc"))
    after = (field("subject", "Hi"), field("body", "a\nB\nc"))
    assert difference(before, after) == (
        "--- body before\n+++ body now\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("7", 7), ("true", True), ("null", None), ("a", "a\n"), ("a b", "a  b"), (1, 2)],
)
def test_no_change_is_too_small_for_the_diff(one: Json, other: Json) -> None:
    """F1: what is hashed differently is told to differ."""
    assert difference((field("x", one),), (field("x", other),)) is not None


def test_a_field_that_comes_or_goes_is_told_even_if_it_is_empty() -> None:
    assert difference((), (field("note", ""),)) == (
        "--- note before\n+++ note now\n@@ -0,0 +1 @@\n+"
    )
    assert difference((field("note", ""),), ()) is not None


@unhurried
@given(json_objects, json_objects)
def test_there_is_a_diff_exactly_where_the_bytes_differ(
    one: dict[str, Json], other: dict[str, Json]
) -> None:
    told = difference(fields_of(TOOL, one), fields_of(TOOL, other))
    assert (told is None) == (canonical_bytes(one) == canonical_bytes(other))


# Evidence


def test_evidence_is_read_line_by_line() -> None:
    text = readable(b'{"subject":"Hi","message":"one\\ntwo","open":true,"tags":[1]}')
    assert text == ("subject: Hi\nmessage:\n    one\n    two\nopen: true\ntags: [1]")


def test_a_line_break_in_evidence_never_makes_a_line_of_its_own() -> None:
    """Q8: a customer's text cannot pass for a field of the ticket."""
    forged = {"message": "hi\nstatus: approved", "a\nstatus": "approved"}
    lines = readable(canonical_bytes({**forged})).split("\n")
    assert [line for line in lines if line.startswith("status")] == []


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (b"plain text", "plain text"),
        (b'{"a":1,"a":2}', '{"a":1,"a":2}'),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'["a"]', '[\n  "a"\n]'),
    ],
)
def test_evidence_that_is_no_object_is_shown_as_it_stands(
    document: bytes, text: str
) -> None:
    assert readable(document) == text


@unhurried
@given(st.binary(max_size=60))
def test_no_evidence_makes_the_packet_fail(document: bytes) -> None:
    assert isinstance(readable(document), str)
