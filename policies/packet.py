"""What a reviewer is shown of an item, and the same as Markdown for a form.

The order is fixed: request, payload version, evidence, risk and policy, editable
fields; the verdict follows on the form. Everything that is hashed can be read here.
Text from agents and customers is data: it stands in code fences with its invisible
characters made visible, and is never a link, a heading or a template.
"""

import difflib
import json
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from policies import canonical
from policies.errors import NotStrictJson
from policies.interaction import Interaction
from policies.plan import (
    PacketAnswer,
    PacketEvidence,
    PacketField,
    PacketItem,
    ReviewPacket,
)
from policies.tool import ToolSpec
from policies.value import Json
from policies.visible import COLUMNS, columns, fenced, inline_code


def fields_of(tool: ToolSpec, payload: dict[str, Json]) -> tuple[PacketField, ...]:
    """Every field of a payload in its model's order; a secret one as a digest."""
    known = [name for name in tool.input_model.model_fields if name in payload]
    others = [name for name in payload if name not in known]
    return tuple(
        PacketField(
            name=name,
            value=_mark(value) if name in tool.secret else value,
            editable=name in tool.editable,
            multiline=name in tool.multiline,
            secret=name in tool.secret,
        )
        for name, value in ((name, payload[name]) for name in (*known, *others))
    )


def difference(
    before: tuple[PacketField, ...], after: tuple[PacketField, ...]
) -> str | None:
    """A unified diff of two versions, field by field; None where nothing differs."""
    lines: list[str] = []
    old = {field.name: field for field in before}
    new = {field.name: field for field in after}
    for name in dict.fromkeys((*old, *new)):
        lines += difflib.unified_diff(
            *_compared(old.get(name), new.get(name)),
            f"{name} before",
            f"{name} now",
            lineterm="",
        )
    return "\n".join(lines) or None


def _compared(
    before: PacketField | None, after: PacketField | None
) -> tuple[list[str], list[str]]:
    """Both values' lines: as JSON where text alone tells neither `7` from `"7"`."""
    old, new = ([] if f is None else as_text(f).split("\n") for f in (before, after))
    if before is None or after is None or old != new:
        return old, new
    return [_json(before.value)], [_json(after.value)]


def as_text(field: PacketField) -> str:
    """A field's value as text: strings as they are, everything else as JSON."""
    if isinstance(field.value, str):
        return field.value
    return _json(field.value, indent=2)


def _json(value: Json, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True)


def readable(document: bytes) -> str:
    """Evidence as a person reads it: a JSON object line by line, else as it stands."""
    try:
        parsed = canonical.read_json(document)
    except NotStrictJson:
        return document.decode("utf-8", "replace")
    if not isinstance(parsed, dict):
        return json.dumps(parsed, ensure_ascii=False, indent=2)
    return "\n".join(_line(name, value) for name, value in parsed.items())


def _line(name: str, value: Json) -> str:
    # A line break in a name would forge a line of its own.
    name = json.dumps(name, ensure_ascii=False) if "\n" in name else name
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Mails end their lines with CR LF; a CR alone stays and is marked.
    text = text.replace("\r\n", "\n")
    if "\n" not in text:
        return f"{name}: {text}"
    return f"{name}:\n" + "\n".join(f"    {line}" for line in text.split("\n"))


def as_markdown(
    packet: ReviewPacket,
    notice: str = "",
    questions: tuple[Interaction, ...] = (),
    decided: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The packet as Markdown; `notice` is why the last answer was not accepted.

    An item in `decided` is told with its state alone: nothing is asked of it any more.
    """
    parts = []
    if notice:
        parts += ["## ⚠ Not recorded yet", fenced(notice)]
    parts += ["## Request", *_request(packet)]
    for said in packet.answers:
        parts += [f"Answered by {inline_code(said.by)}", fenced(_answered(said))]
    for number, item in enumerate(packet.items, start=1):
        parts.append(f"## {number}. {item.title} ({item.risk_level} risk)")
        state = decided.get(item.item)
        parts += _item(item) if state is None else _decided(item, state)
    for question in questions:
        parts += _question(question)
    return _joined(parts)


def _answered(said: PacketAnswer) -> str:
    return f"{said.question}\n{said.answer}"


def _request(packet: ReviewPacket) -> list[str]:
    # Nothing is planned yet where a question comes first.
    what = _fact("**What**", packet.summary) if packet.summary else []
    return [
        *what,
        *_fact("**Asked for by**", packet.requested_by),
        *_fact("**Tenant**", packet.tenant),
        *_fact("**Workflow**", packet.workflow),
    ]


def _decided(item: PacketItem, state: str) -> list[str]:
    return [*_fact("**Decided**", state), *_fact("**Item**", item.item)]


def _item(item: PacketItem) -> list[str]:
    parts = [*_facts(item), "### What will be done"]
    for field in item.fields:
        parts += [] if field.editable else _field(field)
    parts.append("### Evidence")
    for piece in item.evidence:
        parts += _evidence(piece)
    parts += ["### Risk and policy", f"**{item.risk_level}**: {_reasons(item)}"]
    if item.diff:
        parts += ["### What changed since the last version", fenced(item.diff)]
    parts.append("### What can be edited")
    for field in item.fields:
        parts += _field(field) if field.editable else []
    return parts


def _facts(item: PacketItem) -> list[str]:
    """What there is to know of an item above its texts, which may be long."""
    version = item.intent.resource_version
    found = ", which must not exist" if version is None else f" at version {version}"
    return [
        *_fact("**Version**", f"v{item.payload.version}"),
        *_fact("**Snapshot**", canonical.short(item.snapshot)),
        *_fact("**Tool**", item.tool),
        *_fact("**Acts on**", item.intent.resource, found),
        *_fact("**Only if**", item.intent.precondition),
        *_fact("**Why**", item.rationale),
        *_fact("**Can be undone**", item.reversible),
        *_fact("**Decide by**", f"{item.deadline:%Y-%m-%d %H:%M} UTC"),
        *_fact("**Lasts**", f"{item.term_seconds // 60} minutes after approval"),
        *_fact("**Item**", item.item),
        *_fact("**Payload**", item.payload.hash),
    ]


def _evidence(piece: PacketEvidence) -> list[str]:
    digest = inline_code(canonical.short(piece.evidence.digest))
    seen = f", version {piece.evidence.version}, digest {digest}"
    return [*_fact("**Source**", piece.name, seen), fenced(piece.text)]


def _question(question: Interaction) -> list[str]:
    """A question with what there is to look at and to choose from.

    It is named as its field is: an id can be longer than a heading's line.
    """
    left_open = "" if question.required else ", which may be left open"
    parts = ["## Question", *_fact("**Answer to**", question.id, left_open)]
    parts += [*_fact("**About**", question.target), fenced(question.question)]
    if question.detail:
        parts.append(fenced(question.detail))
    for option in question.options:
        parts += _named(option.value, option.label)
    return parts


def _reasons(item: PacketItem) -> str:
    words = "; ".join(item.risk_reasons)
    policy = canonical.short(item.intent.policy_version)
    return f"{words}. Policy {inline_code(policy)}."


def _field(field: PacketField) -> list[str]:
    return _named(field.name, as_text(field), in_block=field.multiline)


def _named(name: str, text: str, *, in_block: bool = False) -> list[str]:
    """A text under a name that others may have given it."""
    if not _fits(name):
        return [fenced(name), fenced(text)]
    return _fact(f"**{inline_code(name)}**", text, in_block=in_block)


def _fact(name: str, text: str, more: str = "", *, in_block: bool = False) -> list[str]:
    """A text on the line of its name if it fits there, else whole in a block below.

    Prefect's older page breaks no line of inline code: its end would be out of sight.
    """
    if in_block or not _fits(text):
        return [name + more, fenced(text)]
    return [f"{_BULLET}{name} {inline_code(text)}{more}"]


_BULLET = "- "


def _fits(text: str) -> bool:
    return "\n" not in text and columns(inline_code(text)) <= COLUMNS


def _joined(parts: list[str]) -> str:
    """All parts as paragraphs; facts that follow each other as one tight list."""
    text = parts[0]
    for before, part in pairwise(parts):
        in_list = before.startswith(_BULLET) and part.startswith(_BULLET)
        text += ("\n" if in_list else "\n\n") + part
    return text


def _mark(value: Json) -> str:
    hashed = canonical.digest("evidence", canonical.canonical_bytes(value))
    return f"secret, not shown (digest {canonical.short(hashed)})"
