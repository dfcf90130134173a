"""The form of a round: its choices, and what an answer to it says.

The values of a choice carry what is decided on, so that a stale page cannot be
submitted: `approve v2 a1b2c3d4` is version 2 with the snapshot that begins so.

A form is kept short, since Prefect's older page hides the packet behind a tall one:
the fields of an edit come in a second form, after `edit …` was chosen in the first.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from policies import canonical
from policies.interaction import Interaction
from policies.packet import as_text
from policies.plan import ItemVerdict, PacketField, PacketItem, VerdictWord
from policies.value import Json, Value
from policies.visible import has_invisible

LEAVE_OPEN = "leave open"
FormVerdict: TypeAlias = Literal["approve", "reject", "edit"]


class FormItem(Value):
    """One item's part of a form. `number` is its place, from 1.

    `editing` is the second form of an edit: it has the fields, and no other verdict.
    """

    number: int
    item: str
    title: str
    version: int
    snapshot: str
    fields: tuple[PacketField, ...]
    editing: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of the item's drop-down."""
        words: tuple[FormVerdict, ...] = ("approve", "reject")
        if self.editing:
            words = ("edit",)
        elif self.editable:
            words = (*words, "edit")
        bound = f"v{self.version} {self.snapshot}"
        return (*(f"{word} {bound}" for word in words), LEAVE_OPEN)

    @property
    def editable(self) -> tuple[PacketField, ...]:
        """The fields that can be edited here: a text area would lose or hide others.

        A value with invisible characters gets no field; deeper values come as JSON.
        """
        return tuple(
            field
            for field in self.fields
            if field.editable and not field.secret and not _would_suffer(field)
        )


class Form(Value):
    """Everything that a round asks in one form."""

    items: tuple[FormItem, ...]
    questions: tuple[Interaction, ...]

    @property
    def editing(self) -> bool:
        """Whether this is the second form of an edit."""
        return any(item.editing for item in self.items)

    @property
    def offers_edits(self) -> bool:
        """Whether `edit …` can be chosen, which leads to the second form."""
        return not self.editing and any(item.editable for item in self.items)


class Submission(Value):
    """What a form's answer says, before it is judged."""

    reviewer: str
    code: str
    verdicts: tuple[ItemVerdict, ...]
    answers: dict[str, str]
    outdated: bool = False
    """Whether a choice was sent that is not on this form: of a page gone stale, say."""
    wants_to_edit: str | None = None
    """The item whose fields are wanted in a second form; that decides nothing."""
    other_edits: bool = False
    """Whether further items were to be edited, which have to wait their turn."""


def form_of(
    items: tuple[PacketItem, ...],
    questions: tuple[Interaction, ...],
    decided: frozenset[str] = frozenset(),
    editing: str | None = None,
) -> Form:
    """The form for these items and questions; numbered as shown, without `decided`.

    While an item is being edited, the form is about that item alone.
    """
    shown = [item.item for item in items if item.item not in decided]
    alone = [editing] if editing in shown else None
    return Form(
        items=tuple(
            FormItem(
                number=number,
                item=item.item,
                title=item.title,
                version=item.payload.version,
                snapshot=canonical.short(item.snapshot),
                fields=item.fields,
                editing=alone is not None,
            )
            for number, item in enumerate(items, start=1)
            if item.item in (alone or shown)
        ),
        questions=() if alone else questions,
    )


def verdict_name(item: FormItem) -> str:
    """The name of an item's drop-down: by its id, which never means another item."""
    return f"verdict_{_plain(item.item)}"


def field_name(item: FormItem, field: PacketField) -> str:
    """The name of an editable field: apart from every verdict's and answer's."""
    return f"edit_{field.name}_{_plain(item.item)}"


def filled_with(item: FormItem, field: PacketField, typed: Mapping[str, Json]) -> Json:
    """What an edit's field holds at first: its value, or what was `typed` before.

    A slip, such as a wrong code, must not cost a person their words. They are kept for
    the same version alone, and never where a text area would hide a part of them.
    """
    name = field_name(item, field)
    same = typed.get(verdict_name(item)) in item.choices and name in typed
    words = "" if same and typed[name] is None else typed.get(name)
    kept = same and type(words) is type(field.value) and not _hides(words)
    return words if kept else field.value


def answer_name(question: Interaction) -> str:
    """The name of a question's field."""
    return f"answer_{_plain(question.id)}"


def read_answer(form: Form, values: dict[str, Json]) -> Submission:
    """What was submitted; a choice that is not on this form counts as left open."""
    verdicts = [_verdict(item, values) for item in form.items]
    said = [v for v in verdicts if v is not None]
    wanted = [v.item for v in said if v.verdict == "edit" and not form.editing]
    return Submission(
        reviewer=_text(values, "reviewer").strip(),
        code=_text(values, "code").strip(),
        verdicts=tuple(v for v in said if v.item not in wanted),
        answers=_answers(form, values),
        outdated=any(
            _text(values, verdict_name(item)) not in ("", *item.choices)
            for item in form.items
        ),
        wants_to_edit=wanted[0] if wanted else None,
        other_edits=len(wanted) > 1,
    )


def _answers(form: Form, values: dict[str, Json]) -> dict[str, str]:
    """What was answered.

    A form of optional questions alone that is sent with one left blank says that
    nothing is given; beside a verdict or a required answer, blank means not yet.
    """
    said = {q: _text(values, answer_name(q)) for q in form.questions}
    ends = not form.items and all(said[q].strip() for q in said if q.required)
    return {q.id: text for q, text in said.items() if text.strip() or ends}


def _verdict(item: FormItem, values: dict[str, Json]) -> ItemVerdict | None:
    choice = _text(values, verdict_name(item))
    if choice not in item.choices or choice == LEAVE_OPEN:
        return None
    return ItemVerdict(
        item=item.item,
        verdict=cast(VerdictWord, choice.partition(" ")[0]),
        version=item.version,
        snapshot=item.snapshot,
        reason=_text(values, "reason"),
        edit=_changes(item, values) if item.editing else None,
    )


def _changes(item: FormItem, values: dict[str, Json]) -> dict[str, Json]:
    """The fields that differ from what was shown.

    Both of Prefect's pages send untouched fields back and leave a cleared one out.
    """
    changes: dict[str, Json] = {}
    for field in item.editable:
        sent = values.get(field_name(item, field))
        if sent is None and isinstance(field.value, str):
            sent = ""
        if isinstance(sent, str):
            sent = sent.replace("\r\n", "\n").replace("\r", "\n")
        if sent != field.value:
            changes[field.name] = sent
    return changes


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _would_suffer(field: PacketField) -> bool:
    return has_invisible(as_text(field))


def _hides(value: Json) -> bool:
    return isinstance(value, str) and has_invisible(value.replace("\r\n", "\n"))


def _text(values: dict[str, Json], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
