"""Published vectors: RFC 8785, ES6 numbers, JSONTestSuite, four implementations."""

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.canonical import canonical_bytes, normalise, read_json
from policies.errors import NotStrictJson
from tests.cases import case_files, case_lines, cases, needs_cases

pytestmark = needs_cases


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, str]]:
    """Per file: the suite's verdict, the strict profile's, canonical bytes in hex."""
    text = cases("jcs", "json_expected.json").read_text(encoding="utf-8")
    answers: dict[str, dict[str, str]] = json.loads(text)
    return answers


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize(
    "path", case_files("jcs", "rfc8785", pattern="*.input.json"), ids=_name
)
def test_the_examples_of_rfc_8785_give_its_bytes(path: Path) -> None:
    output = Path(str(path).replace(".input.", ".output.")).read_bytes()

    assert canonical_bytes(read_json(path.read_bytes())) == output


def test_awkward_documents_get_the_bytes_of_four_implementations() -> None:
    wrong = [
        case["case_id"]
        for case in case_lines("jcs", "cross_implementation.jsonl")
        if canonical_bytes(read_json(case["input"])).hex() != case["canonical_hex"]
    ]

    assert wrong == []


def _double(bits: str) -> float:
    number: float = struct.unpack(">d", bytes.fromhex(bits.zfill(16)))[0]
    return number


def test_doubles_are_written_as_ecmascript_writes_them() -> None:
    lines = cases("jcs", "es6_numbers.txt").read_text(encoding="ascii").split()
    pairs = [line.split(",") for line in lines]

    wrong = [
        bits for bits, text in pairs if canonical_bytes(_double(bits)) != text.encode()
    ]

    assert (len(pairs), wrong) == (4168, [])


def _published_sequence() -> Iterator[float]:
    """The rule in es6_checksums.json: listed, serial, then a chain of SHA-256."""
    listed = cases("jcs", "es6_numbers.txt").read_text(encoding="ascii").split()[:168]
    yield from (_double(line.split(",")[0]) for line in listed)
    for serial in range(2000):
        yield struct.unpack(">d", struct.pack(">Q", 0x0010000000000000 + serial))[0]
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for number in struct.unpack("<4d", block):
            if number != 0 and abs(number) < float("inf"):
                yield number


def test_ten_thousand_doubles_have_the_published_checksum() -> None:
    published = json.loads(cases("jcs", "es6_checksums.json").read_bytes())["sha256"]
    state, sums = hashlib.sha256(), {}

    for line, number in zip(range(1, 10_001), _published_sequence(), strict=False):
        bits = struct.pack(">d", number).hex().lstrip("0") or "0"
        state.update(f"{bits},".encode() + canonical_bytes(number) + b"\n")
        sums[str(line)] = state.hexdigest()

    assert {line: sums[line] for line in published} == published


def _labelled() -> list[Path]:
    folders = ("json_parsing", "json_transform")
    return [
        path
        for folder in folders
        for path in case_files("jcs", folder, pattern="*.json")
    ]


def _is_refused(answer: dict[str, str]) -> bool:
    return answer["suite"] == "reject" or "strict_profile" in answer


@pytest.mark.parametrize(
    "path",
    _labelled(),
    ids=_name,
)
def test_documents_are_read_or_refused_as_labelled(
    path: Path, expected: dict[str, dict[str, str]]
) -> None:
    answer = expected[_name(path)]
    if _is_refused(answer):
        with pytest.raises(NotStrictJson):
            read_json(path.read_bytes())
    else:
        written = canonical_bytes(read_json(path.read_bytes()))
        assert written.hex() == answer["canonical_hex"]


def test_every_labelled_document_is_there(expected: dict[str, Any]) -> None:
    assert {_name(path) for path in _labelled()} == set(expected)


def test_names_that_differ_by_unicode_form_alone_are_refused() -> None:
    path = cases("jcs", "json_transform", "object_key_nfc_nfd.json")

    value = read_json(path.read_bytes())

    with pytest.raises(NotStrictJson, match="become one"):
        normalise(value)
