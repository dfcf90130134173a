"""No text of an agent or customer leaves its place in the packet."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from policies.interaction import Interaction, Option
from policies.packet import as_markdown
from policies.plan import PacketEvidence, ReviewPacket
from tests.cases import case_files, case_lines, needs_cases
from tests.unit.values import (
    EVIDENCE,
    INTENT,
    PAYLOAD,
    field,
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
    return outside_code(told(text)) not in PLAIN


def told(text: str) -> str:
    """All that can stand above a form, saying nothing but this text."""
    question = Interaction(
        id="q",
        type="SELECT",
        target=text,
        question=text,
        detail=text,
        options=(Option(value=text, label=text),),
    )
    return as_markdown(packet_saying(text), text, (question,))


# What fits stands in a list, what is longer in a block of its own.
PLAIN = [outside_code(told(text)) for text in ("plain", "two\nlines")]


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
    assert "\u202e" not in told("pay\u202e001")
    assert told("pay\u202e001").count("pay⟦U+202E⟧001") > 20
