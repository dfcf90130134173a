"""Canonical JSON: the same meaning gives the same bytes, and so the same digest.

The profile is RFC 8785 (JCS) over strings in Unicode normal form C. RFC 8785 itself
forbids changing strings, so `normalise` comes first and belongs to the version below;
`read_json` and `canonical_bytes` alone are plain RFC 8785 over I-JSON (RFC 7493).
What two readers could understand differently is refused with its place, never mended.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import orjson
import rfc8785
from pydantic import BaseModel

from policies.errors import InvalidInput, NotStrictJson
from policies.value import Json

# Stands in every snapshot; a change that could change a byte changes it.
CANONICALISATION = "rfc8785-nfc-1"

# Beyond it neighbouring integers share one double (RFC 7493, section 2.2).
MAX_SAFE_INTEGER = 2**53 - 1

# Far above what a tool takes, and far below where whatever reads or writes the value
# gives up: orjson and pydantic at some 250 levels, Python at a thousand frames in all.
MAX_DEPTH = 100

# A payload is read in full by a person; bulk content belongs into an artifact.
MAX_BYTES = 1024 * 1024

DigestKind = Literal[
    "payload",
    "intent",
    "snapshot",
    "validation",
    "evidence",
    "artifact",
    "outcome",
    "policy",
    "audit",
    "request",
    "envelope",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN_OF_A_NAME = 40


def read_json(text: bytes | str) -> Json:
    """Read one strict JSON document of at most MAX_BYTES; strings stay as they are.

    Raises NotStrictJson. Its fact `where` is a path such as `$.a.b[2]`, or the line and
    column of text that is no JSON at all.
    """
    document = _document(text)
    try:
        value = _DECODER.decode(document)
    except json.JSONDecodeError as exc:
        raise _misspelt(exc.msg, document, exc.pos) from exc
    except RecursionError as exc:
        raise _too_deep().placed() from exc
    return _walked(value, _READING)


def normalise(value: Json) -> Json:
    """The value with all strings and member names in NFC, fit to be hashed.

    Raises NotStrictJson with the place (`where`) of what has no single meaning. Floats
    beyond MAX_SAFE_INTEGER, all of them integral, are refused as well: which integer
    was meant is lost already, and 1e16 is written 10000000000000000, which reads back
    as an unsafe integer. That 1e21 and more would keep their exponent is no reason to
    have two limits.
    """
    return _walked(value, _NORMALISING)


def canonical_bytes(value: Json) -> bytes:
    """RFC 8785 bytes of the value as it is; to hash it, `normalise` it first.

    Raises NotStrictJson for what cannot be written.
    """
    try:
        if _orjson_agrees(value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        return rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError) as exc:
        raise NotStrictJson(
            "Something in the value has no canonical form, below $.",
            hint="Normalise it first: that names the place.",
            where="$",
        ) from exc


def canonicalise(model: BaseModel) -> bytes:
    """The bytes that stand for a tool's input: defaults filled, extra fields included.

    Raises InvalidInput (`empty_payload`) for an empty object, and NotStrictJson.
    """
    dumped = _dumped(model)
    if dumped == {}:
        raise InvalidInput(
            f"{type(model).__name__} is empty: there is nothing to approve.",
            code="empty_payload",
            hint="Give at least one argument.",
        )
    return canonical_bytes(normalise(dumped))


def digest(kind: DigestKind, data: bytes) -> str:
    r"""`sha256:` and 64 hex digits over kind and data.

    The kind is hashed first, so that a payload's bytes can never pass for an intent.
    To check a payload's hash by hand, with its canonical bytes in `payload.json`:

        { printf 'placet:payload:1\n'; cat payload.json; } | sha256sum
    """
    message = b"placet:" + kind.encode() + b":1\n" + data
    return "sha256:" + hashlib.sha256(message).hexdigest()


def payload_hash(data: bytes) -> str:
    """The digest of a payload's canonical bytes."""
    return digest("payload", data)


def short(digest: str) -> str:
    """The first 8 hex digits: what a form's values carry."""
    return digest.removeprefix("sha256:")[:8]


# Flaws


class _Flaw(Exception):
    """What is wrong with a value; its place is gathered on the way out of the walk."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.steps: list[object] = []

    def placed(self) -> NotStrictJson:
        where = "$" + "".join(_step(step) for step in reversed(self.steps))
        return NotStrictJson(f"{self.what}, at {where}.", hint=self.hint, where=where)


def _step(step: object) -> str:
    if not isinstance(step, str):
        return f"[{step!r:.{_SHOWN_OF_A_NAME}}]"
    if len(step) <= _SHOWN_OF_A_NAME and _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    # In ASCII, so that a hostile name cannot disturb the message.
    return f"[{json.dumps(step[:_SHOWN_OF_A_NAME])}]"


def _too_deep() -> _Flaw:
    what = f"Arrays and objects are nested more than {MAX_DEPTH} deep"
    return _Flaw(what, "Flatten the value.")


def _unsafe_number() -> _Flaw:
    what = "A number lies beyond ±(2^53-1), where integers are no longer told apart"
    return _Flaw(what, "Send it as a string.")


def _no_number(spelling: str) -> _Flaw:
    return _Flaw(f"{spelling} is no JSON number", "Use null, or leave the member out.")


def _no_json(kind: type) -> _Flaw:
    return _Flaw(f"{kind.__name__} is no JSON type", "Convert it first.")


# Reading: the json module's hooks do not know where they are, so they leave what they
# find in the value, repeated names and flaws included, and the walk comes upon it.


class _Pairs(list[tuple[str, Any]]):
    """An object's members as written."""


def _integer(literal: str) -> int | _Flaw:
    # By length first: int() raises an error of its own beyond 4300 digits.
    if len(literal) > len("-9007199254740991") or abs(int(literal)) > MAX_SAFE_INTEGER:
        return _unsafe_number()
    return int(literal)


def _real(literal: str) -> float | _Flaw:
    number = float(literal)
    return number if math.isfinite(number) else _unsafe_number()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_int=_integer,
    parse_float=_real,
    parse_constant=_no_number,
)


def _document(text: bytes | str) -> str:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        what = f"The document has {len(data)} bytes, more than {MAX_BYTES}"
        raise _Flaw(what, "Refer to bulk content instead.").placed()
    try:
        document = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as exc:
        start = data[: exc.start].decode()
        raise _misspelt("Not UTF-8", start, len(start)) from exc
    if document.startswith("\ufeff"):
        raise _misspelt("Byte order mark", document, 0)
    return document


def _misspelt(what: str, document: str, position: int) -> NotStrictJson:
    line = document.count("\n", 0, position) + 1
    column = position - document.rfind("\n", 0, position)
    where = f"line {line} column {column}"
    hint = "Send one JSON document in UTF-8 without a byte order mark."
    return NotStrictJson(f"{what}, at {where}.", hint=hint, where=where)


# The walk: once over everything, for reading and for normalising


class _Rules(NamedTuple):
    """What becomes of strings that are not ASCII and of floats, and what `twice` is."""

    text: Callable[[str], str]
    real: Callable[[float], float]
    twice: str


def _whole(text: str) -> str:
    if _SURROGATE.search(text):
        raise _Flaw("Half a surrogate pair stands alone", "Send the whole character.")
    return text


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", _whole(text))


def _safe(number: float) -> float:
    if not math.isfinite(number):
        raise _no_number(repr(number))
    if abs(number) > MAX_SAFE_INTEGER:
        raise _unsafe_number()
    return number


_READING = _Rules(_whole, float, "A member name is there twice")
_NORMALISING = _Rules(_composed, _safe, "Two member names become one in NFC")


def _walked(value: Any, rules: _Rules) -> Json:
    try:
        return _walk(value, rules, 0)
    except _Flaw as flaw:
        raise flaw.placed() from None


def _walk(value: Any, rules: _Rules, depth: int) -> Json:
    result: Json = value
    kind = type(value)
    if kind is str:
        if not value.isascii():
            result = rules.text(value)
    elif kind is int:
        if abs(value) > MAX_SAFE_INTEGER:
            raise _unsafe_number()
    elif kind is float:
        result = rules.real(value)
    elif kind is dict or kind is list or kind is _Pairs:
        if depth == MAX_DEPTH:
            raise _too_deep()
        nested = _elements if kind is list else _members
        result = nested(value, rules, depth + 1)
    elif kind is not bool and value is not None:
        raise value if kind is _Flaw else _no_json(kind)
    return result


def _elements(values: list[Any], rules: _Rules, depth: int) -> Json:
    elements: list[Json] = []
    try:
        for value in values:
            elements.append(_walk(value, rules, depth))
    except _Flaw as flaw:
        flaw.steps.append(len(elements))
        raise
    return elements


def _members(value: _Pairs | dict[str, Any], rules: _Rules, depth: int) -> Json:
    members: dict[str, Json] = {}
    name = ""
    try:
        for name, member in value.items() if isinstance(value, dict) else value:
            if type(name) is not str:
                raise _no_json(type(name))
            key = name if name.isascii() else rules.text(name)
            if key in members:
                raise _Flaw(rules.twice, "Keep one of the two.")
            members[key] = _walk(member, rules, depth)
    except _Flaw as flaw:
        flaw.steps.append(name)
        raise
    return members


# Writing


def _orjson_agrees(value: Json) -> bool:
    """Whether orjson provably writes RFC 8785: ASCII names, no floats, safe integers.

    ASCII names sort by their bytes as they do by their UTF-16 units.
    """
    if type(value) is dict:
        return "".join(value).isascii() and all(map(_orjson_agrees, value.values()))
    if type(value) is list:
        return all(map(_orjson_agrees, value))
    if type(value) is int:
        return abs(value) <= MAX_SAFE_INTEGER
    return type(value) is str or type(value) is bool or value is None


def _dumped(model: BaseModel) -> Json:
    try:
        dumped: Json = model.model_dump(mode="json", warnings="error")
        before = model.model_dump(warnings="error")
        if dumped != before:
            # Pydantic writes NaN in an untyped field as null; the json module as NaN.
            text = json.dumps(before, default=str, skipkeys=True)
            _walked(json.loads(text, parse_int=str), _NORMALISING)
        return dumped
    except ValueError as exc:
        what = f"{type(model).__name__} holds what JSON cannot, below $."
        hint = str(exc).partition("\n")[0]
        raise NotStrictJson(what, hint=hint, where="$") from exc
