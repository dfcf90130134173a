"""The packet shows everything that is hashed, in order, and nothing that is secret."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict

from policies.canonical import canonical_bytes, short
from policies.packet import as_markdown, as_text, difference, fields_of, readable
from policies.plan import PacketEvidence, PacketItem, ReviewPacket
from policies.tool import RiskTraits, ToolSpec
from policies.value import Json
from policies.visible import GOES_ON, make_visible
from tests.cases import case_files, case_lines, needs_cases
from tests.unit.values import (
    EVIDENCE,
    INTENT,
    PAYLOAD,
    field,
    json_objects,
    json_values,
    packet,
    packet_item,
    texts,
    unhurried,
)

MARKDOWN = MarkdownIt("commonmark").enable("table")
HOSTILE = case_files("hostile", pattern="*.jsonl")
OURS = {"fence", "code_inline", "paragraph_open", "paragraph_close", "inline"}
markup = st.text(st.sampled_from("`#|<>[]()!*_~-\n\t &;{}\\"), min_size=1, max_size=12)
BREAKOUTS = [
    "# heading",
    "[link](https://example.com)",
    "![image](https://example.com/x.png)",
    "<script>alert(1)</script>",
    "a | b\n|---|---|\n| c | d |",
    "```\n# out\n```",
    "**approved**\n\n## 2. Another item",
    "1. one\n2. two\n\n> quote\n\n---",
    "`code` ``code``",
    "{{7*7}} {% raw %}",
    "x\n\n    indented",
    "&lt;b&gt; &#x202e;",
]


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


def outside_code(markdown: str) -> Counter[tuple[str, str]]:
    """Every element and text of the page that does not stand in code."""
    return Counter(_elements(MARKDOWN.parse(markdown)))


def _elements(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    for token in tokens:
        if token.type not in OURS:
            yield token.type, token.content
        yield from _elements(token.children or [])


def packet_saying(text: str) -> ReviewPacket:
    """A packet in which every text of an agent or customer is this one."""
    item = packet_item(
        item=text,
        action=text,
        tool=text,
        rationale=text,
        payload=PAYLOAD.model_copy(update={"hash": text}),
        intent=INTENT.model_copy(update={"resource": text, "precondition": text}),
        evidence=(PacketEvidence(name=text, evidence=EVIDENCE[0], text=text),),
        reversible=text,
        fields=(
            field(text, text),
            field("body", text, multiline=True),
            field("deep", {text: [text]}),
        ),
        diff=text,
    )
    said = dict.fromkeys(("workflow", "summary", "requested_by", "tenant"), text)
    return packet(item, item, **said)


def breaks_out(text: str) -> bool:
    """Whether a text adds, removes or changes anything outside of code."""
    plain = "two\nlines" if "\n" in text else "plain"
    harmless = as_markdown(packet_saying(plain), notice=plain)
    return outside_code(as_markdown(packet_saying(text), notice=text)) != (
        outside_code(harmless)
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


def test_the_version_digest_and_resource_are_told() -> None:
    """A3: what a verdict is bound to is what is shown."""
    item = packet_item()
    told = as_markdown(packet(item))
    assert f"v2, shown as {short(item.snapshot)}" in told
    assert f"`{item.payload.hash}`" in told
    assert "customer:c1/email at version 4; the address is ada@example.com" in told


def test_a_resource_that_must_not_exist_is_told_as_such() -> None:
    absent = INTENT.model_copy(update={"resource_version": None})
    told = as_markdown(packet(packet_item(intent=absent)))
    assert "customer:c1/email which must not exist" in told


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
        token.content.removesuffix("\n").replace(f"\n{GOES_ON}", "")
        for block in MARKDOWN.parse(told)
        for token in (block, *(block.children or ()))
        if token.type in ("fence", "code_inline")
    ]
    for shown in fields_of(TOOL, payload):
        marked = make_visible(as_text(shown))
        assert any(text in code for text in (marked, _inline(marked)))


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


# Hostile texts


@pytest.mark.parametrize("text", BREAKOUTS)
def test_no_text_leaves_its_place_in_the_packet(text: str) -> None:
    """W3, Q8: headings, links, HTML and tables are those of a plain packet."""
    assert not breaks_out(text)


@unhurried
@given(markup | texts.filter(bool))
def test_no_text_at_all_changes_what_stands_outside_of_code(text: str) -> None:
    assert not breaks_out(text)


@needs_cases
@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_published_hostile_texts_stay_in_their_places(path: Path) -> None:
    """Q8: as rationale, value, name, evidence, diff and notice."""
    said = case_lines("hostile", path.name)
    assert [case["id"] for case in said if breaks_out(case["text"])] == []


def test_the_check_for_hostile_texts_bites() -> None:
    title = packet(packet_item(title="[x](https://example.com)"))
    assert outside_code(as_markdown(title)) != outside_code(
        as_markdown(packet(packet_item(title="plain")))
    )


def test_a_hidden_character_is_seen_wherever_it_stands() -> None:
    told = as_markdown(packet_saying("pay\u202e001"), notice="pay\u202e001")
    assert "\u202e" not in told
    assert told.count("pay⟦U+202E⟧001") > 20


def test_many_items_have_numbers_that_match_the_form() -> None:
    items: list[PacketItem] = [packet_item(item=f"it-{n}") for n in range(12)]
    assert "12. Send a reply (medium risk)" in headings(as_markdown(packet(*items)))
