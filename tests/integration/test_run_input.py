"""The form as Prefect is given it."""

import pytest

from flows.form import run_input
from policies.form import Form
from tests.unit.test_form import asked, form_item
from tests.unit.values import field

EDITABLE, FIXED = form_item(field("body", "x")), form_item()
FORMS = {
    "to decide": (Form(items=(EDITABLE, FIXED), questions=()), False),
    "without anything to edit": (Form(items=(FIXED,), questions=()), True),
    "to edit": (
        Form(items=(form_item(field("body", "x"), editing=True),), questions=()),
        True,
    ),
    "to ask": (Form(items=(), questions=(asked("q"),)), True),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_requires_a_code_unless_one_of_its_answers_needs_none(kind: str) -> None:
    """W1: and where an edit needs none, it says so."""
    form, required = FORMS[kind]
    schema = run_input(form, "").model_json_schema()
    assert ("code" in schema["required"]) == required
    says = "not needed for edit" in schema["properties"]["code"]["title"]
    assert says == (not required)


@pytest.mark.parametrize("kind", FORMS)
def test_who_answers_and_every_verdict_are_always_required(kind: str) -> None:
    """W1, A3: a raw resume cannot leave out what is decided on."""
    schema = run_input(FORMS[kind][0], "").model_json_schema()
    verdicts = {n for n in schema["properties"] if n.startswith("verdict_")}
    assert {"reviewer", *verdicts} <= set(schema["required"])
