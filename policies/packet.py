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
    return _list(
        ("", packet.summary, ""),
        ("Asked for by ", packet.requested_by, ""),
        ("For tenant ", packet.tenant, ""),
        ("As workflow ", packet.workflow, ""),
    )


def _item(number: int, item: PacketItem) -> list[str]:
    fixed = [field for field in item.fields if not field.editable]
    editable = [field for field in item.fields if field.editable]
    parts = [
        f"## {number}. {item.title} ({item.risk_level} risk)",
        *_facts(item),
        "### What will be done",
        *_fields(fixed),
        "### Evidence",
    ]
    for piece in item.evidence:
        parts += _evidence(piece)
    parts += ["### Risk and policy", f"**{item.risk_level}**: " + _reasons(item)]
    if item.diff:
        parts += ["### What changed since the last version", fenced(item.diff)]
    parts += ["### What can be edited", *_fields(editable)]
    version = item.payload.version
    parts += [f"All of it together is payload v{version}:", fenced(item.payload.hash)]
    return parts


def _facts(item: PacketItem) -> list[str]:
    """What there is to know of an item before its texts."""
    version = item.intent.resource_version
    seen = " which must not exist" if version is None else f" at version {version}"
    return _list(
        ("**Version** ", f"v{item.payload.version}", f" shown as `{canonical.short(item.snapshot)}`"),
        ("**Tool** ", item.tool, ""),
        ("**Acts on** ", item.intent.resource, seen),
        ("**Only if** ", item.intent.precondition, ""),
        ("**Why** ", item.rationale, ""),
        ("**Can be undone** ", item.reversible, ""),
        ("**Decide by** ", f"{item.deadline:%Y-%m-%d %H:%M} UTC", ""),
        ("**Lasts** ", f"{item.term_seconds // 60} minutes", " after approval"),
        ("**Item** ", item.item, ""),
    )


def _evidence(piece: PacketEvidence) -> list[str]:
    seen = piece.evidence
    words = f" version {seen.version}, digest `{canonical.short(seen.digest)}`"
    return [*_list(("", piece.name, words)), fenced(piece.text)]


def _question(question: Interaction) -> list[str]:
    """A question with what there is to look at and to choose from."""
    parts = [f"## Question {inline_code(question.id)}", fenced(question.question)]
    if question.detail:
        parts.append(fenced(question.detail))
    for option in question.options:
        parts += _list((f"{inline_code(option.value)}: ", option.label, ""))
    return parts


def _reasons(item: PacketItem) -> str:
    words = "; ".join(item.risk_reasons)
    policy = canonical.short(item.intent.policy_version)
    return f"{words}. Policy {inline_code(policy)}."


def _fields(fields: list[PacketField]) -> list[str]:
    return [part for f in fields for part in _list((f"**{inline_code(f.name)}** ", as_text(f), ""))]


def _list(*rows: tuple[str, str, str]) -> list[str]:
    parts = []
    short = [f"- {b}{inline_code(t)}{a}" for b, t, a in rows if _fits(t)]
    if short: parts.append("\n".join(short))
    for b, t, a in rows:
        if not _fits(t): parts += [f"{b}{a}", fenced(t)]
    return parts


def _fits(text: str, most: int = COLUMNS) -> bool:
    return "\n" not in text and columns(inline_code(text)) <= most


def _mark(value: Json) -> str:
    hashed = canonical.digest("evidence", canonical.canonical_bytes(value))
    return f"secret, not shown (digest {canonical.short(hashed)})"
