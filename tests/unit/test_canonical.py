"""What is hashed: strict reading, one spelling per meaning, digests by kind."""

import itertools
import json
import math
import subprocess
import unicodedata
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from policies.canonical import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    DigestKind,
    canonical_bytes,
    canonicalise,
    digest,
    normalise,
    payload_hash,
    read_json,
    short,
)
from policies.errors import InvalidInput, NotStrictJson
from policies.value import Json


class Refund(BaseModel):
    """A tool's input with a default, an open end and an untyped field."""

    model_config = ConfigDict(extra="allow")

    order: str
    amount_minor: int = 0
    note: Any = None


class Nothing(BaseModel):
    """A tool's input without a field."""


# Shared machines make examples slow at times; what is tested is not speed.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

nfc = partial(unicodedata.normalize, "NFC")
nfd = partial(unicodedata.normalize, "NFD")

numbers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.floats(
    -MAX_SAFE_INTEGER, MAX_SAFE_INTEGER
)
texts = st.text() | st.text('a\u0301\u00e1\u212b\ufb01\x00\x1f"\\/\x7f\u2028\U0001f600')
names = texts | st.text("abAB_\ue000\U00010000\ud7ff", max_size=3)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(names, inner),
    max_leaves=15,
)


def place_of(text: bytes | str) -> str:
    """Where `read_json` says that the text is wrong."""
    with pytest.raises(NotStrictJson) as caught:
        read_json(text)
    return str(caught.value.facts["where"])


def nested(depth: int) -> Json:
    """Arrays around nothing, so many deep."""
    value: Json = []
    for _ in range(depth - 1):
        value = [value]
    return value


# Reading


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": {"b": [0, 1, {"c": 1, "c": 1}]}}', "$.a.b[2].c"),
        ('{"a": [9007199254740992]}', "$.a[0]"),
        ("[-9007199254740992]", "$[0]"),
        ('{"a b": NaN}', '$["a b"]'),
        ("[[-Infinity]]", "$[0][0]"),
        ('{"a": 1e400}', "$.a"),
        ('{"a": "\\ud800"}', "$.a"),
        ('{"\\udc00x": 1}', '$["\\udc00x"]'),
        ('["\udfff"]', "$[0]"),
        ('{"\u202e": NaN}', '$["\\u202e"]'),
        ('{"' + "k" * 1000 + '": NaN}', '$["' + "k" * 40 + '"]'),
    ],
)
def test_a_refused_value_is_named_by_its_path(text: str, where: str) -> None:
    assert place_of(text) == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"", "line 1 column 1"),
        (b"{} {}", "line 1 column 4"),
        (b'{\n  "a": tru\n}', "line 2 column 8"),
        (b"[1,]", "line 1 column 4"),
        ('{\n"ä": "'.encode() + b'\xff"}', "line 2 column 7"),
        ("{}".encode("utf-16"), "line 1 column 1"),
    ],
)
def test_text_that_is_no_json_is_named_by_line_and_column(
    text: bytes | str, where: str
) -> None:
    assert place_of(text) == where


@pytest.mark.parametrize("text", ["[" * 100_000, '[{"":' * 50_000])
def test_brackets_without_end_are_refused_in_plain_words(text: str) -> None:
    with pytest.raises(NotStrictJson, match=f"more than {MAX_DEPTH} deep"):
        read_json(text)


def test_nesting_is_read_to_its_limit_and_no_deeper() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH

    assert read_json(deepest) == nested(MAX_DEPTH)
    with pytest.raises(NotStrictJson, match=f"more than {MAX_DEPTH} deep"):
        read_json(f"[{deepest}]")


@pytest.mark.parametrize("digits", [17, 5_000, 500_000])
def test_an_integer_of_any_length_is_refused_and_never_rounded(digits: int) -> None:
    assert place_of('{"n": -' + "1" * digits + "}") == "$.n"


def test_a_document_is_read_to_its_limit_in_bytes() -> None:
    longest = '"' + "é" * ((MAX_BYTES - 2) // 2) + '"'

    assert read_json(longest) == longest.strip('"')
    with pytest.raises(NotStrictJson, match=f"more than {MAX_BYTES}"):
        read_json(longest + " ")


@pytest.mark.parametrize("text", ["\ufeff{}", b"\xef\xbb\xbf{}"])
def test_a_byte_order_mark_is_refused_by_name(text: bytes | str) -> None:
    with pytest.raises(NotStrictJson, match="Byte order mark, at line 1 column 1"):
        read_json(text)


def test_reading_leaves_strings_and_large_floats_as_they_are() -> None:
    assert read_json('{"e\u0301": [1E30, -0, 1.0]}') == {"e\u0301": [1e30, 0, 1.0]}


@unhurried
@given(st.text() | st.binary() | values.map(json.dumps))
def test_whatever_comes_is_read_or_refused(text: bytes | str) -> None:
    try:
        value = read_json(text)
    except NotStrictJson as refused:
        assert refused.facts["where"]
    else:
        assert value == json.loads(text)


# Normalising


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [0, {"é": 1, "e\u0301": 2}]}, '$.a[1]["e\\u0301"]'),
        ({"a": math.nan}, "$.a"),
        ([-math.inf], "$[0]"),
        ({"a": {"b": MAX_SAFE_INTEGER + 1}}, "$.a.b"),
        ([10**5000], "$[0]"),
        ([1e16], "$[0]"),
        ([-1e30], "$[0]"),
        (["\ud800"], "$[0]"),
        ({"\udfff": 1}, '$["\\udfff"]'),
        ({"a": {1: "x"}}, "$.a[1]"),
        ({"a": (1, 2)}, "$.a"),
        ({"a": date(2030, 1, 1)}, "$.a"),
    ],
)
def test_what_has_no_single_meaning_is_refused_with_its_place(
    value: Any, where: str
) -> None:
    with pytest.raises(NotStrictJson) as caught:
        normalise(value)

    assert caught.value.facts["where"] == where


def test_what_is_nested_too_deep_or_in_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    for value in (nested(MAX_DEPTH + 1), endless):
        with pytest.raises(NotStrictJson, match=f"more than {MAX_DEPTH} deep"):
            normalise(value)


@unhurried
@given(texts, texts)
def test_composed_and_decomposed_text_give_the_same_bytes(name: str, text: str) -> None:
    composed = {nfc(name): [nfc(text)]}
    decomposed = {nfd(name): [nfd(text)]}

    assert _normal_bytes(decomposed) == _normal_bytes(composed)


def _normal_bytes(value: Any) -> bytes:
    return canonical_bytes(normalise(value))


@unhurried
@given(values)
def test_canonical_bytes_read_back_as_themselves(value: Any) -> None:
    try:
        written = _normal_bytes(value)
    except NotStrictJson as refused:
        assert "become one" in refused.message
    else:
        assert _normal_bytes(read_json(written)) == written


# Writing


@unhurried
@given(values)
def test_the_fast_path_writes_the_bytes_of_rfc_8785(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("code", [*range(0x80), 0x80, 0x2028, 0xFFFF, 0x1F600])
def test_every_character_is_escaped_as_rfc_8785_says(code: int) -> None:
    value: Json = {"a": chr(code), chr(code): 1, "b": [chr(code)]}

    assert canonical_bytes(value) == rfc8785.dumps(value)


@unhurried
@given(values)
def test_the_order_of_members_does_not_matter(value: Any) -> None:
    text = json.dumps(value)
    turned = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))

    assert canonical_bytes(turned) == canonical_bytes(value)


@pytest.mark.parametrize(
    "value",
    [[math.nan], [2**53], [10**5000], ["\ud800"], {"\ud800": 1}, {1: 2}, [{1}]],
)
def test_what_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(NotStrictJson) as caught:
        canonical_bytes(value)

    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("depth", [300, 3_000])
def test_writing_what_is_nested_too_deep_is_refused(depth: int) -> None:
    with pytest.raises(NotStrictJson):
        canonical_bytes(nested(depth))


# Tools' inputs


def test_a_default_left_out_is_a_default_written_out() -> None:
    written = Refund(order="A-1", amount_minor=0, note=None)

    assert canonicalise(Refund(order="A-1")) == canonicalise(written)
    assert canonicalise(written) == b'{"amount_minor":0,"note":null,"order":"A-1"}'


@unhurried
@given(st.text(), st.dictionaries(st.text("xyz", min_size=1), texts))
def test_a17_extra_fields_are_part_of_the_payload(
    order: str, extra: dict[str, str]
) -> None:
    payload = canonicalise(Refund.model_validate({**extra, "order": order}))

    assert normalise({**extra}).items() <= json.loads(payload).items()  # type: ignore[union-attr]


def test_an_empty_payload_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        canonicalise(Nothing())

    assert caught.value.code == "empty_payload"


@pytest.mark.parametrize("field", ["note", "surplus"])
def test_a_nan_is_refused_where_pydantic_would_write_null(field: str) -> None:
    payload = Refund.model_validate(
        {"order": "A-1", field: {"a": [date.max, math.nan]}}
    )

    with pytest.raises(NotStrictJson) as caught:
        canonicalise(payload)

    assert caught.value.facts["where"] == f"$.{field}.a[1]"


@pytest.mark.parametrize(
    "fields",
    [{"note": object()}, {"note": b"\xff"}, {"note": nested(500)}, {"order": 7}],
)
def test_an_input_without_json_form_is_refused(fields: dict[str, Any]) -> None:
    unchecked = Refund.model_construct(**{"order": "A-1", **fields})

    with pytest.raises(NotStrictJson, match="Refund holds what JSON cannot"):
        canonicalise(unchecked)


# Digests


def test_a_payload_hash_can_be_checked_in_a_shell(tmp_path: Path) -> None:
    payload = canonicalise(Refund(order="A-1", note="Größe"))
    (tmp_path / "payload.json").write_bytes(payload)
    command = r"{ printf 'placet:payload:1\n'; cat payload.json; } | sha256sum"

    assert command in (digest.__doc__ or "")
    shell = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert payload_hash(payload) == "sha256:" + shell.stdout.split()[0]


@unhurried
@given(st.binary(), st.binary())
def test_digests_of_different_kinds_never_meet(one: bytes, other: bytes) -> None:
    pairs = itertools.permutations(get_args(DigestKind), 2)

    assert all(digest(a, one) != digest(b, other) for a, b in pairs)


def test_a_form_carries_eight_hex_digits_of_a_digest() -> None:
    assert short(payload_hash(b"{}")) == payload_hash(b"{}")[7:15]
