"""A round's form as the RunInput that Prefect shows. Built anew for every pause."""

from typing import Any, Literal

from prefect.input import RunInput
from pydantic import Field, create_model

from policies import form as forms
from policies.form import Form, FormItem
from policies.interaction import Interaction
from policies.plan import PacketField


def run_input(form: Form, markdown: str) -> type[RunInput]:
    """The form's model. Verdicts, reviewer and code have no default on purpose.

    Prefect checks a submitted form against its schema alone, and a field with a default
    may be left out of a raw resume; so what is decided on stands in required choices.
    """
    fields: dict[str, Any] = {}
    for item in form.items:
        fields |= _item_fields(item)
    for question in form.questions:
        fields[forms.answer_name(question)] = _answer_field(question)
    fields |= _proof_fields(bool(form.items))
    numbered = {
        name: (kind, _at(position, field))
        for position, (name, (kind, field)) in enumerate(fields.items())
    }
    build: Any = create_model
    model: type[RunInput] = build("Decision", __base__=RunInput, **numbered)
    model._description = markdown
    return model


def _item_fields(item: FormItem) -> dict[str, Any]:
    choice = Field(
        title=f"{item.number}. {item.title}",
        description=f"Your verdict on version {item.version}, as shown above.",
    )
    fields: dict[str, Any] = {forms.verdict_name(item): (Literal[item.choices], choice)}
    for field in item.editable:
        fields[forms.field_name(item, field)] = _edit_field(item, field)
    return fields


def _edit_field(item: FormItem, field: PacketField) -> tuple[Any, Any]:
    kind: Any = str if isinstance(field.value, str) else type(field.value)
    extra: dict[str, Any] = {"format": "json-string"} if field.multiline else {}
    return kind, Field(
        default=field.value,
        title=f"{item.number}. Edit {field.name}",
        description='Change it only together with the verdict "edit".',
        json_schema_extra=extra,
    )


def _answer_field(question: Interaction) -> tuple[Any, Any]:
    options = tuple(option.value for option in question.options)
    described = "; ".join(f"{o.value}: {o.label}" for o in question.options)
    text: dict[str, Any] = {
        "title": question.question,
        "description": described or f"About {question.target}.",
    }
    if question.required:
        return (Literal[options] if options else str), Field(**text)
    kind = Literal[("", *options)] if options else str
    return kind, Field(default="", **text)


def _proof_fields(with_reason: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if with_reason:
        fields["reason"] = (
            str,
            Field(
                default="",
                title="Reason",
                description="Required when you reject.",
            ),
        )
    fields["reviewer"] = (
        str,
        Field(title="Reviewer", description="Your reviewer id."),
    )
    fields["code"] = (
        str,
        Field(
            title="One-time code",
            description="The six digits that your authenticator shows now.",
        ),
    )
    return fields


def _at(position: int, field: Any) -> Any:
    extra = dict(field.json_schema_extra or {})
    field.json_schema_extra = {**extra, "position": position}
    return field
