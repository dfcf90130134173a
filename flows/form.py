"""A round's form as the RunInput that Prefect shows. Built anew for every pause."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from prefect.input import RunInput
from pydantic import Field, create_model

from policies import form as forms
from policies.form import Form, FormItem
from policies.interaction import Interaction
from policies.plan import PacketField
from policies.value import Json


def run_input(
    form: Form, markdown: str, typed: Mapping[str, Json] = MappingProxyType({})
) -> type[RunInput]:
    """The form's model. Verdicts, reviewer and code have no default on purpose.

    Prefect checks a submitted form against its schema alone, and a field with a default
    may be left out of a raw resume; so what is decided on stands in required choices.
    To choose `edit …` spends no code, but the field asks for one all the same.
    Fields have no descriptions: each line of a form takes one from the packet above it.
    `typed` is what was sent with the form before, so that edits need no retyping.
    """
    fields: dict[str, Any] = {}
    for item in form.items:
        fields |= _item_fields(item, typed)
    for question in form.questions:
        fields[forms.answer_name(question)] = _answer_field(question)
    fields |= _proof_fields(form)
    numbered = {
        name: (kind, _at(position, field))
        for position, (name, (kind, field)) in enumerate(fields.items())
    }
    build: Any = create_model
    model: type[RunInput] = build("Decision", __base__=RunInput, **numbered)
    model._description = markdown
    return model


def _item_fields(item: FormItem, typed: Mapping[str, Json]) -> dict[str, Any]:
    choice = Field(title=f"{item.number}. {item.title}")
    fields: dict[str, Any] = {forms.verdict_name(item): (Literal[item.choices], choice)}
    for field in item.editable if item.editing else ():
        words = forms.filled_with(item, field, typed)
        fields[forms.field_name(item, field)] = _edit_field(item, field, words)
    return fields


def _edit_field(item: FormItem, field: PacketField, words: Json) -> tuple[Any, Any]:
    """An edit's field, filled with `words`.

    Both pages leave a cleared field out, so its absence means empty; a default of the
    model's would put back what was just deleted. The JSON editor is the only field of
    theirs that shows several lines; it takes any text.
    """
    extra: dict[str, Any] = {"default": words}
    if field.multiline:
        extra["format"] = "json-string"
    kind: Any = type(field.value)
    title = f"{item.number}. Edit {field.name}"
    return kind, Field(None, title=title, json_schema_extra=extra)


def _answer_field(question: Interaction) -> tuple[Any, Any]:
    """A question's field; the question itself stands in the packet, as data."""
    options = tuple(option.value for option in question.options)
    title = f"Answer to {question.id}"
    if question.required:
        return (Literal[options] if options else str), Field(title=title)
    kind = Literal[("", *options)] if options else str
    return kind, Field(default="", title=title)


_CODE = "One-time code"


def _proof_fields(form: Form) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if form.items and not form.editing:
        fields["reason"] = (str, Field(default="", title="Reason (to reject)"))
    fields["reviewer"] = (str, Field(title="Reviewer"))
    # Required even where an edit spends none: a proof never has a default.
    title = "One-time code (to choose edit: any)" if form.offers_edits else _CODE
    fields["code"] = (str, Field(title=title))
    return fields


def _at(position: int, field: Any) -> Any:
    extra = dict(field.json_schema_extra or {})
    field.json_schema_extra = {**extra, "position": position}
    return field
