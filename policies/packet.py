"""What a reviewer is shown of an item, and the same as Markdown for a form.

The order is fixed: request, payload version, evidence, risk and policy, editable
fields; the verdict follows on the form. Everything that is hashed can be read here.
Text from agents and customers is data: it stands in code fences with its invisible
characters made visible, and is never a link, a heading or a template.
"""

import difflib
import json

from policies import canonical
from policies.errors import NotStrictJson
from policies.interaction import Interaction
from policies.plan import PacketEvidence, PacketField, PacketItem, ReviewPacket
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
    if "\n" not in text:
        return f"{name}: {text}"
    return f"{name}:\n" + "\n".join(f"    {line}" for line in text.split("\n"))


def as_markdown(
    packet: ReviewPacket,
    notice: str = "",
    questions: tuple[Interaction, ...] = (),
) -> str:
    """The packet as Markdown; `notice` is why the last answer was not accepted."""
    parts = []
    if notice:
        parts += ["## ⚠ Not recorded yet", fenced(notice)]
    parts += ["## Request", *_request(packet)]
    for number, item in enumerate(packet.items, start=1):
        parts += _item(number, item)
    for question in questions:
        parts += _question(question)
    return "\n\n".join(parts)


def _request(packet: ReviewPacket) -> list[str]:
    return _sentence(
        ("", packet.summary),
        ("asked for by ", packet.requested_by),
        ("for tenant ", packet.tenant),
        ("as workflow ", packet.workflow),
    )


def _item(number: int, item: PacketItem) -> list[str]:
    parts = [
        f"## {number}. {item.title} ({item.risk_level} risk)",
        *_facts(item),
        *_said("**Why:**", item.rationale),
        "### What will be done",
    ]
    for field in item.fields:
        parts += [] if field.editable else _field(field)
    parts.append("### Evidence")
    for piece in item.evidence:
        parts += _evidence(piece)
    parts += ["### Risk and policy", f"**{item.risk_level}**: " + _reasons(item)]
    if item.diff:
        parts += ["### What changed since the last version", fenced(item.diff)]
    parts.append("### What can be edited")
    for field in item.fields:
        parts += _field(field) if field.editable else []
    version = item.payload.version
    parts += [f"All of it together is payload v{version}:", fenced(item.payload.hash)]
    return parts


def _facts(item: PacketItem) -> list[str]:
    """What there is to know of an item before its texts, in a table.

    A fact that a cell would hide the end of stands whole below the table.
    """
    intent = item.intent
    version = intent.resource_version
    shown = f"v{item.payload.version}, shown as {canonical.short(item.snapshot)}"
    rows = (
        ("Version", shown),
        ("Tool", item.tool),
        ("Acts on", intent.resource),
        ("At version", "none: it must not exist" if version is None else f"{version}"),
        ("Only if", intent.precondition),
        ("Can be undone", item.reversible),
        ("Decide by", f"{item.deadline:%Y-%m-%d %H:%M} UTC"),
        ("Lasts", f"{item.term_seconds // 60} minutes after approval"),
        ("Item", item.item),
    )
    short = [row for row in rows if _fits(row[1], _CELL)]
    long = [row for row in rows if row not in short]
    return [_table(short), *(part for n, text in long for part in _said(n, text))]


def _evidence(piece: PacketEvidence) -> list[str]:
    seen = piece.evidence
    words = f"version {seen.version}, digest `{canonical.short(seen.digest)}`:"
    return [*_said("", piece.name), words, fenced(piece.text)]


def _question(question: Interaction) -> list[str]:
    """A question with what there is to look at and to choose from."""
    parts = [f"## Question {inline_code(question.id)}", fenced(question.question)]
    if question.detail:
        parts.append(fenced(question.detail))
    for option in question.options:
        parts += _said(inline_code(option.value), option.label)
    return parts


def _reasons(item: PacketItem) -> str:
    words = "; ".join(item.risk_reasons)
    policy = canonical.short(item.intent.policy_version)
    return f"{words}. Policy {inline_code(policy)}."


def _field(field: PacketField) -> list[str]:
    # A name can be hostile too, where an input takes fields that its model lacks.
    name = f"**{inline_code(field.name)}**"
    text = as_text(field)
    if field.multiline:
        return [name, fenced(text)]
    return _said(name, text)


# What Prefect's older page shows of code in a table; it wraps none anywhere.
_CELL = 40


def _said(name: str, text: str) -> list[str]:
    """A short text on the line of its name, another one whole in a block below."""
    return [f"{name} {inline_code(text)}"] if _fits(text) else [name, fenced(text)]


def _sentence(*said: tuple[str, str]) -> list[str]:
    """Short texts in one sentence; each other one whole in a block below."""
    short = [words + inline_code(text) for words, text in said if _fits(text)]
    long = [(words, text) for words, text in said if not _fits(text)]
    parts = [", ".join(short)] if short else []
    for words, text in long:
        parts += [words, fenced(text)]
    return parts


def _fits(text: str, most: int = COLUMNS) -> bool:
    return "\n" not in text and columns(inline_code(text)) <= most


def _table(rows: list[tuple[str, str]]) -> str:
    """The first row is the head: Markdown has no table without one."""
    lines = [f"| {name} | {inline_code(value)} |" for name, value in rows]
    return "\n".join([*lines[:1], "|---|---|", *lines[1:]])


def _mark(value: Json) -> str:
    hashed = canonical.digest("evidence", canonical.canonical_bytes(value))
    return f"secret, not shown (digest {canonical.short(hashed)})"
