"""Hostile texts: stored as they are, shown so that they can neither hide nor escape."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict

from policies.canonical import canonicalise, read_json
from policies.visible import (
    COLUMNS,
    GOES_ON,
    columns,
    fenced,
    has_invisible,
    inline_code,
    make_visible,
)
from tests.cases import case_files, case_lines, needs_cases

HOSTILE = case_files("hostile", pattern="*.jsonl")

# Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties), in full.
DEFAULT_IGNORABLE = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}

# Shared machines make examples slow at times; what is tested is not speed.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
every_character = st.characters(exclude_categories=())
nasty = st.text(st.sampled_from("⟦⟧U+0123ABCDE\u202e\u200b\r\n\t\0\ud800`~|\\ <>#-*"))
texts = nasty | st.text(every_character)


class Anything(BaseModel):
    """A tool's input that takes any member."""

    model_config = ConfigDict(extra="allow")


def parse(text: str) -> list[Token]:
    """Block tokens of CommonMark, raw HTML included, with tables."""
    return MarkdownIt("commonmark").enable("table").parse(text)


def is_hidden(character: str) -> bool:
    """By the standard library, and not by the table under test."""
    return (
        unicodedata.category(character) in HIDDEN_CATEGORIES and character not in "\n\t"
    )


def from_marks(shown: str) -> str:
    """The text that was made visible."""
    return re.sub(r"⟦U\+([0-9A-F]{4,6})⟧", lambda mark: chr(int(mark[1], 16)), shown)


# Marks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202e001", "pay⟦U+202E⟧001"),
        ("a\r\nb\tc", "a⟦U+000D⟧\nb\tc"),
        ("\x00\x7f\x85", "⟦U+0000⟧⟦U+007F⟧⟦U+0085⟧"),
        ("a\u200bb\u2028c\ufeff", "a⟦U+200B⟧b⟦U+2028⟧c⟦U+FEFF⟧"),
        ("\ud83d\uffff\U0010fffe", "⟦U+D83D⟧⟦U+FFFF⟧⟦U+10FFFE⟧"),
        ("\u2800\u3164\ufffc", "⟦U+2800⟧⟦U+3164⟧⟦U+FFFC⟧"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"),
    ],
)
def test_what_hides_is_shown_by_its_number(text: str, shown: str) -> None:
    assert make_visible(text) == shown


@pytest.mark.parametrize(
    "text", ["", "Größe 3 €\n\tzł", "日本語", "שלום", "😀", "e\u0301"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert make_visible(text) == text
    assert not has_invisible(text)


def test_no_control_or_format_character_of_unicode_is_left_out() -> None:
    characters = map(chr, range(0x110000))

    left_out = [c for c in characters if is_hidden(c) and not has_invisible(c)]

    assert left_out == []


def test_no_default_ignorable_code_point_is_left_out() -> None:
    left_out = [
        hex(code)
        for first, last in DEFAULT_IGNORABLE
        for code in range(first, last + 1)
        if not has_invisible(chr(code))
    ]

    assert left_out == []


@unhurried
@given(texts)
def test_different_texts_never_look_the_same(text: str) -> None:
    assert from_marks(make_visible(text)) == text


@unhurried
@given(texts)
def test_a_text_has_invisible_characters_when_showing_it_changes_it(text: str) -> None:
    assert has_invisible(text) == (make_visible(text) != text)
    assert not any(map(is_hidden, make_visible(text)))


# Markdown


def unfolded(shown: str) -> str:
    """A code block's text with its long lines whole again."""
    return shown.replace(f"\n{GOES_ON}", "").replace("⟦U+21AA⟧", "↪")


def is_only_a_fence(text: str) -> bool:
    """Whether the text stands whole in one code block, and what follows outside."""
    tokens = parse(f"before\n\n{fenced(text)}after")
    paragraph = ["paragraph_open", "inline", "paragraph_close"]
    return (
        [token.type for token in tokens] == [*paragraph, "fence", *paragraph]
        and unfolded(tokens[3].content) == make_visible(text) + "\n"
        and tokens[-2].content == "after"
    )


@unhurried
@given(st.text(st.sampled_from("ab ↪\n\t漢é"), max_size=300))
def test_no_line_of_a_code_block_runs_out_of_sight(text: str) -> None:
    """F1 of the field failures: a reader need not scroll to see what is decided."""
    lines = fenced(text).split("\n")[1:-2]
    assert all(columns(line) <= COLUMNS for line in lines)
    assert unfolded("\n".join(lines)) == text


@pytest.mark.parametrize(
    ("text", "wide"),
    [("ab", 2), ("漢字", 4), ("\t", 8), ("\uff26🎉", 4), ("é", 1), ("⟦a⟧", 5)],
)
def test_a_line_is_as_wide_as_it_is_shown(text: str, wide: int) -> None:
    """Neither tabs nor wide letters push the end of a line out of sight."""
    assert columns(text) == wide


def test_a_long_line_is_broken_between_its_words() -> None:
    line = "word " * 20
    assert fenced(line) == f"```\n{'word ' * 10}\n{GOES_ON}{'word ' * 10}\n```\n"


def test_a_text_cannot_forge_a_line_that_goes_on() -> None:
    assert fenced("one\n↪ two") != fenced("one two")
    assert GOES_ON not in fenced("one\n↪ two")


def is_only_code(text: str) -> bool:
    """Whether the text is one code span, in a paragraph and in a table's cell."""
    code = inline_code(text)
    tokens = parse(f"{code}\n\n| a | b |\n|---|---|\n| {code} | end |\n")
    paragraph, head_a, head_b, cell, end = (
        token for token in tokens if token.type == "inline"
    )
    return _shape(paragraph) == _shape(cell) == [("code_inline", _in_code(text))] and [
        _shape(token) for token in (head_a, head_b, end)
    ] == [[("text", "a")], [("text", "b")], [("text", "end")]]


def _shape(token: Token) -> list[tuple[str, str]]:
    return [(child.type, child.content) for child in token.children or ()]


def _in_code(text: str) -> str:
    shown = make_visible(text).replace("\n", "⟦U+000A⟧").replace("|", "⟦U+007C⟧")
    return re.sub(r"\A | \Z", "⟦U+0020⟧", shown) or " "


@pytest.mark.parametrize(
    "text",
    [
        "",
        "```",
        "a\n```\n<b>out</b>",
        "a\n   ````\n# out",
        "a\r```\rout",
        "~~~\nout",
        "\n\n    indented\n\t",
        "`" * 100,
        "> ```",
    ],
)
def test_no_text_leaves_its_code_block(text: str) -> None:
    assert is_only_a_fence(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "` `",
        "`` out ``",
        "a | out | b",
        "a \\| b \\",
        "a\n\n# out",
        "a\r\n| out |",
        "<!-- out",
        "``` out",
        "  a  ",
    ],
)
def test_no_text_leaves_its_code_span(text: str) -> None:
    assert is_only_code(text)


@unhurried
@given(texts)
def test_markdown_holds_any_text_in_its_code(text: str) -> None:
    assert is_only_a_fence(text)
    assert is_only_code(text)


def test_a_space_at_the_end_of_a_value_is_seen() -> None:
    assert inline_code("bob@example.org ") == "`bob@example.org⟦U+0020⟧`"


# Published texts


def _each(path: Path) -> Iterator[tuple[str, str]]:
    for case in case_lines("hostile", path.name):
        yield case["id"], case["text"]


def _stem(path: Path) -> str:
    return path.stem


hostile_files = pytest.mark.parametrize("path", HOSTILE, ids=_stem)


@needs_cases
@hostile_files
def test_hostile_text_is_stored_as_it_is_but_for_its_unicode_form(path: Path) -> None:
    def stored(text: str) -> Any:
        model = Anything.model_validate({"text": text, "names": [{text: 1}]})
        return read_json(canonicalise(model))

    def composed(text: str) -> Any:
        nfc = unicodedata.normalize("NFC", text)
        return {"text": nfc, "names": [{nfc: 1}]}

    changed = [case for case, text in _each(path) if stored(text) != composed(text)]

    assert changed == []


@needs_cases
@hostile_files
def test_hostile_text_is_shown_without_anything_hidden(path: Path) -> None:
    hiding = [
        case for case, text in _each(path) if any(map(is_hidden, make_visible(text)))
    ]
    lost = [
        case for case, text in _each(path) if from_marks(make_visible(text)) != text
    ]

    assert (hiding, lost) == ([], [])


@needs_cases
@hostile_files
def test_hostile_text_stays_in_its_markdown(path: Path) -> None:
    out_of_block = [case for case, text in _each(path) if not is_only_a_fence(text)]
    out_of_span = [case for case, text in _each(path) if not is_only_code(text)]

    assert (out_of_block, out_of_span) == ([], [])
