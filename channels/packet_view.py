"""A review packet in the terminal: the same things in the same order as on the form."""

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from policies import canonical
from policies.packet import as_text
from policies.plan import PacketField, PacketItem, ReviewPacket
from policies.visible import make_visible


def print_packet(packet: ReviewPacket, console: Console | None = None) -> None:
    """Print a packet; text from outside is plain text, whatever it holds."""
    screen = console or Console(highlight=False)
    screen.print(
        Text.assemble(
            ("Request ", "bold"),
            make_visible(
                f"{packet.summary}, asked for by {packet.requested_by}, "
                f"tenant {packet.tenant} ({packet.workflow})"
            ),
        )
    )
    for said in packet.answers:
        screen.print(
            _plain(f"Answered by {said.by}", f"{said.question}\n{said.answer}")
        )
    for number, item in enumerate(packet.items, start=1):
        screen.print(_item(number, item))


def _item(number: int, item: PacketItem) -> RenderableType:
    facts = Padding(_facts(item), (0, 0, 1, 0))
    # A row of its own: beside a name it would be cut in two at 80 columns.
    payload = _plain("Payload", item.payload.hash)
    parts: list[RenderableType] = [facts, payload, _plain("Why", item.rationale)]
    for long, group in groupby(item.fields, _is_long):
        fields = tuple(group)
        parts += map(_text, fields) if long else [_lines(fields)]
    if item.diff:
        parts.append(_plain("What changed since the last version", item.diff))
    for piece in item.evidence:
        seen = piece.evidence
        name = f"Evidence v{seen.version}, {canonical.short(seen.digest)}"
        parts += [Rule(style="dim"), _plain(name, piece.text)]
    reasons = "; ".join(item.risk_reasons)
    parts += [Rule(style="dim"), _plain(f"Risk: {item.risk_level}", reasons)]
    return Panel(Group(*parts), title=f"{number}. {item.title}", title_align="left")


def _facts(item: PacketItem) -> Table:
    intent, payload = item.intent, item.payload
    rows = (
        ("Item", item.item),
        ("Tool", item.tool),
        ("Version", f"v{payload.version}"),
        ("Snapshot", canonical.short(item.snapshot)),
        ("Acts on", f"{intent.resource} at version {intent.resource_version}"),
        ("Condition", intent.precondition),
        ("Can be undone", item.reversible),
        ("Decide by", f"{item.deadline:%Y-%m-%d %H:%M} UTC"),
        ("Policy", canonical.short(intent.policy_version)),
    )
    grid = Table.grid(padding=(0, 2))
    for name, value in rows:
        grid.add_row(Text(name, style="bold"), Text(make_visible(value)))
    return grid


def _is_long(field: PacketField) -> bool:
    return field.multiline or "\n" in as_text(field)


def _lines(fields: Iterable[PacketField]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for field in fields:
        shown = Text(make_visible(as_text(field)))
        grid.add_row(Text(_name(field), style="bold"), shown)
    return grid


def _text(field: PacketField) -> RenderableType:
    return Padding(_plain(_name(field), as_text(field)), (1, 0, 0, 0))


def _name(field: PacketField) -> str:
    return make_visible(field.name) + (" (editable)" if field.editable else "")


def _plain(name: str, text: str) -> RenderableType:
    body = Text(make_visible(text))
    return Group(Text(name, style="bold"), Padding(body, (0, 0, 1, 2)))
